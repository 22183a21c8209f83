package activities

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// TaskKeeper is how the reconciler mends tasks.
type TaskKeeper interface {
	// Start starts a task's workflow.
	Start(ctx context.Context, task store.Task) error
	// End gives up a task whose workflow is gone, unless it has changed since it was read.
	End(ctx context.Context, task store.Task, reason fault.Code) error
	// Unblock tells a task's workflow that its last blocker is DONE.
	Unblock(ctx context.Context, workflowID string) error
}

// tasks settles every live task whose workflow does not run, and tells those that have missed the end of their last blocker.
func (r *Reconciler) tasks(ctx context.Context) error {
	running, err := r.running(ctx, "Task")
	if err != nil {
		return err
	}
	return sweep(ctx, func(after int64) ([]store.LiveTask, error) {
		return r.Records.Store.LiveTasks(ctx, settled, after, pageLimit)
	}, func(task store.LiveTask) int64 {
		var err error
		switch {
		case !running[task.WorkflowID()]:
			err = r.task(ctx, task.ID)
		case task.Unblocked:
			err = r.Tasks.Unblock(ctx, task.WorkflowID())
		}
		if err != nil {
			r.Log.Warn("task not reconciled", "task", task.ID, "error", err) // one bad task never stops the others
		}
		return task.ID
	})
}

// task settles one live task that the list of running workflows lacks; the list lags, so its workflow is asked. A
// workflow that Temporal has never seen, or has forgotten, starts from the record: nothing of the task is lost.
func (r *Reconciler) task(ctx context.Context, id int64) error {
	task, err := r.Records.Store.TaskByID(ctx, 0, id)
	if err != nil || task.FinishedAt != nil {
		return err
	}
	status, err := r.status(ctx, task.WorkflowID())
	if err != nil {
		return err
	}
	reason := fault.WorkflowLost
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
		return r.Tasks.Start(ctx, task)
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		reason = fault.TerminatedByOperator
	default: // it has ended, and has not written how
	}
	if err := r.Tasks.End(ctx, task, reason); err != nil {
		return err
	}
	r.Log.Info("task reconciled", "task", task.ID, "reason", reason)
	return nil
}
