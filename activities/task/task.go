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
	TaskByID(ctx context.Context, viewer, id int64) (task.Task, error)
	FactsOfTask(ctx context.Context, id, userID int64) (task.TaskContext, error)
	WaitingDependents(ctx context.Context, id int64) ([]task.Task, error)
	WriteTask(ctx context.Context, w task.Write) (task.Snapshot, error)
	StartTaskClock(
		ctx context.Context, id, version int64, requestID string, at time.Time,
	) (task.Snapshot, error)
}

// Activities reads and writes the record for the workflows of tasks, and notifies dependent tasks.
type Activities struct {
	Store    Store
	Temporal temporalio.Signaler
	Metrics  metrics.Task
}

// failed turns an error of the record into Temporal's. An unforeseen error is returned to the caller, if there is one
// (asked); what a task does by itself is retried until it succeeds.
func (t *Activities) failed(ctx context.Context, err error, asked bool) error {
	f := temporalio.FaultOf(err)
	if f.Code == fault.Internal && !asked {
		f = f.Retry()
	}
	return temporalio.ActivityError(ctx, f)
}

// Loaded is the state of a task with which its workflow begins.
type Loaded struct {
	State     task.Snapshot `json:"state"`
	Unblocked bool          `json:"unblocked,omitempty"` // every blocker is DONE
}

// LoadTask reads a task from the record.
func (t *Activities) LoadTask(ctx context.Context, taskID int64) (Loaded, error) {
	task, err := t.Store.TaskByID(ctx, 0, taskID)
	if err != nil {
		return Loaded{}, t.failed(ctx, err, false)
	}
	return Loaded{State: task.Snapshot, Unblocked: len(task.OpenBlockers()) == 0}, nil
}

// Question asks for the facts about a user and a task.
type Question struct {
	TaskID int64 `json:"task_id"`
	UserID int64 `json:"user_id"` // 0: the task itself asks
	// Write is what the workflow decides if the facts are those of its guard; nil: that is not known before.
	Write *task.Write `json:"write,omitempty"`
}

// Facts answers a Question: either what was written, or the facts because the guard did not hold.
type Facts struct {
	task.TaskContext
	Written *Written `json:"written,omitempty"`
}

// TaskFacts reads what a task's workflow cannot know: whether a user belongs to the workspace, and the open blockers.
// Nearly always they are what the workflow assumes; then its write is made with the same statement that checks them.
func (t *Activities) TaskFacts(ctx context.Context, q Question) (Facts, error) {
	if q.Write != nil {
		written, err := t.WriteTask(ctx, *q.Write)
		if err != nil {
			return Facts{}, err
		}
		if written.State.Version >= q.Write.Version { // by this request, or by another one before it
			return Facts{Written: &written}, nil
		}
	}

	facts, err := t.Store.FactsOfTask(ctx, q.TaskID, q.UserID)
	if err != nil {
		return Facts{}, t.failed(ctx, err, q.UserID != 0)
	}
	return Facts{TaskContext: facts}, nil
}

// Written is the state of the record after a write.
type Written struct {
	State task.Snapshot `json:"state"`
	// Tell says that dependents have waited for this task to be DONE.
	Tell bool `json:"tell,omitempty"`
}

// WriteTask writes a transition. A repeated or late write changes nothing, nor does one whose guard does not hold.
func (t *Activities) WriteTask(ctx context.Context, w task.Write) (Written, error) {
	state, err := t.Store.WriteTask(ctx, w)
	if err != nil {
		return Written{}, t.failed(ctx, err, w.Event.ActorID != nil)
	}

	t.count(w, state)
	written := Written{State: state}
	if state.State == lifecycle.TaskDone {
		waiting, err := t.Store.WaitingDependents(ctx, w.TaskID)
		if err != nil {
			return Written{}, t.failed(ctx, err, false)
		}
		written.Tell = len(waiting) > 0
	}

	return written, nil
}

// count counts a transition that the record has as it was decided. A try that is repeated because its answer was lost
// counts twice.
func (t *Activities) count(w task.Write, state task.Snapshot) {
	if state.Version != w.Version || state.RequestID != w.RequestID {
		return // a later write by another caller
	}
	t.Metrics.Transitions.WithLabelValues(string(w.Action)).Inc()
	if state.FinishedAt != nil {
		t.Metrics.Ended.WithLabelValues(string(state.State)).Inc()
	}
}

// Clock says which task's deadline begins, and when.
type Clock struct {
	TaskID    int64     `json:"task_id"`
	Version   int64     `json:"version"` // the version that this write makes
	RequestID string    `json:"request_id"`
	At        time.Time `json:"at"`
}

// StartTaskClock begins the deadline of a NEW task that waited for its blockers. A repeated or late write changes
// nothing.
func (t *Activities) StartTaskClock(ctx context.Context, c Clock) (Written, error) {
	state, err := t.Store.StartTaskClock(ctx, c.TaskID, c.Version, c.RequestID, c.At)
	if err != nil {
		return Written{}, t.failed(ctx, err, false)
	}
	return Written{State: state}, nil
}

// TellDependents notifies the tasks whose last open blocker was this one. A task whose workflow does not run reads its
// blockers when it starts.
func (t *Activities) TellDependents(ctx context.Context, taskID int64) error {
	waiting, err := t.Store.WaitingDependents(ctx, taskID)
	if err != nil {
		return t.failed(ctx, err, false)
	}

	for _, task := range waiting {
		err := temporalio.SignalRunning(ctx, t.Temporal, task.WorkflowID(), lifecycle.TaskUnblockedSignal, nil)
		if err != nil {
			return err // the next try signals all of them again, which changes nothing
		}
	}
	return nil
}
