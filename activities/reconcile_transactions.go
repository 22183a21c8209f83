package activities

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/internal/stars"
	"stagecoach/internal/store"
)

// TransactionKeeper is how the reconciler mends transactions.
type TransactionKeeper interface {
	// Start starts a transaction's workflow, which goes on from where the record stands.
	Start(ctx context.Context, hash string) error
	// StartMonitor makes sure that the wallet's monitor runs.
	StartMonitor(ctx context.Context, wallet string) error
}

// transactions settles every live transaction whose workflow does not run, keeps the monitor running, and closes alerts whose
// cause is gone.
func (r *Reconciler) transactions(ctx context.Context) error {
	if r.Wallet != "" {
		if err := r.Transactions.StartMonitor(ctx, r.Wallet); err != nil {
			return err
		}
	}
	if err := r.closeAlerts(ctx); err != nil {
		return err
	}
	running, err := r.running(ctx, "Transaction")
	if err != nil {
		return err
	}
	return sweep(ctx, func(after int64) ([]store.Transaction, error) {
		return r.Records.Store.LiveTransactions(ctx, settled, after, pageLimit)
	}, func(t store.Transaction) int64 {
		if !running[t.WorkflowID()] {
			if err := r.transaction(ctx, t); err != nil {
				r.Log.Warn("transaction not reconciled", "transaction", t.Hash, "error", err) // one bad one never stops the others
			}
		}
		return t.ID
	})
}

// transaction settles one live transaction that the list of running workflows lacks; the list lags, so its workflow is asked.
// One whose money is on its way is always driven on; another ends when an operator has ended its workflow.
func (r *Reconciler) transaction(ctx context.Context, t store.Transaction) error {
	status, err := r.status(ctx, t.WorkflowID())
	if err != nil {
		return err
	}
	why := stars.WorkflowLost
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
		return r.Transactions.Start(ctx, t.Hash)
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		why = stars.Terminated
	default: // it has ended, and has not written how
	}
	position, err := r.Purchases.stop(ctx, t.Hash, why)
	if err != nil {
		return err
	}
	r.Log.Info("transaction reconciled", "transaction", t.Hash, "status", position.Status)
	if position.Status == store.TransactionProcessing || position.RefundDue > 0 || position.Refund != nil {
		return r.Transactions.Start(ctx, t.Hash)
	}
	return nil
}

// closeAlerts closes the alerts about transactions in a state that none is in any more.
func (r *Reconciler) closeAlerts(ctx context.Context) error {
	for kind, filter := range map[string]store.TransactionFilter{
		store.AlertTransactionReview: {NeedsReview: true, Limit: 1},
		store.AlertTransactionStuck:  {StuckFor: r.StuckAfter, Limit: 1},
	} {
		found, err := r.Records.Store.Transactions(ctx, filter)
		if err == nil && len(found) == 0 {
			err = r.Records.Store.ResolveAlert(ctx, kind)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
