package app

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
)

// Reporter gives what knows how the whole is doing.
func (a *Connections) Reporter() *status.Reporter {
	o := status.Options{
		Store: a.Store, Temporal: a.Temporal, Namespace: a.Namespace, Queue: lifecycle.DeliveryQueue,
		Queues:     lifecycle.Queues(),
		StuckAfter: a.Config.Delivery.StuckAfter, Log: a.Log, TokenExpiry: a.tokens.Expiry, TokenRenews: a.tokens.Renews,
	}
	if a.Config.QBittorrent.URL != "" {
		o.PollGap = a.Config.Download.PollGap()
	}
	return status.New(o)
}
