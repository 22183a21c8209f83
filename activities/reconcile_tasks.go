package activities

import (
	"context"
	"strconv"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// TaskKeeper is how the reconciler mends tasks.
type TaskKeeper interface {
	// Start starts a task's workflow.
	Start(ctx context.Context, task store.Task) error
	// Restart starts it anew although one has ended.
	Restart(ctx context.Context, task store.Task) error
	// End gives up a task whose workflow is gone, unless it has changed since it was read.
	End(ctx context.Context, task store.Task, reason fault.Code) error
	// Unblock tells a task's workflow that its last blocker is DONE.
	Unblock(ctx context.Context, workflowID string) error
	// Refresh lets a task's workflow take over what the record has.
	Refresh(ctx context.Context, workflowID string) error
}

// tasks settles every live task whose workflow does not run, and every workflow that runs without a live task. It tells those that
// have missed the end of their last blocker.
func (s *sweeper) tasks(ctx context.Context) error {
	v, err := s.view(ctx, lifecycle.WorkloadTask, "Task")
	if err != nil {
		return err
	}
	err = sweep(ctx, func(after int64) ([]store.LiveTask, error) {
		return s.Records.Store.LiveTasks(ctx, settled, after, pageLimit)
	}, func(task store.LiveTask) int64 {
		s.sweep.Live[v.workload]++
		id := task.WorkflowID()
		f := store.Finding{Workload: v.workload, Entity: strconv.FormatInt(task.ID, 10), WorkflowID: id}
		var err error
		switch listed, runs := v.meet(id); {
		case !runs:
			err = s.task(ctx, f, task.ID)
		case task.Unblocked:
			err = s.Tasks.Unblock(ctx, id)
		default:
			err = s.refresh(ctx, v, f, listed, string(task.Status), func() error { return s.Tasks.Refresh(ctx, id) })
		}
		if err != nil {
			s.Log.Warn("task not reconciled", "task", task.ID, "error", err) // one bad task never stops the others
		}
		return task.ID
	})
	if err != nil {
		return err
	}
	return s.strays(ctx, v)
}

// task settles one live task that the list of running workflows lacks; the list lags, so its workflow is asked. A
// workflow that Temporal has never seen, or has forgotten, starts from the record: nothing of the task is lost.
func (s *sweeper) task(ctx context.Context, f store.Finding, id int64) error {
	task, err := s.Records.Store.TaskByID(ctx, 0, id)
	if err != nil || task.FinishedAt != nil {
		return err
	}
	now, err := s.describe(ctx, f.WorkflowID)
	if err != nil || now.alive() {
		return err
	}
	f.RunID, f.Finding = now.runID, now.finding()
	if f.Finding == store.FindingMissing {
		if task.WorkflowStartedAt == nil {
			f.Finding = store.FindingNotStarted
		}
		return s.mend(ctx, f, func() (string, error) { return store.DoneStarted, s.Tasks.Start(ctx, task) })
	}
	if now.long {
		return s.mend(ctx, f, func() (string, error) { return store.DoneStarted, s.Tasks.Restart(ctx, task) })
	}
	reason := fault.WorkflowLost
	if f.Finding == store.FindingTerminated {
		reason = fault.TerminatedByOperator
	}
	return s.mend(ctx, f, func() (string, error) { return store.DoneEnded, s.Tasks.End(ctx, task, reason) })
}
