package run

import (
	"stagecoach/activities/delivery"
)

func (p process) deliveryActivities() (*delivery.Activities, error) {
	c := p.Config
	courier := &delivery.Activities{
		Store: p.Store, Storage: p.Yandex, Telegram: p.Telegram, Temporal: p.Temporal,
		Metrics: p.Metrics.Delivery(), Log: p.Log,
		Settings: delivery.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout, StorageTimeout: c.Delivery.StorageTimeout,
			SendInitTimeout: c.Delivery.SendInitTimeout, ChunkTimeout: c.Delivery.ChunkTimeout,
			ShortRetryAfter: c.Delivery.ShortRetryAfter, MaxFileSize: c.Delivery.MaxFileSize,
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
		courier.Spool = spool
	}

	return courier, nil
}
