package reconciler_test

import (
	"context"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows/reconciler"
)

// TestRecordHistoriesOfWaits saves an hour of the reconciler in which many sweeps were reported to it.
func TestRecordHistoriesOfWaits(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=40")
	over := make(chan struct{})
	w := worker.New(server.Client, lifecycle.MainQueue, testtemporal.WorkerOptions())
	w.RegisterWorkflowWithOptions(reconciler.Run, workflow.RegisterOptions{Name: reconciler.WorkflowType})
	w.RegisterActivityWithOptions(func(ctx context.Context) error {
		for {
			activity.RecordHeartbeat(ctx)
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-over:
				return nil
			case <-time.After(100 * time.Millisecond):
			}
		}
	}, activity.RegisterOptions{Name: "Reconcile"})

	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	run, err := server.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: reconciler.WorkflowID, TaskQueue: lifecycle.MainQueue,
	}, reconciler.WorkflowType, (*reconcile.Sweep)(nil))
	if err != nil {
		t.Fatal(err)
	}

	for range 15 {
		if err := server.Client.SignalWorkflow(t.Context(), reconciler.WorkflowID, "", reconcile.SweptSignal, reconcile.Sweep{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(150 * time.Millisecond)
	}

	close(over)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		events := server.History(t, reconciler.WorkflowID, run.GetRunID())
		if events[len(events)-1].EventType == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
			version.Save(t, "", "told-of-many-sweeps", events)
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not go on")
		}
	}
}
