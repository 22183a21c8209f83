package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	taskstore "stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// naiveWorker is an environment variable that turns the test program into a worker, so that it can be killed like the
// real one.
const naiveWorker = "STAGECOACH_TEST_NAIVE_WORKER"

// runNaiveWorker is a worker with a wrong task workflow under the name of the right one, and a wrong activity.
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

		db, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
		if err != nil {
			return err
		}
		defer db.Close()

		w := worker.New(temporal, lifecycle.MainQueue, testtemporal.WorkerOptions())
		w.RegisterWorkflowWithOptions(naiveTask, workflow.RegisterOptions{Name: lifecycle.TaskType})
		w.RegisterActivity(&naiveActivities{record, db})
		return w.Run(worker.InterruptCh())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}

	return 0
}

// naiveTask is a wrong task workflow: it runs any number of claims concurrently.
func naiveTask(ctx workflow.Context, taskID int64) error {
	var activities *naiveActivities
	claim := func(ctx workflow.Context, in lifecycle.TaskInput) (lifecycle.TaskView, error) {
		_, err := record.Do(ctx, "claim", activities.Claim, taskstore.Act{
			TaskID: taskID, RequestID: workflow.GetCurrentUpdateInfo(ctx).ID, Action: lifecycle.TaskActionClaim, Input: in,
		})
		if refusal := temporalio.RefusalIn(err); refusal != nil {
			err = temporalio.Refusal(refusal)
		}
		return lifecycle.TaskView{}, err
	}

	if err := workflow.SetUpdateHandler(ctx, string(lifecycle.TaskActionClaim), claim); err != nil {
		return err
	}
	return workflow.Await(ctx, func() bool { return false })
}

// naiveActivities decide without a lock.
type naiveActivities struct {
	store *store.Store
	db    *pgxpool.Pool
}

// Claim reads the task, consults the table, and writes, whatever has happened in between.
func (n *naiveActivities) Claim(ctx context.Context, a taskstore.Act) (taskstore.Acted, error) {
	found, err := n.store.Tasks.ByID(ctx, 0, a.TaskID)
	if err != nil {
		return taskstore.Acted{}, err
	}

	caller := lifecycle.TaskCaller{ID: a.Input.Actor, Member: true}
	if _, _, err := lifecycle.DecideTask(found.Facts(), lifecycle.TaskAskOf(a.Action, a.Input, caller)); err != nil {
		return taskstore.Acted{}, temporalio.Refusal(fault.As(err))
	}

	_, err = n.db.Exec(ctx, `UPDATE tasks SET status = 'IN_PROGRESS', assignee_id = $2 WHERE id = $1`, a.TaskID, a.Input.Actor)
	if err != nil {
		return taskstore.Acted{}, err
	}

	found.State, found.AssigneeID = lifecycle.TaskInProgress, &a.Input.Actor
	asked := taskstore.TaskRequest("", a.Action, a.TaskID, a.Input).Asked
	_, err = core.KeepAnswer(
		ctx, n.store.Answers, core.RequestIn(a.RequestID, a.Input.Actor, asked), taskstore.Answer{Task: &found},
	)
	return taskstore.Acted{}, err
}
