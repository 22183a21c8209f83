package delivery

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Driven returns deliveries by their workflows' keys. Served by the unique index on idempotency_key.
func (s *Store) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return s.db.DrivenByHash(ctx, keys, `SELECT idempotency_key AS key, id::text AS entity, state IN `+endedJobs+` AS over,
		now() - updated_at AS changed FROM jobs WHERE idempotency_key = ANY ($1::text[])`)
}

// HeldJobs is what workers report about the jobs they hold.
type HeldJobs struct {
	HeartbeatAge *float64 `db:"heartbeat_age"` // of the most recent heartbeat, in seconds; nil: no job is held
	Stuck        []int64  `db:"stuck"`         // jobs whose heartbeat is too old
}

// Held returns the age of the most recent heartbeat, and up to limit jobs whose heartbeat is older than age. Served by
// the index jobs_live.
func (s *Store) Held(ctx context.Context, age time.Duration, limit int) (HeldJobs, error) {
	return core.One[HeldJobs](ctx, s.db, noJob, `SELECT extract(epoch FROM now() - max(heartbeat_at))::float8 AS heartbeat_age,
			ARRAY(SELECT id FROM jobs WHERE state IN `+heldJobs+` AND heartbeat_at < now() - $1::interval
				ORDER BY heartbeat_at LIMIT $2) AS stuck
		FROM jobs WHERE state IN `+heldJobs, age, limit)
}

// LiveJob is a live job as the reconciler compares it with Temporal.
type LiveJob struct {
	ID                int64                   `db:"id"`
	IdempotencyKey    string                  `db:"idempotency_key"`
	UserID            int64                   `db:"user_id"`
	State             lifecycle.DeliveryState `db:"state"`
	WorkflowStartedAt *time.Time              `db:"workflow_started_at"`
	HeartbeatAge      *float64                `db:"heartbeat_age"` // seconds
}

const liveColumns = `id, idempotency_key, user_id, state, workflow_started_at,
	extract(epoch FROM now() - heartbeat_at)::float8 AS heartbeat_age`

// WorkflowID is the id of the workflow that drives the job.
func (j LiveJob) WorkflowID() string { return Job{IdempotencyKey: j.IdempotencyKey}.WorkflowID() }

// LiveOf returns the live jobs with these ids created at least age ago. Served by the primary key.
func (s *Store) LiveOf(ctx context.Context, age time.Duration, ids []string) ([]LiveJob, error) {
	return core.List[LiveJob](ctx, s.db, `SELECT `+liveColumns+` FROM jobs
		WHERE id = ANY ($1::text[]::bigint[]) AND state IN `+liveJobs+` AND created_at < now() - $2::interval`, ids, age)
}

// Unstarted lists live jobs whose workflow was never started, created at least age ago, with ids above after,
// ascending. Served by the index jobs_unstarted.
func (s *Store) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveJob, error) {
	return core.List[LiveJob](ctx, s.db, `SELECT `+liveColumns+` FROM jobs
		WHERE workflow_started_at IS NULL AND state IN `+liveJobs+` AND id > $1 AND created_at < now() - $2::interval
		ORDER BY id LIMIT $3`, after, age, limit)
}

// Live lists live jobs created at least age ago, with ids above after, ascending.
func (s *Store) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveJob, error) {
	return core.List[LiveJob](ctx, s.db, `SELECT `+liveColumns+` FROM jobs
		WHERE state IN `+liveJobs+` AND id > $1 AND created_at < now() - $2::interval
		ORDER BY id LIMIT $3`, after, age, limit)
}
