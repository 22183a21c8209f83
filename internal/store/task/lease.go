package task

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// lease is how long the holder of task t may be silent from now on.
const lease = `now() + t.lease_seconds * interval '1 second'`

// EndedLeases lists the tasks that a user, or an agent of theirs, holds by a lease that has ended. The indexes users_owner
// and tasks_live_assignee serve it.
func (s *Store) EndedLeases(ctx context.Context, userID int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM tasks WHERE lease_expires_at <= now() AND status IN `+heldTasks+`
		AND status NOT IN `+endedTasks+` AND assignee_id IN (SELECT $1::bigint UNION SELECT id FROM users WHERE owner_id = $1)
		ORDER BY id`, userID)
}

// RenewLease lets a user hold a task for another lease, counted from now: one row is written, and no event. token 0: the
// user names no claim. LEASE_LOST: the user does not hold the task by a lease. The primary key serves it.
func (s *Store) RenewLease(ctx context.Context, id, userID, token int64) (Task, error) {
	return core.One[Task](ctx, s.db, lifecycle.LeaseLost(), `WITH renewed AS (
			UPDATE tasks t SET lease_expires_at = `+lease+`
			WHERE id = $1 AND assignee_id = $2 AND status IN `+heldTasks+` AND lease_expires_at > now()
				AND ($3::bigint = 0 OR fencing_token = $3) RETURNING t.*
		) SELECT `+taskColumns+` FROM renewed t`, id, userID, token)
}
