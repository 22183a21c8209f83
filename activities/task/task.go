// Package task has the activities of tasks: they act on the record and on the workflows of dependent tasks.
package task

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Store is the part of the record that the activities use.
type Store interface {
	ByID(ctx context.Context, viewer, id int64) (task.Task, error)
	Act(ctx context.Context, a task.Act) (task.Acted, error)
	StartClock(ctx context.Context, id int64, at time.Time) (task.Snapshot, error)
	WaitingDependents(ctx context.Context, id int64) ([]int64, error)
}

// Activities reads and writes the record for tasks' workflows, and notifies dependent tasks.
type Activities struct {
	Store    Store
	Temporal temporalio.Signaler
	Metrics  metrics.Task
}

// failed converts an error of the record to Temporal's. A refusal keeps its details. An unforeseen error is returned to
// the caller, if there is one (asked); what a task does on its own is retried until it succeeds.
func (t *Activities) failed(ctx context.Context, err error, asked bool) error {
	if f := temporalio.FaultOf(err); f.Code == fault.Internal && !asked {
		return temporalio.ActivityError(ctx, f.Retry())
	}
	return temporalio.RequestError(ctx, err)
}

// LoadTask reads a task from the record.
func (t *Activities) LoadTask(ctx context.Context, taskID int64) (task.Snapshot, error) {
	found, err := t.Store.ByID(ctx, 0, taskID)
	if err != nil {
		return task.Snapshot{}, t.failed(ctx, err, false)
	}
	return found.Snapshot, nil
}

// ActOnTask decides an action, and writes what follows. Idempotent.
func (t *Activities) ActOnTask(ctx context.Context, a task.Act) (task.Acted, error) {
	acted, err := t.Store.Act(ctx, a)
	if err != nil {
		return task.Acted{}, t.failed(ctx, err, a.RequestID != "")
	}

	if acted.Event != "" {
		t.Metrics.Transitions.WithLabelValues(string(a.Action)).Inc()
		if acted.State.FinishedAt != nil {
			t.Metrics.Ended.WithLabelValues(string(acted.State.State)).Inc()
		}
	}
	return acted, nil
}

// Clock is the task whose deadline begins, and when.
type Clock struct {
	TaskID int64     `json:"task_id"`
	At     time.Time `json:"at"`
}

// StartTaskClock begins the deadline of a NEW task that waited for its blockers, once they are DONE. It returns the
// task in any case.
func (t *Activities) StartTaskClock(ctx context.Context, c Clock) (task.Snapshot, error) {
	state, err := t.Store.StartClock(ctx, c.TaskID, c.At)
	if err != nil {
		return task.Snapshot{}, t.failed(ctx, err, false)
	}
	return state, nil
}

// TellDependents notifies the tasks whose last open blocker was this one. A task whose workflow is not running reads
// its blockers when it starts.
func (t *Activities) TellDependents(ctx context.Context, taskID int64) error {
	waiting, err := t.Store.WaitingDependents(ctx, taskID)
	if err != nil {
		return t.failed(ctx, err, false)
	}

	for _, id := range waiting {
		workflowID := task.Task{ID: id}.WorkflowID()
		if err := temporalio.SignalRunning(ctx, t.Temporal, workflowID, lifecycle.TaskUnblockedSignal, nil); err != nil {
			return err // the next attempt signals all of them again, which changes nothing
		}
	}
	return nil
}
