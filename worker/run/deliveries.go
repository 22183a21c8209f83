package run

import (
	"time"

	"stagecoach/activities/delivery"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/shelf"
)

// deliveryPart returns the part of deliveries. Only a process that serves their queue opens a spool.
func (p process) deliveryPart(services all.Services) (part, error) {
	deliveries := part{main: register(&delivery.Records{Deliveries: services.Deliveries})}
	if !p.Config.Worker.Serves(lifecycle.DeliveryQueue) {
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
	// shortRetryAfter is the longest retry-after of a 429 that an attempt waits out: for a longer one it gives up its
	// slot.
	shortRetryAfter = 30 * time.Second
)

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
