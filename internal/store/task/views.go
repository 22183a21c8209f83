package task

import (
	"context"
	"strings"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// BoardOf returns the newest tasks of a workspace visible to a viewer, up to limit in each status and up to limit that
// can be claimed, newest first; viewer 0 sees all. Served by the index tasks_workspace_status.
func (s *Store) BoardOf(ctx context.Context, viewer, workspaceID int64, limit int) ([]Task, error) {
	return core.Chosen[Task](
		ctx, s.db, taskSelect+`WHERE id IN (`+newestInEachState+`) ORDER BY id DESC`, viewer, workspaceID, limit,
	)
}

// CountsOf counts a workspace's tasks visible to a viewer in each state, up to most; viewer 0 sees all. Served by the
// index tasks_workspace_status.
func (s *Store) CountsOf(ctx context.Context, viewer, workspaceID int64, most int) (map[lifecycle.TaskState]int, error) {
	rows, err := core.List[struct {
		State lifecycle.TaskState `db:"state"`
		N     int                 `db:"n"`
	}](ctx, s.db, `SELECT state, (SELECT count(*) FROM (SELECT FROM tasks t WHERE workspace_id = $2 AND status = state AND `+visible+` LIMIT $3) found) AS n
		FROM unnest($4::text[]) state`, viewer, workspaceID, most, lifecycle.TaskStates)
	counts := make(map[lifecycle.TaskState]int, len(rows))
	for _, row := range rows {
		counts[row.State] = row.N
	}
	return counts, err
}

// newestInEachState names each state separately, so that PostgreSQL knows how rare it is and uses the index.
var newestInEachState = func() string {
	columns := make([]string, len(lifecycle.TaskStates))
	for i, state := range lifecycle.TaskStates {
		columns[i] = `(SELECT id FROM tasks t WHERE workspace_id = $2 AND status = ` + core.Literal(state) + ` AND ` + visible + `
			ORDER BY id DESC LIMIT $3)`
	}
	return `(SELECT id FROM tasks t WHERE workspace_id = $2 AND (` + claimable + `) AND ` + visible + ` ORDER BY id DESC LIMIT $3) UNION ` +
		strings.Join(columns, " UNION ")
}()

// Work is the tasks that wait for a user.
type Work struct {
	Counts map[lifecycle.TaskState]int64 // of the live tasks assigned to the user, by status
	// of these, those with the nearest deadlines first; then those without one
	Assigned []Task
	Ready    []Task // claimable by the user, newest first
}

// maxWork limits the tasks that WorkOf searches: the newest.
const maxWork = `1000`

// WorkOf returns up to limit live tasks of an assignee, and up to limit tasks claimable by a viewer; viewer 0 sees all.
// Served by the index tasks_live_assignee and those of Tasks.
func (s *Store) WorkOf(ctx context.Context, assigneeID, viewer int64, limit int) (work Work, err error) {
	ready := Filter{Viewer: viewer, Ready: true, Limit: limit}
	rows, err := core.Chosen[struct {
		Task
		Counts map[lifecycle.TaskState]int64 `db:"counts"`
	}](ctx, s.db, `WITH live AS (SELECT id, status, status_deadline_at FROM tasks WHERE assignee_id = $9 AND status NOT IN `+EndedTasks+`
			ORDER BY assignee_id, id DESC LIMIT `+maxWork+`)
		SELECT `+taskColumns+`, (SELECT jsonb_object_agg(status, n) FROM (SELECT status, count(*) AS n FROM live GROUP BY status) c) AS counts
		FROM tasks t WHERE id IN ((SELECT id FROM live ORDER BY status_deadline_at NULLS LAST, id LIMIT $8)
			UNION ALL (SELECT id FROM tasks t `+ready.where()+`))
		ORDER BY CASE WHEN assignee_id IS NULL THEN id END DESC NULLS FIRST, status_deadline_at NULLS LAST, id`,
		append(ready.args(), assigneeID)...)

	for _, row := range rows {
		work.Counts = row.Counts
		if row.HeldBy(assigneeID) {
			work.Assigned = append(work.Assigned, row.Task)
		} else {
			work.Ready = append(work.Ready, row.Task)
		}
	}

	return work, err
}

// Node is a task in a graph of tasks that wait for each other.
type Node struct {
	ID         int64               `db:"id"`
	Title      string              `db:"title"`
	State      lifecycle.TaskState `db:"status"`
	AssigneeID *int64              `db:"assignee_id"`
	BlockedBy  []int64             `db:"blocked_by"` // tasks in the same graph, ascending
}

// nodes returns the tasks whose ids the statement `shown` names, oldest first.
const nodes = ` SELECT id, title, status, assignee_id, ARRAY (SELECT blocker_id FROM task_blockers b
		WHERE b.task_id = t.id AND b.blocker_id IN (SELECT id FROM shown) ORDER BY blocker_id) AS blocked_by
	FROM tasks t WHERE id IN (SELECT id FROM shown) ORDER BY id`

// GraphOf returns up to limit tasks visible to a viewer that a task waits for or that wait for it, transitively; viewer
// 0 sees all. The task itself is included, and the nearest ones take precedence within the limit. Served by the primary
// key of task_blockers and the index task_blockers_blocker.
func (s *Store) GraphOf(ctx context.Context, viewer, taskID int64, limit int) ([]Node, error) {
	found, err := core.List[Node](ctx, s.db, `WITH RECURSIVE near (id) AS (
			SELECT id FROM tasks t WHERE id = $2 AND `+visible+`
			UNION
			SELECT next.id FROM near CROSS JOIN LATERAL (
				SELECT blocker_id AS id FROM task_blockers WHERE task_id = near.id
				UNION ALL SELECT task_id FROM task_blockers WHERE blocker_id = near.id) next
			WHERE (SELECT `+visible+` FROM tasks t WHERE t.id = next.id)
		), shown AS MATERIALIZED (SELECT id FROM near LIMIT $3)`+nodes, viewer, taskID, limit)
	if err == nil && len(found) == 0 {
		return nil, noTask
	}

	return found, err
}

// searchedForGraph limits the tasks that GraphOfWorkspace searches: the newest.
const searchedForGraph = `1000`

// GraphOfWorkspace returns the newest tasks of a workspace, up to limit, that are visible to a viewer and have or are
// blockers; viewer 0 sees all. Served by the indexes tasks_workspace and task_blockers_blocker, and the primary key of
// task_blockers.
func (s *Store) GraphOfWorkspace(ctx context.Context, viewer, workspaceID int64, limit int) ([]Node, error) {
	return core.List[Node](ctx, s.db, `WITH newest AS (
			SELECT id FROM tasks t WHERE workspace_id = $2 AND `+visible+` ORDER BY workspace_id, id DESC LIMIT `+searchedForGraph+`
		), shown AS MATERIALIZED (SELECT id FROM newest WHERE (SELECT true FROM task_blockers b WHERE b.task_id = newest.id LIMIT 1)
			OR (SELECT true FROM task_blockers b WHERE b.blocker_id = newest.id LIMIT 1) ORDER BY id DESC LIMIT $3)`+nodes,
		viewer, workspaceID, limit)
}
