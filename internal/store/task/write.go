package task

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// WaitingDependents lists the live tasks that waited for this task and wait for no other.
func (s *Store) WaitingDependents(ctx context.Context, id int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT t.id FROM task_blockers waits JOIN tasks t ON t.id = waits.task_id
		WHERE waits.blocker_id = $1 AND t.status NOT IN `+EndedTasks+` AND NOT `+OpenBlocker+` ORDER BY t.id`, id)
}

// MarkStarted records that the task's workflow runs.
func (s *Store) MarkStarted(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE tasks SET workflow_started_at = coalesce(workflow_started_at, now()) WHERE id = $1`, id)
}

// LiveTask is a live task as the reconciler compares it with Temporal.
type LiveTask struct {
	ID           int64               `db:"id"`
	State        lifecycle.TaskState `db:"status"`
	NeverStarted bool                `db:"never_started"` // its workflow
	Version      int64               `db:"last_seq"`      // the number of its newest event
	UpdatedAt    time.Time           `db:"updated_at"`
}

// WorkflowID is the id of the workflow that drives the task.
func (t LiveTask) WorkflowID() string { return Task{ID: t.ID}.WorkflowID() }

const liveSelect = `SELECT id, status, workflow_started_at IS NULL AS never_started, last_seq, updated_at FROM tasks `

// LiveOf returns the live tasks with these ids created at least age ago. Served by the primary key.
func (s *Store) LiveOf(ctx context.Context, age time.Duration, ids []string) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE status NOT IN `+EndedTasks+` AND created_at < now() - $2::interval
		AND id = ANY ($1::text[]::bigint[])`, ids, age)
}

// Live lists live tasks created at least age ago, with ids above after, ascending.
func (s *Store) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE status NOT IN `+EndedTasks+` AND id > $1 AND created_at < now() - $2::interval ORDER BY id LIMIT $3`, after, age, limit)
}
