package run

import (
	"time"

	"stagecoach/activities/delivery"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/shelf"
	deliveryworkflow "stagecoach/workflows/delivery"
)

// deliveryPart returns the part of deliveries. Only a process that serves their queue opens a spool.
func (p process) deliveryPart(services service.Services) (part, error) {
	deliveries := part{main: register(&delivery.Records{Deliveries: services.Deliveries})}
	if !serves(p.Config, lifecycle.DeliveryQueue) {
		return deliveries, nil
	}

	activities, err := p.deliveryActivities()
	deliveries.queues = []queue{{
		name: lifecycle.DeliveryQueue, options: streamingOptions(p.Config),
		register: register(activities),
	}}

	return deliveries, err
}

const (
	// sendInitTimeout is how long Telegram may take for the first byte of an upload.
	sendInitTimeout = 10 * time.Second
	// shortRetryAfter is the longest wait of a 429 that an attempt waits out: for a longer one its slot is given free.
	shortRetryAfter = 30 * time.Second
)

func deliverySettings(c config.Config) deliveryworkflow.Settings {
	return deliveryworkflow.Settings{
		TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout,
		HeartbeatTimeout: c.Delivery.Heartbeat, RetryInterval: c.Delivery.RetryInterval,
	}
}

func (p process) deliveryActivities() (*delivery.Activities, error) {
	c := p.Config
	activities := &delivery.Activities{
		Store: p.Store.Deliveries, Alerts: p.Store.Notices, Telegram: p.Telegram, Temporal: p.Temporal,
		Storage: shelf.Storage{Upstream: p.Yandex, Library: shelf.Folder{Dir: c.Library.Dir}},
		Metrics: p.Metrics.Delivery(), Log: p.Log,
		Settings: delivery.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout, StorageTimeout: c.Delivery.StorageTimeout,
			SendInitTimeout: sendInitTimeout, ChunkTimeout: c.Delivery.ChunkTimeout,
			ShortRetryAfter: shortRetryAfter, MaxFileSize: c.Delivery.MaxFileSize,
			CacheChat:     c.Telegram.CacheChat,
			HandOverAfter: handOverAfter(c.Worker.StopTimeout),
		},
	}

	if c.Delivery.Mode == "spool" {
		spool, err := delivery.NewSpool(
			c.Delivery.SpoolDir, c.Telegram.SharedDir, c.Delivery.SpoolMaxBytes, c.Delivery.JobTimeout, p.Metrics.Delivery().SpoolUsage,
		)
		if err != nil {
			return nil, err
		}
		activities.Spool = spool
	}

	return activities, nil
}
