package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/activities"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
	"stagecoach/workflows/task"
)

// naiveWorker is a variable of the environment that makes this test's own program a worker, so that it can be killed
// like the real one.
const naiveWorker = "STAGECOACH_TEST_NAIVE_WORKER"

// runNaiveWorker is a worker with the real activities of tasks, and a wrong workflow under the name of the right one.
func runNaiveWorker() int {
	err := func() error {
		record, err := store.Open(context.Background(), os.Getenv("DATABASE_URL"), testdb.Key)
		if err != nil {
			return err
		}
		defer record.Close()
		temporal, err := client.Dial(client.Options{
			HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: os.Getenv("TEMPORAL_NAMESPACE"), Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		defer temporal.Close()
		w := worker.New(temporal, lifecycle.MainQueue, worker.Options{})
		w.RegisterWorkflowWithOptions(naiveTask, workflow.RegisterOptions{Name: task.WorkflowType})
		w.RegisterActivity(&activities.Tasks{Store: record, Temporal: temporal, UnblockedSignal: task.UnblockedSignal, Metrics: metrics.New()})
		return w.Run(worker.InterruptCh())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// naiveTask is what a task's workflow must not be: it looks whether the task is free, asks and writes the record, which
// lets other claims in meanwhile, and does not look again.
func naiveTask(ctx workflow.Context, taskID int64) error {
	var tasks *activities.Tasks
	var state store.TaskState
	validate := func(_ workflow.Context, in task.Input) error {
		if state.Version == 0 {
			return nil
		}
		ask := task.Ask{Action: store.TaskActionClaim, Comment: in.Comment, Caller: task.Caller{ID: in.Actor, Member: true}}
		if _, _, err := task.Decide(state, ask, nil); err != nil {
			return lifecycle.Refusal(fault.As(err))
		}
		return nil
	}
	claim := func(ctx workflow.Context, in task.Input) (task.View, error) {
		if err := workflow.Await(ctx, func() bool { return state.Version > 0 }); err != nil {
			return task.View{}, err
		}
		if _, err := lifecycle.Do(ctx, tasks.TaskFacts, activities.TaskQuestion{TaskID: taskID, UserID: in.Actor}); err != nil {
			return task.View{}, err
		}
		now := workflow.Now(ctx).UTC()
		written, err := lifecycle.Do(ctx, tasks.WriteTask, store.TaskWrite{
			TaskID: taskID, Version: state.Version + 1, RequestID: workflow.GetCurrentUpdateInfo(ctx).ID,
			Status: store.TaskInProgress, AssigneeID: &in.Actor, At: now,
			Event: store.Event{Type: "claimed", ActorID: &in.Actor, From: string(store.TaskNew), To: string(store.TaskInProgress), Comment: in.Comment},
		})
		if err != nil {
			return task.View{}, err
		}
		state = written.State
		view := task.View{Version: state.Version, AssigneeID: &in.Actor}
		view.State, view.Since = string(store.TaskInProgress), now
		return view, nil
	}
	options := workflow.UpdateHandlerOptions{Validator: validate}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, string(store.TaskActionClaim), claim, options); err != nil {
		return err
	}
	loaded, err := lifecycle.Do(ctx, tasks.LoadTask, taskID)
	if err != nil {
		return err
	}
	state = loaded.State
	return workflow.Await(ctx, func() bool { return false })
}
