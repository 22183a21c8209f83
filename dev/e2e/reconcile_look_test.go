package e2e

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/store/operations"
)

// sweeps runs a reconciler for that many sweeps.
func (y *reconcileRig) sweeps(n int64, r *reconcile.Reconciler) {
	y.Helper()
	var swept atomic.Int64
	r.OnSweep = func(err error) {
		if swept.Add(1) <= n && err != nil { // a later one may be ended in the middle
			y.Error(err)
		}
	}
	defer y.run(r)()
	y.eventually("it sweeps", func() bool { return swept.Load() >= n })
}

// TestReconcileAgain terminates a delivery that a worker seems to hold: it is left alone, and settled by a later sweep
// though nothing else leads to it any more.
func TestReconcileAgain(t *testing.T) {
	t.Parallel()
	y := newReconcileRig(t)
	held := y.make(lifecycle.WorkloadDelivery, 0)
	must(t, held.start())
	must(t, y.temporal.TerminateWorkflow(t.Context(), held.workflowID, "", "by hand"))
	y.exec(`UPDATE jobs SET state = 'STREAMING', claimed_at = now(), heartbeat_at = now() + interval '1 hour', created_at = now() - interval '1 minute'`)

	stop := y.run(y.reconciler())
	unsettled := func() string {
		return y.text(`SELECT coalesce(string_agg(workload || ' ' || entity, ', '), '') FROM reconciler_unsettled`)
	}
	y.eventually("it is left for later", func() bool { return unsettled() == "delivery "+held.entity })
	stop()

	if state := y.text(held.state, held.entity); state != "STREAMING" {
		t.Fatalf("it is %s", state)
	}
	y.forget(held)
	y.exec(`DELETE FROM events`)
	y.exec(`UPDATE jobs SET heartbeat_at = now() - interval '1 minute'`)

	defer y.run(y.reconciler())()
	y.eventually("it has failed", func() bool { return y.text(held.state, held.entity) == "FAILED" })
	y.eventually("nothing is left", func() bool { return unsettled() == "" })
}

// TestReconcileTriggers starts a comparison at first and when the last one is old. The schedule starts no second one beside it.
func TestReconcileTriggers(t *testing.T) {
	t.Parallel()
	y := newReconcileRig(t)
	triggered := func() (n int64) {
		t.Helper()
		var calls atomic.Int64
		r := y.reconciler()
		r.Trigger = func(context.Context) error {
			calls.Add(1)
			return nil
		}
		y.sweeps(4, r)
		return calls.Load()
	}

	compared := func(workload string, age time.Duration) {
		t.Helper()
		must(t, y.store.SaveComparison(t.Context(), operations.Comparison{Workload: workload, BeganAt: time.Now().Add(-age)}))
	}

	if n := triggered(); n == 0 {
		t.Errorf("at first it triggers %d times", n)
	}

	for _, workload := range lifecycle.Names()[1:] {
		compared(workload, time.Hour)
	}
	if n := triggered(); n == 0 {
		t.Errorf("when one workload was never compared it triggers %d times", n)
	}

	compared(lifecycle.Names()[0], time.Hour)
	if n := triggered(); n != 0 {
		t.Errorf("when all are compared it triggers %d times", n)
	}

	compared(lifecycle.Names()[2], 2*time.Hour)
	if n := triggered(); n == 0 {
		t.Errorf("when a comparison is old it triggers %d times", n)
	}
}

// askedTemporal counts what costs more when more workflows run.
type askedTemporal struct {
	client.Client
	described, listed, running atomic.Int64
}

func (a *askedTemporal) DescribeWorkflowExecution(
	ctx context.Context, id, run string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	a.described.Add(1)
	return a.Client.DescribeWorkflowExecution(ctx, id, run)
}

func (a *askedTemporal) ListWorkflow(
	ctx context.Context, request *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	a.listed.Add(1)
	if strings.Contains(request.Query, "Running") {
		a.running.Add(1)
	}
	answer, err := a.Client.ListWorkflow(ctx, request)
	if err == nil && len(answer.Executions) > 0 {
		a.running.Add(1)
	}
	return answer, err
}

// TestQuietSweep sweeps while workflows run that nothing happens to: one list, which is empty, and no question about a
// single workflow. A comparison finds them all.
func TestQuietSweep(t *testing.T) {
	t.Parallel()
	y := newReconcileRig(t)
	for _, workload := range lifecycle.Names() {
		must(t, y.make(workload, 0).start())
	}
	y.exec(`UPDATE jobs SET created_at = now() - interval '1 minute'`)
	y.exec(`UPDATE tasks SET created_at = now() - interval '1 minute'`)
	y.exec(`UPDATE download_jobs SET created_at_utc = now() - interval '1 minute'`)
	y.exec(`UPDATE transactions SET created_at = now() - interval '1 minute'`)
	y.exec(`INSERT INTO reconciler_marks VALUES (now() - interval '61 seconds', pg_snapshot_xmax(pg_current_snapshot()))`)

	asked := &askedTemporal{Client: y.temporal}
	r := y.reconciler()
	r.Temporal = asked
	const n = 3
	y.sweeps(n, r)
	if asked.described.Load()+asked.running.Load() > 0 || asked.listed.Load() < n {
		t.Errorf("%d workflows are described, %d lists, %d of what runs", asked.described.Load(), asked.listed.Load(), asked.running.Load())
	}

	defer y.compare(y.reconciler())()
	for _, workload := range lifecycle.Names() {
		y.eventually(workload+" is compared", func() bool {
			return y.text(`SELECT coalesce(max(live || '/' || running), '') FROM reconciler_comparisons WHERE workload = $1`, workload) == "1/1"
		})
	}
	if found, err := y.store.Findings(t.Context(), operations.FindingFilter{Limit: 10}); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
}
