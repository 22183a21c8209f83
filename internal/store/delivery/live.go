package delivery

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// DrivenDeliveries returns deliveries by the keys of their workflows. The unique index on idempotency_key serves it.
func (s *Store) DrivenDeliveries(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return s.db.DrivenByHash(ctx, keys, `SELECT idempotency_key AS key, id::text AS entity, state IN `+endedJobs+` AS over,
		now() - updated_at AS changed FROM jobs WHERE idempotency_key = ANY ($1::text[])`)
}

// StuckJobs lists held jobs whose heartbeat is older than age.
func (s *Store) StuckJobs(ctx context.Context, age time.Duration, limit int) ([]Job, error) {
	return core.List[Job](ctx, s.db, jobSelect+`WHERE state IN `+heldJobs+`
		AND heartbeat_at < now() - $1::interval ORDER BY heartbeat_at LIMIT $2`, age, limit)
}

// HeartbeatAge returns the age of the youngest heartbeat of a held job, in seconds; nil: no job is held.
func (s *Store) HeartbeatAge(ctx context.Context) (*float64, error) {
	return core.Value[*float64](ctx, s.db, `SELECT extract(epoch FROM now() - max(heartbeat_at))::float8 FROM jobs
		WHERE state IN `+heldJobs)
}

// LiveJob is a live job as the reconciler compares it with Temporal.
type LiveJob struct {
	ID                int64                   `db:"id"`
	IdempotencyKey    string                  `db:"idempotency_key"`
	UserID            int64                   `db:"user_id"`
	Claim             int                     `db:"claim"`
	State             lifecycle.DeliveryState `db:"state"`
	WorkflowStartedAt *time.Time              `db:"workflow_started_at"`
	HeartbeatAge      *float64                `db:"heartbeat_age"` // seconds
}

const liveColumns = `id, idempotency_key, user_id, claim, state, workflow_started_at,
	extract(epoch FROM now() - heartbeat_at)::float8 AS heartbeat_age`

// WorkflowID is the id of the workflow that drives the job.
func (j LiveJob) WorkflowID() string { return Job{IdempotencyKey: j.IdempotencyKey}.WorkflowID() }

// LiveJobs lists live jobs that were created at least age ago, with ids above after, ascending.
func (s *Store) LiveJobs(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveJob, error) {
	return core.List[LiveJob](ctx, s.db, `SELECT `+liveColumns+` FROM jobs
		WHERE state IN `+liveJobs+` AND id > $1 AND created_at < now() - $2::interval
		ORDER BY id LIMIT $3`, after, age, limit)
}
