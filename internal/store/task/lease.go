package task

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// lease is how long the holder of task t may be silent from now on.
const lease = `now() + t.lease_seconds * interval '1 second'`

// deserted is true of a task t that is held by a lease whose holder may not use the service any more.
var deserted = `t.lease_expires_at IS NOT NULL AND t.status IN ` + heldTasks + `
	AND NOT EXISTS (SELECT 1 FROM users u WHERE u.id = t.assignee_id AND ` + core.ActiveUser + `)`

// EndLease ends the lease of a task whose holder may not use the service any more. The primary key serves it.
func (s *Store) EndLease(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE tasks t SET lease_expires_at = now() WHERE id = $1 AND lease_expires_at > now() AND `+deserted, id)
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
