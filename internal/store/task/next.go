package task

import (
	"context"
	"slices"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Wish describes the ready tasks that a caller wants to claim.
type Wish struct {
	// MemberID is the user who must be a member of the task's workspace; 0: an administrator, who names a workspace.
	MemberID    int64
	WorkspaceID int64 // 0: any
	Labels      []string
	Priority    string // the lowest one acceptable; empty: any
}

// leastUrgent is the urgency of the wish's priority.
func (w Wish) leastUrgent() int {
	return len(Priorities) - 1 - max(0, slices.Index(Priorities, w.Priority))
}

// urgency is the rank of task t's priority, highest first, as in the index tasks_next.
const urgency = `CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END`

var (
	// free is true of a task t that can be claimed once its blockers are DONE. The index tasks_next contains these tasks.
	free = `status = ` + core.Literal(lifecycle.TaskNew) + ` AND assignee_id IS NULL AND visibility = 'public'`
	// claimable is true of a task t that can be claimed now.
	claimable = free + ` AND NOT ` + OpenBlocker

	// wished are a Wish's conditions besides the workspace. Blockers are queried task by task, in the order of the index,
	// not for all tasks at once.
	wished = free + ` AND (` + urgency + `) <= $2 AND labels @> $3 AND id <> ALL ($4)
		AND (SELECT true FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
			WHERE tb.task_id = t.id AND b.status <> ` + core.Literal(lifecycle.TaskDone) + ` LIMIT 1) IS NULL`

	nextOfOne = `SELECT id FROM tasks t WHERE workspace_id = $6 AND ` + wished + `
		AND ($1::bigint = 0 OR EXISTS (SELECT 1 FROM workspace_members m WHERE m.workspace_id = $6 AND m.user_id = $1))
		ORDER BY workspace_id, ` + urgency + `, id LIMIT $5`
	nextOfAll = `SELECT near.id FROM workspace_members m CROSS JOIN LATERAL (
			SELECT id, ` + urgency + ` AS urgency FROM tasks t WHERE t.workspace_id = m.workspace_id AND ` + wished + `
			ORDER BY t.workspace_id, ` + urgency + `, id LIMIT $5) near
		WHERE m.user_id = $1 ORDER BY near.urgency, near.id LIMIT $5`
)

// Next lists the ids of up to limit claimable tasks that fit a wish, except the given ones: most urgent first, then
// oldest. Served by the index tasks_next and, for workspace_members, by the primary key and workspace_members_user.
func (s *Store) Next(ctx context.Context, w Wish, without []int64, limit int) ([]int64, error) {
	args := []any{w.MemberID, w.leastUrgent(), append([]string{}, w.Labels...), append([]int64{}, without...), limit}
	if w.WorkspaceID == 0 {
		return core.Values[int64](ctx, s.db, nextOfAll, args...)
	}
	return core.Values[int64](ctx, s.db, nextOfOne, append(args, w.WorkspaceID)...)
}
