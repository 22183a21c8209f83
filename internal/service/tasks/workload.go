package tasks

import (
	"context"
	"strconv"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// taskWorkload implements Workload for tasks.
type taskWorkload struct{ *Service }

// Workload returns the tasks as the operations see them.
func (c *Service) Workload() service.Workload {
	return taskWorkload{c}
}

func (taskWorkload) Name() string { return lifecycle.WorkloadTask }

func (taskWorkload) WorkflowType() string { return lifecycle.TaskType }

func (taskWorkload) Prepare(context.Context) error { return nil }

func (w taskWorkload) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Tasks.Live(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w taskWorkload) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Tasks.Unstarted(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w taskWorkload) LiveOf(ctx context.Context, age time.Duration, entities []string) ([]service.LiveRow, error) {
	tasks, err := w.Store.Tasks.LiveOf(ctx, age, entities)
	return service.RowsOf(tasks, err, w.row)
}

func (w taskWorkload) row(task task.LiveTask) *liveTask {
	return &liveTask{LiveTask: task, tasks: w.Service}
}

func (w taskWorkload) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return w.Store.Tasks.Driven(ctx, keys)
}

// Release makes a user's current tasks claimable by others. NEW and STUCK tasks stay assigned, because only the creator
// may remove the assignee: the creator cancels them, or others take over the stuck ones.
func (w taskWorkload) Release(ctx context.Context, user account.User) error {
	return service.EachLive(func(before int64, limit int) ([]task.Task, error) {
		return w.Store.Tasks.List(ctx, task.Filter{AssigneeID: user.ID, Live: true, Before: before, Limit: limit})
	}, func(t task.Task) (int64, error) {
		if t.State != lifecycle.TaskInProgress && t.State != lifecycle.TaskBlocked {
			return t.ID, nil
		}

		_, err := w.Status(ctx, user, t.ID, lifecycle.TaskNew, "The assignee was removed.", "")
		// changed meanwhile
		if fault.CodeOf(err) == fault.InvalidTransition || fault.CodeOf(err) == fault.InsufficientAccess {
			err = nil
		}
		return t.ID, err
	})
}

// liveTask is one live task. The listing has few columns; the complete row is read only for a task that is not driven.
type liveTask struct {
	task.LiveTask
	tasks *Service
	row   *task.Task // nil: not read yet
}

func (t *liveTask) About() service.Row {
	return service.Row{
		ID: t.ID, Entity: strconv.FormatInt(t.ID, 10), WorkflowID: t.WorkflowID(), State: string(t.State),
		NeverStarted: t.NeverStarted, Resumes: true, Replaceable: true, Revision: t.Version, Changed: t.UpdatedAt,
	}
}

func (t *liveTask) StillLive(ctx context.Context) (bool, error) {
	task, err := t.read(ctx)
	return task.FinishedAt == nil, err
}

func (t *liveTask) read(ctx context.Context) (task.Task, error) {
	if t.row == nil {
		task, err := t.tasks.Store.Tasks.ByID(ctx, 0, t.ID)
		if err != nil {
			return task, err
		}
		t.row = &task
	}
	return *t.row, nil
}

func (t *liveTask) Refresh(ctx context.Context) error { return t.tasks.Refresh(ctx, t.WorkflowID()) }

func (t *liveTask) Start(ctx context.Context) error {
	task, err := t.read(ctx)
	if err != nil {
		return err
	}
	return t.tasks.Start(ctx, task)
}

func (t *liveTask) Restart(ctx context.Context) error {
	task, err := t.read(ctx)
	if err != nil {
		return err
	}
	return t.tasks.Restart(ctx, task)
}

func (t *liveTask) End(ctx context.Context, loss service.Loss) (restarted bool, err error) {
	return false, t.tasks.End(ctx, t.ID, loss.Reason())
}

func (t *liveTask) Restore(ctx context.Context) (unknown bool, err error) {
	return false, t.Restart(ctx)
}
