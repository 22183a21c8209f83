package task

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// WaitingDependents lists the live tasks that have waited for this task and do not wait for another one, in workspaces
// where that begins their deadline. One that enters its status at this moment may not have seen the end of this task:
// it is among them.
func (s *Store) WaitingDependents(ctx context.Context, id int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT t.id FROM task_blockers waits JOIN tasks t ON t.id = waits.task_id
		JOIN workspaces w ON w.id = t.workspace_id WHERE waits.blocker_id = $1 AND t.status NOT IN `+endedTasks+`
			AND (t.clock_waits OR w.new_deadline_waits_for_blockers) AND NOT `+OpenBlocker+` ORDER BY t.id`, id)
}

// MarkTaskStarted records that the task's workflow runs.
func (s *Store) MarkTaskStarted(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE tasks SET workflow_started_at = coalesce(workflow_started_at, now()) WHERE id = $1`, id)
}

// LiveTask is a live task as the reconciler compares it with Temporal.
type LiveTask struct {
	ID           int64               `db:"id"`
	State        lifecycle.TaskState `db:"status"`
	NeverStarted bool                `db:"never_started"` // its workflow
	// its deadline waits for blockers, none of which is open any more
	Unblocked bool `db:"unblocked"`
	// it is held by a lease, and its holder may not use the service any more
	Deserted bool `db:"deserted"`
}

// WorkflowID is the id of the workflow that drives the task.
func (t LiveTask) WorkflowID() string { return Task{ID: t.ID}.WorkflowID() }

// unblocked is true of a task t whose deadline waits for blockers, none of which is open any more.
var unblocked = `clock_waits AND NOT ` + OpenBlocker

var liveSelect = `SELECT id, status, workflow_started_at IS NULL AS never_started, ` + unblocked + ` AS unblocked, ` + deserted + ` AS deserted
	FROM tasks t `

// LiveTasksOf returns the live tasks with these ids that were created at least age ago, and those that have waited for
// one of them and do not wait any more. The primary keys and the index task_blockers_blocker serve it.
func (s *Store) LiveTasksOf(ctx context.Context, age time.Duration, ids []string) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE status NOT IN `+endedTasks+` AND created_at < now() - $2::interval AND id IN (
			SELECT unnest($1::text[]::bigint[])
			UNION SELECT t.id FROM task_blockers waits JOIN tasks t ON t.id = waits.task_id
				WHERE waits.blocker_id = ANY ($1::text[]::bigint[]) AND `+unblocked+`)`, ids, age)
}

// DesertedTasks returns live tasks that are held by a lease whose holder may not use the service any more, or the
// holder's owner, since a moment. The indexes users_inactive, users_owner and tasks_live_assignee serve it.
func (s *Store) DesertedTasks(ctx context.Context, since time.Time) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, `WITH gone AS (SELECT id FROM users WHERE status <> 'ACTIVE' AND updated_at > $1)
		`+liveSelect+`WHERE status NOT IN `+endedTasks+` AND assignee_id IN (
			SELECT id FROM gone UNION SELECT a.id FROM gone JOIN users a ON a.owner_id = gone.id WHERE a.owner_id IS NOT NULL
		) AND `+deserted, since)
}

// LiveTasks lists live tasks that were created at least age ago, with ids above after, ascending.
func (s *Store) LiveTasks(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE status NOT IN `+endedTasks+` AND id > $1 AND created_at < now() - $2::interval ORDER BY id LIMIT $3`, after, age, limit)
}
