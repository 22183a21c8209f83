package transaction

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

var monitor *activities.Monitor

const monitorHeartbeat = 30 * time.Second // how long nobody watches when a worker dies; longer than one call may take

// Monitor lets one activity watch the wallet for an hour, then continues as new: its history stays small however long
// it runs. Where it stopped stands in the record.
func Monitor(ctx workflow.Context, wallet string) error {
	watching := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.PaymentQueue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    monitorHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 15 * time.Second},
		Summary:             "follow the wallet on the chain",
	})

	record.ShowDetails(
		ctx, lifecycle.TonMonitorTitle,
		"Follows the wallet's history on the chain. What it found: starter tx list, tx queue, tx ledger.",
	)
	if err := workflow.ExecuteActivity(watching, monitor.WatchWallet, wallet).Get(ctx, nil); err != nil {
		return err
	}

	return workflow.NewContinueAsNewError(ctx, lifecycle.TonMonitorType, wallet)
}
