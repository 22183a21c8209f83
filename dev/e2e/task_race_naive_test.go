package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/activities/task"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	taskstore "stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// naiveWorker is an environment variable that makes the test program a worker, so that it can be killed like the real
// one.
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
			HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: os.Getenv("TEMPORAL_NAMESPACE"),
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			return err
		}
		defer temporal.Close()

		w := worker.New(temporal, lifecycle.MainQueue, testtemporal.WorkerOptions())
		w.RegisterWorkflowWithOptions(naiveTask, workflow.RegisterOptions{Name: lifecycle.TaskType})
		w.RegisterActivity(&task.Activities{Store: record, Temporal: temporal, Metrics: metrics.New().Task()})
		return w.Run(worker.InterruptCh())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	return 0
}

// naiveTask is a wrong workflow of a task: it checks whether the task is free, reads and writes the record, during
// which other claims run, and does not check again.
func naiveTask(ctx workflow.Context, taskID int64) error {
	var tasks *task.Activities
	var state taskstore.Snapshot
	validate := func(_ workflow.Context, in lifecycle.TaskInput) error {
		if state.Version == 0 {
			return nil
		}
		ask := lifecycle.TaskAsk{
			Action: lifecycle.TaskActionClaim, Comment: in.Comment, Caller: lifecycle.TaskCaller{ID: in.Actor, Member: true},
		}
		if _, _, err := lifecycle.DecideTask(state.Facts(nil), ask); err != nil {
			return temporalio.Refusal(fault.As(err))
		}
		return nil
	}

	claim := func(ctx workflow.Context, in lifecycle.TaskInput) (lifecycle.TaskView, error) {
		if err := workflow.Await(ctx, func() bool { return state.Version > 0 }); err != nil {
			return lifecycle.TaskView{}, err
		}
		if _, err := record.Do(ctx, "gather the facts", tasks.TaskFacts, task.Question{TaskID: taskID, UserID: in.Actor}); err != nil {
			return lifecycle.TaskView{}, err
		}

		now := workflow.Now(ctx).UTC()
		written, err := record.Do(ctx, "write", tasks.WriteTask, taskstore.Write{
			TaskID: taskID, Version: state.Version + 1, RequestID: workflow.GetCurrentUpdateInfo(ctx).ID,
			State: lifecycle.TaskInProgress, AssigneeID: &in.Actor, At: now,
			Event: core.Event{
				Type: "claimed", ActorID: &in.Actor, From: string(lifecycle.TaskNew), To: string(lifecycle.TaskInProgress),
				Comment: in.Comment,
			},
		})
		if err != nil {
			return lifecycle.TaskView{}, err
		}

		state = written.State
		view := lifecycle.TaskView{Version: state.Version, AssigneeID: &in.Actor}
		view.State, view.Since = string(lifecycle.TaskInProgress), now
		return view, nil
	}

	options := workflow.UpdateHandlerOptions{Validator: validate}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, string(lifecycle.TaskActionClaim), claim, options); err != nil {
		return err
	}

	loaded, err := record.Do(ctx, "read the task", tasks.LoadTask, taskID)
	if err != nil {
		return err
	}

	state = loaded.State
	return workflow.Await(ctx, func() bool { return false })
}
