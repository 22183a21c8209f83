package app

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
	"stagecoach/internal/service"
)

// Deliveries makes the service of deliveries.
func (a *Connections) Deliveries() *service.Deliveries {
	counted := a.Metrics.Delivery()
	startAtZero(counted.JobsCompleted, lifecycle.Delivery.Ended()...)
	return &service.Deliveries{
		Temporal: a.Temporal, Store: a.Store, MaxFileSize: a.Config.Delivery.MaxFileSize, Log: a.Log,
		CancelPatience: 3 * time.Second,
		Limits: service.DeliveryLimits{
			TTL: a.Config.Delivery.TTL, JobTimeout: a.Config.Delivery.JobTimeout, Heartbeat: a.Config.Delivery.Heartbeat,
		},
		OnEnqueued: func(source string) { counted.JobsEnqueued.WithLabelValues(source).Inc() },
		OnEnded:    func(state lifecycle.DeliveryState) { counted.JobsCompleted.WithLabelValues(string(state)).Inc() },
	}
}

// streamingChecks are what a worker needs that sends files.
func (a *Connections) streamingChecks() ([]doctor.Check, error) {
	if !a.Config.Worker.Serves(lifecycle.DeliveryQueue) {
		return nil, nil
	}
	return []doctor.Check{doctor.OfTelegram(a.Telegram, a.Config.Telegram.APIURL, false), a.storageCheck()}, nil
}
