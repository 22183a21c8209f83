package app

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
)

func (a *Connections) Reporter() *status.Reporter {
	return status.New(status.Options{
		Store: a.Store, Temporal: a.Temporal, Namespace: a.Namespace, Queues: lifecycle.Queues(), Log: a.Log,
		StuckAfter: 3 * a.Config.Delivery.Heartbeat, PollGap: a.pollGap(),
		TokenExpiry: a.tokens.Expiry, TokenRenews: a.tokens.Renews,
	})
}
