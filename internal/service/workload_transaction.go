package service

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// transactionWorkload is what the operations need of transactions.
type transactionWorkload struct{ *Transactions }

// Workload is what the operations need of transactions.
func (c *Transactions) Workload() Workload { return &transactionWorkload{c} }

func (*transactionWorkload) Name() string { return lifecycle.WorkloadTransaction }

func (*transactionWorkload) WorkflowType() string { return lifecycle.TransactionType }

// Prepare keeps the wallet's monitor running and closes alerts whose cause is gone.
func (w *transactionWorkload) Prepare(ctx context.Context) error {
	if w.Monitored != "" {
		if err := w.StartMonitor(ctx); err != nil {
			return err
		}
	}
	return w.closeAlerts(ctx)
}

func (w *transactionWorkload) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveRow, error) {
	page, err := w.Store.Transactions.Live(ctx, age, after, limit)
	return rowsOf(page, err, w.row)
}

func (w *transactionWorkload) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveRow, error) {
	page, err := w.Store.Transactions.Unstarted(ctx, age, after, limit)
	return rowsOf(page, err, w.row)
}

func (w *transactionWorkload) LiveOf(ctx context.Context, age time.Duration, entities []string) ([]LiveRow, error) {
	transactions, err := w.Store.Transactions.LiveOf(ctx, age, entities)
	return rowsOf(transactions, err, w.row)
}

func (w *transactionWorkload) row(t transaction.Transaction) liveTransaction {
	return liveTransaction{row: t, workload: w}
}

func (w *transactionWorkload) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return w.Store.Transactions.Driven(ctx, keys)
}

// Release leaves transactions as they are: the money belongs to their senders.
func (w *transactionWorkload) Release(context.Context, account.User) error { return nil }

// liveTransaction is one live transaction.
type liveTransaction struct {
	always
	row      transaction.Transaction
	workload *transactionWorkload
}

func (t liveTransaction) About() Row {
	return Row{
		ID: t.row.ID, Entity: t.row.Hash, WorkflowID: t.row.WorkflowID(), State: string(t.row.State),
		NeverStarted: t.row.WorkflowStartedAt == nil, Resumes: true, Replaceable: true,
	}
}

func (t liveTransaction) Refresh(ctx context.Context) error {
	return t.workload.Refresh(ctx, t.row.Hash)
}

func (t liveTransaction) Start(ctx context.Context) error { return t.workload.Start(ctx, t.row.Hash) }

func (t liveTransaction) Restart(ctx context.Context) error {
	return t.workload.Restart(ctx, t.row.Hash)
}

// End fails a transaction, unless its money is on its way or its workflow has completed: then the workflow is
// restarted. A completed workflow means that the record was set back.
func (t liveTransaction) End(ctx context.Context, loss Loss) (restarted bool, err error) {
	if loss.Completed {
		return true, t.Start(ctx)
	}

	why := stars.WorkflowLost
	if loss.Finding == operations.FindingTerminated {
		why = stars.Terminated
	}

	now, err := t.workload.Stop(ctx, t.row.Hash, why)
	if err != nil {
		return false, err
	}
	if now.State == lifecycle.TransactionProcessing || now.RefundDue > 0 || now.Refund != nil {
		return true, t.Start(ctx)
	}

	return false, nil
}

func (t liveTransaction) Restore(ctx context.Context) (unknown bool, err error) {
	return false, t.Restart(ctx)
}

// closeAlerts closes the alerts about a state that no transaction has any more.
func (c *Transactions) closeAlerts(ctx context.Context) error {
	exists := func(f transaction.Filter) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			found, err := c.Store.Transactions.List(ctx, f)
			return len(found) > 0, err
		}
	}

	for kind, caused := range map[string]func(context.Context) (bool, error){
		notice.AlertTransactionReview:  exists(transaction.Filter{NeedsReview: true, Limit: 1}),
		notice.AlertTransactionStuck:   exists(transaction.Filter{StuckFor: c.StuckAfter, Limit: 1}),
		notice.AlertTransactionGivenUp: c.Store.Transactions.AnyGivenUp,
		notice.AlertDailyLimit:         c.Store.Transactions.AnyDeferred,
	} {
		still, err := caused(ctx)
		if err == nil && !still {
			err = c.Store.Notices.ResolveAlert(ctx, kind)
		}
		if err != nil {
			return err
		}
	}

	return nil
}
