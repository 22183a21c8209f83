package transaction

import (
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

var monitor *activities.Monitor

// Monitor lets one activity watch the wallet with an address and a name. The record has the position where the last run
// stopped.
func Monitor(ctx workflow.Context, wallet, name string) error {
	watching := record.Watching(ctx, lifecycle.QueueOf(lifecycle.PaymentQueue, name), "follow the wallet on the chain")
	record.ShowDetails(
		ctx, lifecycle.TonMonitorTitle,
		"Follows the wallet's history on the chain. What it found: starter tx list, tx queue, tx ledger.",
	)
	if err := workflow.ExecuteActivity(watching, monitor.WatchWallet, wallet).Get(ctx, nil); err != nil {
		return err
	}

	return workflow.NewContinueAsNewError(ctx, lifecycle.TonMonitorType, wallet, name)
}
