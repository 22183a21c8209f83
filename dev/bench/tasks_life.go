package main

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

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
