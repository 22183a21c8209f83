package task

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// TaskStats are a workspace's statistics since a moment. Times are in seconds; nil: no task was done.
type TaskStats struct {
	Created         int64    `db:"created"`
	Done            int64    `db:"done"`
	Cancelled       int64    `db:"cancelled"`
	LeadTime        *float64 `db:"lead_time"` // from creation to DONE, on average
	LeadTimeMedian  *float64 `db:"lead_time_median"`
	CycleTime       *float64 `db:"cycle_time"` // from the first IN_PROGRESS to DONE, on average
	CycleTimeMedian *float64 `db:"cycle_time_median"`
	Takeovers       int64    `db:"takeovers"`
	Escalations     int64    `db:"escalations"`
	Expiries        int64    `db:"expiries"`
	// more tasks have changed than are counted: the numbers above cover the most recently changed ones
	Partial bool `db:"partial"`
}

// TaskDay holds one day's figures. Times are in seconds; nil: no task was done on this day.
type TaskDay struct {
	Day             time.Time `db:"day"` // its beginning, in UTC
	Created         int64     `db:"created"`
	Done            int64     `db:"done"`
	LeadTimeMedian  *float64  `db:"lead_time_median"`
	CycleTimeMedian *float64  `db:"cycle_time_median"`
}

// maxTasksCounted limits the number of tasks in statistics.
const maxTasksCounted = `10000`

// changedTasks are the tasks of workspace $1 changed since $2, limited to the most recent.
const changedTasks = `WITH mine AS (
		SELECT id, status, created_at, finished_at, extract(epoch FROM finished_at - created_at)::float8 AS lead,
			extract(epoch FROM finished_at - started_at)::float8 AS cycle
		FROM tasks WHERE workspace_id = $1 AND updated_at >= $2::timestamptz - interval '1 minute' ORDER BY updated_at DESC LIMIT ` + maxTasksCounted + `
	)`

// Stats counts a workspace's changes since a moment, among the most recently changed tasks. Served by tasks_changed; a
// task's change time may slightly precede its event's.
func (s *Store) Stats(ctx context.Context, workspaceID int64, since time.Time) (TaskStats, error) {
	return core.One[TaskStats](ctx, s.db, noWorkspace, changedTasks+`, ended AS (SELECT * FROM mine WHERE finished_at >= $2), happened AS (
			SELECT e.type FROM mine m JOIN task_events e ON e.workload = 'task' AND e.entity_id = m.id::text
			WHERE e.created_at >= $2 AND e.type IN ('taken_over', 'escalated', 'deadline_expired', 'lease_expired')
		)
		SELECT (SELECT count(*) FROM mine WHERE created_at >= $2) AS created,
			count(*) FILTER (WHERE status = `+core.Literal(lifecycle.TaskDone)+`) AS done, count(*) FILTER (WHERE status = `+core.Literal(lifecycle.TaskCancelled)+`) AS cancelled,
			avg(lead) FILTER (WHERE status = `+core.Literal(lifecycle.TaskDone)+`) AS lead_time,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY lead) FILTER (WHERE status = `+core.Literal(lifecycle.TaskDone)+`) AS lead_time_median,
			avg(cycle) FILTER (WHERE status = `+core.Literal(lifecycle.TaskDone)+`) AS cycle_time,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY cycle) FILTER (WHERE status = `+core.Literal(lifecycle.TaskDone)+`) AS cycle_time_median,
			(SELECT count(*) FROM happened WHERE type = 'taken_over') AS takeovers,
			(SELECT count(*) FROM happened WHERE type = 'escalated') AS escalations,
			(SELECT count(*) FROM happened WHERE type IN ('deadline_expired', 'lease_expired')) AS expiries,
			(SELECT count(*) FROM mine) >= `+maxTasksCounted+` AS partial
		FROM ended`, workspaceID, since)
}

// Days returns figures for the days since a moment on which a workspace's task was created or done, in order, covering
// the same tasks as Stats. Served by tasks_changed.
func (s *Store) Days(ctx context.Context, workspaceID int64, since time.Time) ([]TaskDay, error) {
	return core.List[TaskDay](ctx, s.db, changedTasks+`
		SELECT date_trunc('day', at, 'UTC') AS day, count(*) FILTER (WHERE made) AS created, count(*) FILTER (WHERE NOT made) AS done,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY lead) AS lead_time_median, percentile_cont(0.5) WITHIN GROUP (ORDER BY cycle) AS cycle_time_median
		FROM (SELECT created_at AS at, true AS made, NULL::float8 AS lead, NULL::float8 AS cycle FROM mine WHERE created_at >= $2
			UNION ALL SELECT finished_at, false, lead, cycle FROM mine WHERE finished_at >= $2 AND status = `+core.Literal(lifecycle.TaskDone)+`) happened
		GROUP BY 1 ORDER BY 1`, workspaceID, since)
}
