package transaction

import (
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

var monitor *activities.Monitor

// unservedFor is how long the monitor may wait for a process with the wallet's key before administrators are notified.
const unservedFor = 5 * time.Minute

// Monitor runs one activity that follows the wallet at an address. The record has the position where the last run
// stopped. While no process serves the wallet's queue, administrators are notified: no deposit is seen.
func Monitor(ctx workflow.Context, wallet string) error {
	watching := record.Watching(ctx, lifecycle.WalletQueue, "follow the wallet on the chain")
	watching = workflow.WithScheduleToStartTimeout(watching, unservedFor)
	record.ShowDetails(
		ctx, lifecycle.TonMonitorTitle,
		"Follows the wallet's history on the chain. What it found: starter tx list, tx queue, tx ledger.",
	)
	err := workflow.ExecuteActivity(watching, monitor.WatchWallet, wallet).Get(ctx, nil)
	if timeout, ok := errors.AsType[*temporal.TimeoutError](err); ok && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START {
		_, err = record.Do(ctx, "alert: the chain is not followed", transactions.AlertUnfollowed, wallet)
	}
	if err != nil {
		return err
	}

	return workflow.NewContinueAsNewError(ctx, lifecycle.TonMonitorType, wallet)
}
