package activities

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store"
)

// TransactionKeeper is how the reconciler mends transactions.
type TransactionKeeper interface {
	// Start starts a transaction's workflow, which goes on from where the record stands.
	Start(ctx context.Context, hash string) error
	// StartMonitor makes sure that the wallet's monitor runs.
	StartMonitor(ctx context.Context, wallet string) error
	// Stop fails one whose workflow is gone.
	Stop(ctx context.Context, hash string, why *stars.Failure) (store.TransactionSnapshot, error)
	// Refresh lets a transaction's workflow take over where the record stands.
	Refresh(ctx context.Context, hash string) error
}

// transactions settles every live transaction whose workflow does not run, and every workflow that runs for one that is over. It
// keeps the monitor running, and closes alerts whose cause is gone.
func (s *sweeper) transactions(ctx context.Context) error {
	if s.Wallet != "" {
		if err := s.Transactions.StartMonitor(ctx, s.Wallet); err != nil {
			return err
		}
	}
	if err := s.closeAlerts(ctx); err != nil {
		return err
	}
	v, err := s.view(ctx, lifecycle.WorkloadTransaction, "Transaction")
	if err != nil {
		return err
	}
	err = sweep(ctx, func(after int64) ([]store.Transaction, error) {
		return s.Records.Store.LiveTransactions(ctx, settled, after, pageLimit)
	}, func(t store.Transaction) int64 {
		s.sweep.Live[v.workload]++
		if err := s.transaction(ctx, v, t); err != nil {
			s.Log.Warn("transaction not reconciled", "transaction", t.Hash, "error", err) // one bad one never stops the others
		}
		return t.ID
	})
	if err != nil {
		return err
	}
	return s.strays(ctx, v)
}

// transaction settles one live transaction. One whose money is on its way is always driven on; another ends when an operator has
// ended its workflow.
func (s *sweeper) transaction(ctx context.Context, v *workflowView, t store.Transaction) error {
	f := store.Finding{Workload: v.workload, Entity: t.Hash, WorkflowID: t.WorkflowID()}
	if listed, runs := v.meet(f.WorkflowID); runs {
		if err := s.remind(ctx, t); err != nil {
			return err
		}
		return s.refresh(ctx, v, f, listed, string(t.State), func() error { return s.Transactions.Refresh(ctx, t.Hash) })
	}
	now, err := s.describe(ctx, f.WorkflowID)
	if err != nil || now.alive() {
		return err
	}
	f.RunID, f.Finding = now.runID, now.finding()
	start := func() (string, error) { return store.DoneStarted, s.Transactions.Start(ctx, t.Hash) }
	if f.Finding == store.FindingMissing {
		if t.WorkflowStartedAt == nil {
			f.Finding = store.FindingNotStarted
		}
		return s.mend(ctx, f, start)
	}
	if now.long || now.status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED { // the next run goes on; or the record was set back
		return s.mend(ctx, f, start)
	}
	why := stars.WorkflowLost
	if f.Finding == store.FindingTerminated {
		why = stars.Terminated
	}
	return s.mend(ctx, f, func() (string, error) {
		standing, err := s.Transactions.Stop(ctx, t.Hash, why)
		if err != nil {
			return "", err
		}
		if standing.State == lifecycle.TransactionProcessing || standing.RefundDue > 0 || standing.Refund != nil {
			return start()
		}
		return store.DoneEnded, nil
	})
}

// overdueAfter is how late a planned retry is when its workflow is told to look at the record.
const overdueAfter = 5 * time.Minute

// remind tells a workflow once of a planned retry whose time is over: a worker of 0.1.0 that was told of the failure waits for an operator.
func (s *sweeper) remind(ctx context.Context, t store.Transaction) error {
	at := t.NextRetry()
	if at == nil || time.Since(*at) < overdueAfter || s.overdue[t.Hash].Equal(*at) {
		return nil
	}
	s.overdue[t.Hash] = *at
	return s.Transactions.Refresh(ctx, t.Hash)
}

// closeAlerts closes the alerts about transactions in a state that none is in any more.
func (s *sweeper) closeAlerts(ctx context.Context) error {
	for kind, filter := range map[string]store.TransactionFilter{
		store.AlertTransactionReview: {NeedsReview: true, Limit: 1},
		store.AlertTransactionStuck:  {StuckFor: s.StuckAfter, Limit: 1},
	} {
		found, err := s.Records.Store.Transactions(ctx, filter)
		if err == nil && len(found) == 0 {
			err = s.Records.Store.ResolveAlert(ctx, kind)
		}
		if err != nil {
			return err
		}
	}
	givenUp, err := s.Records.Store.AnyGivenUp(ctx)
	if err == nil && !givenUp {
		err = s.Records.Store.ResolveAlert(ctx, store.AlertTransactionGivenUp)
	}
	if err != nil {
		return err
	}
	deferred, err := s.Records.Store.AnyDeferred(ctx)
	if err == nil && !deferred {
		err = s.Records.Store.ResolveAlert(ctx, store.AlertDailyLimit)
	}
	return err
}
