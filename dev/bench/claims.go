package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

const (
	claimTasks  = 400
	claimWarmUp = 100
	batchSize   = 500
)

// measureClaims has agents claim tasks, each its own and many at a time, with the API's code.
func measureClaims(ctx context.Context, m *machine) ([]row, error) {
	var ours, bare []float64
	err := m.takeTurns(ctx, nil, func(r *rig) error {
		perSecond, err := r.claims(ctx)
		ours = append(ours, perSecond)
		return err
	}, func(r *rig) error {
		ids, err := r.startBare(ctx, claimWarmUp+claimTasks, bareEntity)
		if err != nil {
			return err
		}
		perSecond, err := closedLoop(claimWarmUp, claimTasks, func(i int) error { return r.poke(ctx, ids[i]) })
		bare = append(bare, perSecond)
		return err
	})
	if err != nil {
		return nil, err
	}

	name := fmt.Sprintf("claims, %d in flight", smallInFlight)
	return []row{measured(name, "claims/s", ours...).against(updateName, bare...).atLeast(0.8)}, nil
}

// claims has agents claim the tasks of a new team, whose tasks are ended afterwards.
func (r *rig) claims(ctx context.Context) (perSecond float64, err error) {
	team, err := r.team(ctx, nil)
	if err != nil {
		return 0, err
	}

	tasks, err := team.make(ctx, claimWarmUp+claimTasks)
	if err != nil {
		return 0, err
	}
	defer team.forget(ctx)

	return closedLoop(claimWarmUp, claimTasks, func(i int) error {
		_, err := team.tasks.Claim(ctx, team.agent, tasks[i].ID, "mine", fmt.Sprintf("claim-%d", tasks[i].ID))
		return err
	})
}

// team is a workspace with people.
type team struct {
	*rig
	space   task.Workspace
	creator account.User
	agent   account.User
}

// team creates a workspace whose tasks have these deadlines, in minutes, and otherwise the usual ones.
func (r *rig) team(ctx context.Context, deadlines map[lifecycle.TaskState]float64) (t team, err error) {
	t.rig = r
	for _, user := range []*account.User{&t.creator, &t.agent} {
		if *user, err = r.user(ctx); err != nil {
			return t, err
		}
	}

	name := "Bench"
	if t.space, err = r.tasks.CreateWorkspace(ctx, t.creator, tasks.WorkspaceChange{Name: &name, StatusDeadlines: deadlines}, ""); err != nil {
		return t, err
	}

	if _, err = r.tasks.AddMember(ctx, t.creator, t.space.ID, t.agent.ID); err != nil {
		return t, err
	}
	_, err = r.tasks.Agree(ctx, t.agent, t.space.ID)
	return t, err
}

// make creates tasks in batches and waits until their workflows have begun.
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

// forget ends the remaining tasks in the record. Otherwise the reconciler of the next rig, whose server does not know
// them, would start them again.
func (t team) forget(ctx context.Context) {
	for before := int64(0); ; {
		tasks, err := t.store.Tasks.List(ctx, task.Filter{WorkspaceID: t.space.ID, Before: before, Limit: 200})
		if err != nil || len(tasks) == 0 {
			return
		}
		for _, one := range tasks {
			before = one.ID
			if !lifecycle.Task.Terminal(one.State) {
				_ = t.tasks.End(ctx, one.ID, "bench_is_over") // after an error the next figure is only slower
			}
		}
	}
}

const (
	updateName  = "a bare update of an empty workflow"
	bareUpdate  = "poke"
	startsAtAll = 50 // workflows that are started at a time
)

// bareEntity is the smallest workflow with updates: it does nothing else until its server stops.
func bareEntity(ctx workflow.Context) error {
	err := workflow.SetUpdateHandler(ctx, bareUpdate, func(workflow.Context, int) (int, error) { return 1, nil })
	if err != nil {
		return err
	}
	ctx.Done().Receive(ctx, nil)
	return nil
}

// bareTimer waits until a point in time.
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

// poke sends one update to a bare entity.
func (r *rig) poke(ctx context.Context, id string) error {
	handle, err := r.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: bareUpdate, Args: []any{1}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}
