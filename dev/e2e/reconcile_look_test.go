package e2e

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/store/operations"
)

// TestLongReconcileAgain terminates a delivery that a worker seems to hold: it is left alone, and settled by the next
// sweep even though nothing else leads to it.
func TestLongReconcileAgain(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	held := y.make(lifecycle.WorkloadDelivery, 0)
	must(t, held.start())
	must(t, y.temporal.TerminateWorkflow(t.Context(), held.workflowID, "", "by hand"))
	y.exec(`UPDATE jobs SET state = 'STREAMING', claimed_at = now(), heartbeat_at = now() + interval '1 hour', created_at = now() - interval '1 minute'`)

	var last reconcile.Sweep
	wait.Eventually(y, "it is left for later", func() bool {
		last = y.sweep(y.reconciler(), last)
		return slices.Equal(last.Unsettled[lifecycle.WorkloadDelivery], []string{held.entity})
	})
	if state := y.text(held.state, held.entity); state != "STREAMING" {
		t.Fatalf("it is %s", state)
	}

	y.forget(held)
	y.exec(`UPDATE jobs SET heartbeat_at = now() - interval '1 minute'`)
	last = y.sweep(y.reconciler(), last)
	if state := y.text(held.state, held.entity); state != "FAILED" || len(last.Unsettled[lifecycle.WorkloadDelivery]) > 0 {
		t.Errorf("it is %s, left are %v", state, last.Unsettled)
	}
}

// TestLongComparisonTriesAgain makes Temporal forget a delivery whose worker has just been heard from: the comparison
// that finds it also settles it.
func TestLongComparisonTriesAgain(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	held := y.make(lifecycle.WorkloadDelivery, 0)
	must(t, held.start())
	y.forget(held)
	y.exec(`UPDATE jobs SET state = 'STREAMING', claimed_at = now(), heartbeat_at = now(), created_at = now() - interval '1 minute'`)

	var compared reconcile.Compared
	y.once(y.reconciler().Compare, "", &compared)
	if state := y.text(held.state, held.entity); state != "FAILED" || compared.Findings != 1 {
		t.Errorf("it is %s, %+v", state, compared)
	}
}

// TestLongReconcileTriggers starts a comparison initially, and after an outage of half of Temporal's retention. The
// schedule starts no second one in parallel.
func TestLongReconcileTriggers(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	about, err := y.temporal.WorkflowService().DescribeNamespace(
		t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: y.namespace},
	)
	must(t, err)
	retention := about.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()

	want := func(want int, when string, last reconcile.Sweep) {
		t.Helper()
		calls := 0
		r := y.reconciler()
		r.Trigger = func(context.Context) error {
			calls++
			return nil
		}
		if y.sweep(r, last); calls != want {
			t.Errorf("%s: it triggers %d comparisons, want %d", when, calls, want)
		}
	}

	ago := func(age time.Duration) reconcile.Sweep { return reconcile.Sweep{Since: time.Now().Add(-age)} }
	want(1, "when nothing was compared", ago(time.Minute))
	for i, workload := range lifecycle.Names() {
		must(t, y.store.Operations.SaveComparison(t.Context(), operations.Comparison{Workload: workload, BeganAt: time.Now().Add(-3 * time.Hour)}))
		if i == 0 {
			want(1, "when one workload was compared", ago(time.Minute))
		}
	}

	want(0, "after a sweep", ago(time.Minute))
	want(0, "after a short outage", ago(retention/2-time.Minute))
	want(1, "after a long outage", ago(retention/2+time.Minute))
	want(1, "when there was no sweep", reconcile.Sweep{})
}

// askedTemporal counts the calls that become more expensive with more workflows.
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

// TestLongQuietSweep sweeps while workflows run without changes: one list, which is empty, and no query of a single
// workflow. A comparison finds them all.
func TestLongQuietSweep(t *testing.T) {
	night.Only(t)
	t.Parallel()
	y := newReconcileRig(t)
	for _, workload := range lifecycle.Names() {
		must(t, y.make(workload, 0).start())
	}
	y.exec(`UPDATE jobs SET created_at = now() - interval '1 minute'`)
	y.exec(`UPDATE tasks SET created_at = now() - interval '1 minute', updated_at = now() - interval '1 minute'`)
	y.exec(`UPDATE download_jobs SET created_at_utc = now() - interval '1 minute'`)
	y.exec(`UPDATE transactions SET created_at = now() - interval '1 minute', updated_at = now() - interval '1 minute'`)

	asked := &askedTemporal{Client: y.temporal}
	r := y.reconciler()
	r.Temporal = asked
	const n = 3
	var last reconcile.Sweep
	for range n {
		last = y.sweep(r, last)
	}
	if asked.described.Load()+asked.running.Load() > 0 || asked.listed.Load() != n {
		t.Errorf("%d workflows are described, %d lists, %d of what runs", asked.described.Load(), asked.listed.Load(), asked.running.Load())
	}

	defer y.compare(y.reconciler())()
	for _, workload := range lifecycle.Names() {
		wait.Eventually(y, workload+" is compared", func() bool {
			return y.text(`SELECT coalesce(max(live || '/' || running), '') FROM reconciler_comparisons WHERE workload = $1`, workload) == "1/1"
		})
	}
	if found, err := y.store.Operations.Findings(t.Context(), operations.FindingFilter{Limit: 10}); err != nil || len(found) > 0 {
		t.Errorf("%+v, %v", found, err)
	}
	const never = `SELECT coalesce(string_agg(workload, ' ' ORDER BY workload), '') FROM reconciler_comparisons WHERE answered_at < '1970-01-01'`
	if silent := y.text(never); silent != "task transaction" { // no worker answers here
		t.Errorf("those that did not answer and will be asked again: %q", silent)
	}
}
