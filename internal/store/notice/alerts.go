package notice

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Alert is one incident. The administrators are notified once when it begins and once when it is over.
type Alert struct {
	ID    int64  `db:"id"`
	Kind  string `db:"kind"`
	Begun bool   `db:"begun"` // no notification was sent before
	Over  bool   `db:"over"`
}

// OpenAlert is an incident that is not over.
type OpenAlert struct {
	Kind     string    `json:"kind"`
	OpenedAt time.Time `json:"opened_at"`
}

// Incident is an incident, open or over.
type Incident struct {
	ID         int64      `db:"id"`
	Kind       string     `db:"kind"`
	OpenedAt   time.Time  `db:"opened_at"`
	ResolvedAt *time.Time `db:"resolved_at"` // nil: it is open
}

// Kinds of alerts besides those of the workloads.
const (
	AlertStorageToken  = "storage_token_invalid"
	AlertTokenEnding   = "storage_token_expiring" // and it is not renewed automatically
	AlertTelegramToken = "telegram_token_invalid"

	AlertQueue        = "queue_overflow"      // too many tasks wait, or for too long
	AlertNoWorker     = "workers_silent"      // no worker has a recent heartbeat
	AlertStorageAway  = "storage_unreachable" // for long
	AlertFindings     = "reconciler_findings" // one or many within minutes
	AlertTemporalAway = "temporal_unreachable"
	AlertDatabaseAway = "database_unreachable" // sent when it is back
)

// Alerts lists the kinds of alerts that belong to no workload.
var Alerts = []string{
	AlertStorageToken, AlertTokenEnding, AlertTelegramToken, AlertQueue, AlertNoWorker, AlertStorageAway, AlertFindings,
	AlertTemporalAway, AlertDatabaseAway,
}

// AlertCalm is how long an incident has to be over before its end is sent. An incident that comes back sooner is the
// same one: nothing is sent.
const AlertCalm = 5 * time.Minute

// RaiseAlert opens an incident. While one of the same kind is open it changes nothing; one whose end was not sent yet
// is opened again.
func (s *Store) RaiseAlert(ctx context.Context, kind string) error {
	return s.SetAlerts(ctx, []string{kind}, nil)
}

// ResolveAlert closes the open incident of a kind.
func (s *Store) ResolveAlert(ctx context.Context, kind string) error {
	return s.SetAlerts(ctx, nil, []string{kind})
}

// SetAlerts opens incidents and closes others.
func (s *Store) SetAlerts(ctx context.Context, raise, resolve []string) error {
	batch := &pgx.Batch{}
	if len(raise) > 0 {
		QueueAlerts(batch, raise...)
	}
	if len(resolve) > 0 {
		batch.Queue(`UPDATE alerts SET resolved_at = now() WHERE kind = ANY ($1) AND resolved_at IS NULL`, resolve)
	}
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// QueueAlerts opens incidents within the caller's transaction.
func QueueAlerts(batch *pgx.Batch, kinds ...string) {
	batch.Queue(`UPDATE alerts a SET resolved_at = NULL WHERE kind = ANY ($1) AND resolved_at IS NOT NULL AND over_sent_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM alerts b WHERE b.kind = a.kind AND (b.resolved_at IS NULL OR b.id > a.id))`, kinds)
	batch.Queue(`INSERT INTO alerts (kind) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`, kinds)
}

// TakeUnsentAlerts returns alerts that were not sent, and ends of alerts that have lasted for calm, and marks them as
// sent: each is sent at most once. An alert that was over before it was sent is sent at once.
func (s *Store) TakeUnsentAlerts(ctx context.Context, calm time.Duration) ([]Alert, error) {
	return core.List[Alert](ctx, s.db, `WITH unsent AS (
			SELECT id, sent_at IS NULL AS begun FROM alerts
			WHERE (sent_at IS NULL OR over_sent_at IS NULL) AND (sent_at IS NULL OR resolved_at <= now() - $1::interval) FOR UPDATE
		) UPDATE alerts a SET sent_at = coalesce(sent_at, now()), over_sent_at = CASE WHEN resolved_at IS NOT NULL THEN now() END
		FROM unsent WHERE a.id = unsent.id RETURNING a.id, kind, begun, resolved_at IS NOT NULL AS over`, calm)
}

// Incidents lists incidents with ids below before (0: all), the newest first; open: only those that are not over. The
// key serves it, and alerts_open.
func (s *Store) Incidents(ctx context.Context, open bool, before int64, limit int) ([]Incident, error) {
	return core.Chosen[Incident](ctx, s.db, `SELECT id, kind, opened_at, resolved_at FROM alerts
		WHERE (NOT $1::boolean OR resolved_at IS NULL) AND ($2::bigint = 0 OR id < $2) ORDER BY id DESC LIMIT $3`, open, before, limit)
}
