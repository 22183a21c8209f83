package app

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/service/deliveries"
)

func (a *Connections) Deliveries() *deliveries.Service {
	counted := a.Metrics.Delivery()
	startAtZero(counted.JobsCompleted, lifecycle.Delivery.Ended()...)
	return &deliveries.Service{
		Temporal: a.Temporal, Store: a.Store, MaxFileSize: a.Config.Delivery.MaxFileSize, Log: a.Log,
		CancelPatience: 3 * time.Second,
		Limits: deliveries.Limits{
			TTL: a.Config.Delivery.TTL, JobTimeout: a.Config.Delivery.JobTimeout, Heartbeat: a.Config.Delivery.Heartbeat,
		},
		OnEnqueued: func(source string) { counted.JobsEnqueued.WithLabelValues(source).Inc() },
		OnEnded:    func(state lifecycle.DeliveryState) { counted.JobsCompleted.WithLabelValues(string(state)).Inc() },
	}
}

// streamingChecks are what a worker that sends files needs.
func (a *Connections) streamingChecks() ([]doctor.Check, error) {
	if !a.Config.Worker.Serves(lifecycle.DeliveryQueue) {
		return nil, nil
	}
	return []doctor.Check{doctor.OfTelegram(a.Telegram, a.Config.Telegram.APIURL, false), a.storageCheck()}, nil
}
