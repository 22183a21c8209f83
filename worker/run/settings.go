package run

import (
	"stagecoach/internal/config"
	"stagecoach/workflows"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/transaction"
)

func workflowSettings(c config.Config) workflows.Settings {
	return workflows.Settings{
		Delivery: delivery.Settings{
			TTL: c.Delivery.TTL, JobTimeout: c.Delivery.JobTimeout,
			HeartbeatTimeout: c.Delivery.Heartbeat, RetryInterval: c.Delivery.RetryInterval,
		},
		Download: download.Settings{Grace: c.Download.Grace},
		Transaction: transaction.Settings{
			Attempts: c.Transactions.Attempts, RetryInterval: c.Transactions.RetryInterval,
			RebroadcastEvery: c.Transactions.RebroadcastEvery,
			ConfirmPatience:  c.Transactions.ConfirmPatience, StuckAfter: c.Transactions.StuckAfter,
		},
	}
}
