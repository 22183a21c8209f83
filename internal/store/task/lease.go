package task

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// lease is how long the holder of task t may be silent from now on.
const lease = `now() + t.lease_seconds * interval '1 second'`

// leaseEnd is when the lease of task t ends. A holder whose lease ended while the API was unavailable could not renew
// it, and may be silent for the same time again once the API is back. During the outage the end moves on.
const leaseEnd = `coalesce((
		SELECT greatest(t.lease_expires_at, o.back_at + t.lease_seconds * interval '1 second')
		FROM (SELECT CASE WHEN ` + core.APIAway + ` THEN a.beat_at ELSE a.away_since END AS away_since,
				CASE WHEN ` + core.APIAway + ` THEN now() ELSE a.back_at END AS back_at FROM api_presence a) o
		WHERE t.lease_seconds > 0 AND t.lease_expires_at >= o.away_since
			AND t.lease_expires_at - t.lease_seconds * interval '1 second' < o.back_at
	), t.lease_expires_at)`

// EndedLeases lists the tasks held by a user, or their agents, by a lease that has ended. Served by the indexes
// users_owner and tasks_live_assignee.
func (s *Store) EndedLeases(ctx context.Context, userID int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM tasks WHERE lease_expires_at <= now() AND status IN `+heldTasks+`
		AND status NOT IN `+EndedTasks+` AND assignee_id IN (SELECT $1::bigint UNION SELECT id FROM users WHERE owner_id = $1)
		ORDER BY id`, userID)
}

// RenewLease renews a user's lease on a task from now: it writes one row, and no event. token 0: any claim. LEASE_LOST:
// the user does not hold the task by a lease. Served by the primary key.
func (s *Store) RenewLease(ctx context.Context, id, userID, token int64) (Task, error) {
	return core.One[Task](ctx, s.db, lifecycle.LeaseLost(), `WITH renewed AS (
			UPDATE tasks t SET lease_expires_at = `+lease+`
			WHERE id = $1 AND assignee_id = $2 AND status IN `+heldTasks+` AND `+leaseEnd+` > now()
				AND ($3::bigint = 0 OR fencing_token = $3) RETURNING t.*
		) SELECT `+taskColumns+` FROM renewed t`, id, userID, token)
}
