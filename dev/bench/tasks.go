package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

const (
	claimTasks  = 400
	claimWarmUp = 100
	claimsAlone = 50 // one after the other
	batchSize   = 500
)

// claimTimes are the results of one side of the comparison.
type claimTimes struct {
	paces
	busy, alone []float64 // ms
}

// measureClaims lets agents claim tasks, each a task of its own, with the API's code: many at a time, and one at a
// time.
func measureClaims(ctx context.Context, m *machine) ([]row, error) {
	var ours, next, bare claimTimes
	for range rigRounds {
		// Each has a rig of its own: an in-memory server slows as it fills.
		err := m.withRig(ctx, rigOptions{}, func(r *rig) error { return r.claims(ctx, &ours, byID) })
		if err != nil {
			return nil, err
		}

		err = m.withRig(ctx, rigOptions{}, func(r *rig) error { return r.claims(ctx, &next, theNext) })
		if err != nil {
			return nil, err
		}

		err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
			if err := r.startBareWorker(); err != nil {
				return err
			}
			ids, err := r.startBare(ctx, claimWarmUp+claimTasks+claimsAlone, bareEntity)
			if err != nil {
				return err
			}
			return bare.measure(func(i int) error { return r.poke(ctx, ids[i]) })
		})
		if err != nil {
			return nil, err
		}
	}

	busy := fmt.Sprintf("claims, %d in flight", smallInFlight)
	return append([]row{
		measured(busy, "claims/s", ours.perSecond...).against(updateName, bare.perSecond...).atLeast(0.8),
		measured("claims of the next, the same", "claims/s", next.perSecond...).against("claims by id", ours.perSecond...).atLeast(0.85),
		measured("claims of the next, one at a time, p50", "ms", quantile(next.alone, 0.5)).against("claims by id", quantile(ours.alone, 0.5)),
		measured(busy+", p50", "ms", quantile(ours.busy, 0.5)).against(updateName, quantile(bare.busy, 0.5)),
		measured(busy+", p99", "ms", quantile(ours.busy, 0.99)).against(updateName, quantile(bare.busy, 0.99)),
		measured(
			"claims, one at a time, p50", "ms", quantile(ours.alone, 0.5),
		).against(updateName, quantile(bare.alone, 0.5)),
		measured(
			"claims, one at a time, p99", "ms", quantile(ours.alone, 0.99),
		).against(updateName, quantile(bare.alone, 0.99)),
	}, cpuRows("a claim", ours.cpu, updateName, bare.cpu)...), nil
}

// claim claims the task with a number, or whatever task is next.
type claim func(ctx context.Context, t team, tasks []task.Task, i int) error

func byID(ctx context.Context, t team, tasks []task.Task, i int) error {
	_, err := t.tasks.Claim(ctx, t.agent, tasks[i].ID, "mine", fmt.Sprintf("claim-%d", tasks[i].ID))
	return err
}

func theNext(ctx context.Context, t team, tasks []task.Task, i int) error {
	want := service.NextTask{WorkspaceID: t.space.ID, Comment: "mine"}
	found, err := t.tasks.ClaimNext(ctx, t.agent, want, fmt.Sprintf("next-%d", tasks[i].ID))
	if err == nil && found == nil {
		err = fmt.Errorf("no task is ready")
	}
	return err
}

// claims lets agents claim tasks of a new team, which is ended afterwards.
func (r *rig) claims(ctx context.Context, took *claimTimes, act claim) error {
	team, err := r.team(ctx, nil)
	if err != nil {
		return err
	}

	tasks, err := team.make(ctx, claimWarmUp+claimTasks+claimsAlone)
	if err != nil {
		return err
	}
	defer team.forget(ctx)
	return took.measure(func(i int) error { return act(ctx, team, tasks, i) })
}

// measure calls act for one entity after the other.
func (t *claimTimes) measure(act func(i int) error) error {
	took := make([]float64, claimWarmUp+claimTasks)
	done, err := closedLoopOf(claimWarmUp, claimTasks, func(i int) error {
		began := time.Now()
		err := act(i)
		took[i] = milliseconds(time.Since(began))
		return err
	})
	if err != nil {
		return err
	}

	t.add(done)
	t.busy = append(t.busy, took[claimWarmUp:]...)
	for i := len(took); i < len(took)+claimsAlone; i++ {
		began := time.Now()
		if err := act(i); err != nil {
			return err
		}
		t.alone = append(t.alone, milliseconds(time.Since(began)))
	}

	return nil
}

// team is a workspace with people.
type team struct {
	*rig
	space   task.Workspace
	creator account.User
	agent   account.User
}

// team makes a workspace whose tasks have these deadlines, in minutes, and otherwise the usual ones.
func (r *rig) team(ctx context.Context, deadlines map[lifecycle.TaskState]float64) (t team, err error) {
	t.rig = r
	for _, user := range []*account.User{&t.creator, &t.agent} {
		if *user, err = r.user(ctx); err != nil {
			return t, err
		}
	}

	name := "Bench"
	if t.space, err = r.tasks.CreateWorkspace(ctx, t.creator, service.WorkspaceChange{Name: &name, StatusDeadlines: deadlines}, ""); err != nil {
		return t, err
	}

	if _, err = r.tasks.AddMember(ctx, t.creator, t.space.ID, t.agent.ID); err != nil {
		return t, err
	}
	_, err = r.tasks.Agree(ctx, t.agent, t.space.ID)
	return t, err
}

// make makes tasks in batches and waits until their workflows have begun.
func (t team) make(ctx context.Context, howMany int) ([]task.Task, error) {
	made := make([][]task.Task, (howMany+batchSize-1)/batchSize)
	batches, ctx := errgroup.WithContext(ctx)
	for i := range made {
		batches.Go(func() (err error) {
			graph := make([]task.NewTask, min(batchSize, howMany-i*batchSize))
			for j := range graph {
				graph[j].Title = fmt.Sprintf("Task %d", i*batchSize+j)
			}
			made[i], err = t.tasks.CreateBatch(ctx, t.creator, t.space.ID, graph, "")
			return err
		})
	}

	if err := batches.Wait(); err != nil {
		return nil, err
	}

	var all []task.Task
	for _, batch := range made {
		all = append(all, batch...)
	}
	return all, nil
}

// forget ends the tasks that are left in the record. The reconciler of the next rig, whose server does not know them,
// would start them again.
func (t team) forget(ctx context.Context) {
	for before := int64(0); ; {
		tasks, err := t.store.Tasks(ctx, task.Filter{WorkspaceID: t.space.ID, Before: before, Limit: 200})
		if err != nil || len(tasks) == 0 {
			return
		}
		for _, one := range tasks {
			before = one.ID
			if !lifecycle.Task.Terminal(one.State) {
				_ = t.tasks.End(ctx, one, "bench_is_over") // after an error the next figure is only slower
			}
		}
	}
}

const (
	updateName  = "a bare update of an empty workflow"
	bareUpdate  = "poke"
	bareEnding  = "end"
	startsAtAll = 50 // workflows that are started at a time
)

// bareEntity is the smallest workflow with updates: it does nothing until a signal ends it.
func bareEntity(ctx workflow.Context) error {
	err := workflow.SetUpdateHandler(ctx, bareUpdate, func(workflow.Context, int) (int, error) { return 1, nil })
	if err != nil {
		return err
	}
	workflow.GetSignalChannel(ctx, bareEnding).Receive(ctx, nil)
	return nil
}

// bareTimer waits for a moment.
func bareTimer(ctx workflow.Context, due time.Time) error {
	return workflow.Sleep(ctx, due.Sub(workflow.Now(ctx)))
}

// startBare starts workflows of the baseline and returns their ids.
func (r *rig) startBare(ctx context.Context, howMany int, kind any, args ...any) ([]string, error) {
	ids := make([]string, howMany)
	starts, ctx := errgroup.WithContext(ctx)
	starts.SetLimit(startsAtAll)
	for i := range ids {
		ids[i] = fmt.Sprintf("bare-%d", r.serial.Add(1))
		starts.Go(func() error {
			_, err := r.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: ids[i], TaskQueue: bareQueue}, kind, args...)
			return err
		})
	}

	return ids, starts.Wait()
}

// poke makes one update of a bare entity.
func (r *rig) poke(ctx context.Context, id string) error {
	handle, err := r.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: bareUpdate, Args: []any{1}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

const refusals = 30

// measureLife reads what one task has left in Temporal: its creation and six transitions; and what refusals add to it.
func measureLife(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
		if err := r.startBareWorker(); err != nil {
			return err
		}

		bare, err := r.bareLife(ctx)
		if err != nil {
			return err
		}

		team, err := r.team(ctx, nil)
		if err != nil {
			return err
		}

		tasks, err := team.make(ctx, 1)
		if err != nil {
			return err
		}
		defer team.forget(ctx)

		refused, err := team.live(ctx, tasks[0])
		if err != nil {
			return err
		}

		paid, err := r.cost(ctx, tasks[0].WorkflowID())
		if err != nil {
			return err
		}

		const name = "an empty workflow with six bare updates"
		rows = []row{
			measured("task with six transitions", "events", paid.events).against(name, bare.events).atMost(48),
			measured("task with six transitions", "actions", paid.actions).against(name, bare.actions),
			measured(fmt.Sprintf("what %d refusals add to it", refusals), "events", refused).atMost(0),
		}

		return nil
	})

	return rows, err
}

// bareLife is the same with a workflow that does nothing.
func (r *rig) bareLife(ctx context.Context) (cost, error) {
	ids, err := r.startBare(ctx, 1, bareEntity)
	if err != nil {
		return cost{}, err
	}

	for range 6 {
		if err := r.poke(ctx, ids[0]); err != nil {
			return cost{}, err
		}
	}

	if err := r.client.SignalWorkflow(ctx, ids[0], "", bareEnding, nil); err != nil {
		return cost{}, err
	}
	if err := r.client.GetWorkflow(ctx, ids[0], "").Get(ctx, nil); err != nil {
		return cost{}, err
	}

	return r.cost(ctx, ids[0])
}

// live takes a task through its states and returns the events that refusals on the way have added.
func (t team) live(ctx context.Context, one task.Task) (refused float64, err error) {
	if _, err := t.tasks.Claim(ctx, t.agent, one.ID, "mine", ""); err != nil {
		return 0, err
	}
	if refused, err = t.refuse(ctx, one); err != nil {
		return 0, err
	}

	for _, to := range []lifecycle.TaskState{lifecycle.TaskBlocked, lifecycle.TaskInProgress, lifecycle.TaskNew} {
		if _, err := t.tasks.Status(ctx, t.agent, one.ID, to, "on", ""); err != nil {
			return 0, err
		}
	}

	if _, err := t.tasks.Claim(ctx, t.agent, one.ID, "mine again", ""); err != nil {
		return 0, err
	}
	if _, err := t.tasks.Status(ctx, t.agent, one.ID, lifecycle.TaskDone, "there", ""); err != nil {
		return 0, err
	}

	return refused, t.client.GetWorkflow(ctx, one.WorkflowID(), "").Get(ctx, nil)
}

// refuse sends the workflow an update that it must refuse, without the check against the record that comes before.
func (t team) refuse(ctx context.Context, one task.Task) (added float64, err error) {
	before, err := t.cost(ctx, one.WorkflowID())
	if err != nil {
		return 0, err
	}

	for range refusals {
		handle, err := t.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: one.WorkflowID(), UpdateName: string(lifecycle.TaskActionClaim),
			WaitForStage: client.WorkflowUpdateStageCompleted,
			Args:         []any{lifecycle.TaskInput{Actor: t.creator.ID, Comment: "mine"}},
		})
		if err == nil {
			err = handle.Get(ctx, nil)
		}

		if refusal := temporalio.RefusalIn(err); refusal == nil || refusal.Code != fault.TaskAlreadyClaimed {
			return 0, fmt.Errorf("a claim of a task that is taken was not refused so: %w", err)
		}
	}

	after, err := t.cost(ctx, one.WorkflowID())
	return after.events - before.events, err
}
