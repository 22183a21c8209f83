package notice

import (
	"context"
	"slices"
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

type Incident struct {
	ID         int64      `db:"id"`
	Kind       string     `db:"kind"`
	OpenedAt   time.Time  `db:"opened_at"`
	ResolvedAt *time.Time `db:"resolved_at"` // nil: open
}

// Kinds of alerts other than those of the workloads.
const (
	AlertStorageToken   = "storage_token_invalid"
	AlertTokenEnding    = "storage_token_expiring" // and it is not renewed automatically
	AlertTelegramToken  = "telegram_token_invalid"
	AlertTelegramFolder = "telegram_folder_unreadable" // by its server

	AlertQueue        = "queue_overflow"      // too many tasks wait, or wait too long
	AlertNoWorker     = "workers_silent"      // no worker has a recent heartbeat
	AlertStorageAway  = "storage_unreachable" // for a long time
	AlertFindings     = "reconciler_findings" // one or many within minutes
	AlertTemporalAway = "temporal_unreachable"
	AlertDatabaseAway = "database_unreachable" // sent once it is available again
	AlertNoWrites     = "database_takes_no_writes"
)

// Alerts lists the kinds of alerts that belong to no workload.
var Alerts = []core.AlertKind{
	{Name: AlertStorageToken, Severity: core.Page},
	{Name: AlertTokenEnding, Severity: core.Warn},
	{Name: AlertTelegramToken, Severity: core.Page},
	{Name: AlertTelegramFolder, Severity: core.Page},
	{Name: AlertQueue, Severity: core.Warn},
	{Name: AlertNoWorker, Severity: core.Page},
	{Name: AlertStorageAway, Severity: core.Warn},
	{Name: AlertFindings, Severity: core.Warn},
	{Name: AlertTemporalAway, Severity: core.Page},
	{Name: AlertDatabaseAway, Severity: core.Page},
	{Name: AlertNoWrites, Severity: core.Page},
}

// AlertCalm is how long an incident must be over before its end is sent. An incident that recurs sooner is the same
// one: nothing is sent.
const AlertCalm = 5 * time.Minute

// RaiseAlert opens an incident. Does nothing while one of the same kind is open; reopens one whose end was not sent
// yet.
func (s *Store) RaiseAlert(ctx context.Context, kind string) error {
	return s.SetAlerts(ctx, []string{kind}, nil)
}

// ResolveAlert closes the open incident of a kind.
func (s *Store) ResolveAlert(ctx context.Context, kind string) error {
	return s.SetAlerts(ctx, nil, []string{kind})
}

// SetAlerts opens incidents and closes others. What the database does not accept, for example because its disk is full,
// is kept in memory and written by the next call.
func (s *Store) SetAlerts(ctx context.Context, raise, resolve []string) error {
	for _, alert := range s.Unwritten() {
		if !slices.Contains(raise, alert.Kind) {
			raise = append(slices.Clip(raise), alert.Kind)
		}
	}
	if len(raise)+len(resolve) == 0 {
		return nil
	}

	batch := &pgx.Batch{}
	if len(raise) > 0 {
		QueueAlerts(batch, raise...)
	}
	if len(resolve) > 0 {
		batch.Queue(`UPDATE alerts SET resolved_at = now() WHERE kind = ANY ($1) AND resolved_at IS NULL`, resolve)
	}
	err := core.Unavailable(s.db.SendBatch(ctx, batch).Close())

	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range raise {
		switch _, kept := s.unwritten[kind]; {
		case err == nil, slices.Contains(resolve, kind):
			delete(s.unwritten, kind)
		case !kept:
			s.unwritten[kind] = time.Now()
		}
	}
	return err
}

// Unwritten lists the open incidents that the database did not accept.
func (s *Store) Unwritten() (alerts []OpenAlert) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for kind, since := range s.unwritten {
		alerts = append(alerts, OpenAlert{Kind: kind, OpenedAt: since})
	}
	return alerts
}

// QueueAlerts opens incidents within the caller's transaction.
func QueueAlerts(batch *pgx.Batch, kinds ...string) {
	batch.Queue(`UPDATE alerts a SET resolved_at = NULL WHERE kind = ANY ($1) AND resolved_at IS NOT NULL AND over_sent_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM alerts b WHERE b.kind = a.kind AND (b.resolved_at IS NULL OR b.id > a.id))`, kinds)
	batch.Queue(`INSERT INTO alerts (kind) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING`, kinds)
}

// TakeUnsentAlerts returns unsent alerts, and ends of alerts that have lasted for calm, and marks them as sent: each is
// sent at most once. An alert that ended before it was sent is sent at once.
func (s *Store) TakeUnsentAlerts(ctx context.Context, calm time.Duration) ([]Alert, error) {
	return core.List[Alert](ctx, s.db, `WITH unsent AS (
			SELECT id, sent_at IS NULL AS begun FROM alerts
			WHERE (sent_at IS NULL OR over_sent_at IS NULL) AND (sent_at IS NULL OR resolved_at <= now() - $1::interval) FOR UPDATE
		) UPDATE alerts a SET sent_at = coalesce(sent_at, now()), over_sent_at = CASE WHEN resolved_at IS NOT NULL THEN now() END
		FROM unsent WHERE a.id = unsent.id RETURNING a.id, kind, begun, resolved_at IS NOT NULL AS over`, calm)
}

// Incidents lists incidents with ids below before (0: all), newest first; open: only open ones. Served by the key and
// alerts_open.
func (s *Store) Incidents(ctx context.Context, open bool, before int64, limit int) ([]Incident, error) {
	return core.Chosen[Incident](ctx, s.db, `SELECT id, kind, opened_at, resolved_at FROM alerts
		WHERE (NOT $1::boolean OR resolved_at IS NULL) AND ($2::bigint = 0 OR id < $2) ORDER BY id DESC LIMIT $3`, open, before, limit)
}
