package transactions

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// transactionWorkload implements Workload for transactions.
type transactionWorkload struct{ *Service }

// Workload returns the transactions as the operations see them.
func (c *Service) Workload() service.Workload { return &transactionWorkload{c} }

func (*transactionWorkload) Name() string { return lifecycle.WorkloadTransaction }

func (*transactionWorkload) WorkflowType() string { return lifecycle.TransactionType }

// Prepare keeps the wallet's monitor running and closes alerts whose cause is gone. Does nothing without a wallet.
func (w *transactionWorkload) Prepare(ctx context.Context) error {
	wallet, err := w.Store.Transactions.ActiveWallet(ctx)
	if fault.CodeOf(err) == fault.WalletNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(w.StartMonitor(ctx, wallet.Address), w.closeAlerts(ctx))
}

func (w *transactionWorkload) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Transactions.Live(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w *transactionWorkload) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Transactions.Unstarted(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w *transactionWorkload) LiveOf(ctx context.Context, age time.Duration, entities []string) ([]service.LiveRow, error) {
	transactions, err := w.Store.Transactions.LiveOf(ctx, age, entities)
	return service.RowsOf(transactions, err, w.row)
}

func (w *transactionWorkload) row(t transaction.Transaction) liveTransaction {
	return liveTransaction{row: t, workload: w}
}

func (w *transactionWorkload) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return w.Store.Transactions.Driven(ctx, keys)
}

// Release leaves transactions alone: the money belongs to their senders.
func (w *transactionWorkload) Release(context.Context, account.User) error { return nil }

type liveTransaction struct {
	service.Always
	row      transaction.Transaction
	workload *transactionWorkload
}

func (t liveTransaction) About() service.Row {
	return service.Row{
		ID: t.row.ID, Entity: t.row.Hash, WorkflowID: t.row.WorkflowID(), State: string(t.row.State),
		NeverStarted: t.row.WorkflowStartedAt == nil, Resumes: true, Replaceable: true,
		Revision: t.row.RowVersion, Changed: t.row.UpdatedAt,
	}
}

func (t liveTransaction) Refresh(ctx context.Context) error {
	return t.workload.Refresh(ctx, t.row.Hash)
}

func (t liveTransaction) Start(ctx context.Context) error { return t.workload.Start(ctx, t.row.Hash) }

func (t liveTransaction) Restart(ctx context.Context) error {
	return t.workload.Restart(ctx, t.row.Hash)
}

// End fails a transaction unless its money is in transit or its workflow has completed: then the workflow is restarted.
// A completed workflow means that the record was restored to an earlier state.
func (t liveTransaction) End(ctx context.Context, loss service.Loss) (restarted bool, err error) {
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

// closeAlerts closes alerts about a state that no transaction is in.
func (c *Service) closeAlerts(ctx context.Context) error {
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
