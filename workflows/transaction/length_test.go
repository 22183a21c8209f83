package transaction_test

import (
	"log/slog"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
)

// TestNightEndedForLength lets the server end a transaction's run because of its history's length: no operator intended
// that, so the next run continues from the record.
func TestNightEndedForLength(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, retries(time.Hour, time.Hour), func(s *setup) {
		s.server = testtemporal.Own(t, "limit.historyCount.error=60", "limit.historyCount.warn=50")
	})

	ctx := t.Context()
	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "something"})
	hash := w.deposit(1, "durov 50")
	w.becomes(hash, lifecycle.TransactionFailed) // and waits for its retry
	wait.Eventually(w, "the server ends its run", func() bool {
		_ = w.server.Client.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", lifecycle.TransactionRefreshSignal, nil)
		description, err := w.server.Client.DescribeWorkflowExecution(ctx, lifecycle.TransactionID(hash), "")
		return err == nil && description.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	})

	w.client.StuckAfter = time.Hour
	reconciler := &reconcile.Reconciler{
		Temporal: w.server.Client, Store: w.store.Operations, Workloads: []service.Workload{w.client.Workload()},
		Log: slog.New(slog.DiscardHandler),
	}

	stop := testtemporal.Repeat(t, reconciler.Reconcile)
	wait.Eventually(w, "it is found", func() bool {
		findings, err := w.store.Operations.Findings(ctx, operations.FindingFilter{Limit: 10})
		w.must(err)
		return len(findings) > 0 && findings[0].Done != ""
	})
	stop()

	w.fragment.ClearFaults()
	_, err := w.client.Retry(ctx, w.admin, hash, "it works again", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)

	w.wantSold(1)
	w.balances()
	findings, err := w.store.Operations.Findings(ctx, operations.FindingFilter{Limit: 10})
	w.must(err)
	if len(findings) != 1 || findings[0].Finding != operations.FindingTooLong || findings[0].Done != operations.DoneStarted {
		t.Errorf("found %+v", findings)
	}
}
