package operations

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Names of the external systems.
const (
	PostgreSQL  = "postgresql"
	Temporal    = "temporal"
	Yandex      = "yandex"
	Telegram    = "telegram"
	QBittorrent = "qbittorrent"
	Toncenter   = "toncenter"
	Fragment    = "fragment"

	Backup = "backup" // what starter backup writes to: its success is a complete backup of the record
)

// OutsideSystem is the outcome of the last calls to an external system.
type OutsideSystem struct {
	Name         string     `json:"name"`
	SucceededAt  *time.Time `json:"succeeded_at"`
	FailedAt     *time.Time `json:"failed_at"`
	Error        string     `json:"error"`         // a fault code: of the last failure
	FailingSince *time.Time `json:"failing_since"` // no success since; nil: the last call succeeded
}

// Process is a process of the service as it describes itself.
type Process struct {
	Identity  string    `db:"identity" json:"identity"` // as Temporal knows it
	Service   string    `db:"service" json:"service"`
	Version   string    `db:"version" json:"version"`
	InFlight  int       `db:"carries" json:"carries"` // activities currently running in it
	StartedAt time.Time `db:"started_at" json:"started_at"`
	HeardAt   time.Time `db:"beat_at" json:"beat_at"` // its last heartbeat
}

// processLife is how long a process without a heartbeat is remembered.
const processLife = time.Hour

// SaveHeartbeat records a process's heartbeat and the outcomes of its calls to external systems; an older outcome never
// replaces a newer one.
func (s *Store) SaveHeartbeat(ctx context.Context, p Process, seen []OutsideSystem) error {
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO processes (identity, service, version, carries, started_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (identity) DO UPDATE SET service = $2, version = $3, carries = $4, started_at = $5, beat_at = now()`,
		p.Identity, p.Service, p.Version, p.InFlight, p.StartedAt)

	if p.Service == "api" {
		batch.Queue(`INSERT INTO api_presence AS a DEFAULT VALUES ON CONFLICT (one) DO UPDATE SET beat_at = now(),
			away_since = CASE WHEN ` + core.APIAway + ` THEN a.beat_at ELSE a.away_since END,
			back_at = CASE WHEN ` + core.APIAway + ` THEN now() ELSE a.back_at END`)
	}

	for _, o := range seen {
		batch.Queue(`WITH seen AS (SELECT $1::text AS name, $2::timestamptz AS succeeded_at, $3::timestamptz AS failed_at, $4::text AS error)
			INSERT INTO outside_systems AS o (name, succeeded_at, failed_at, error, failing_since)
			SELECT name, succeeded_at, failed_at, error, CASE WHEN failed_at > coalesce(succeeded_at, '-infinity') THEN failed_at END FROM seen
			ON CONFLICT (name) DO UPDATE SET
				succeeded_at = greatest(o.succeeded_at, excluded.succeeded_at), failed_at = greatest(o.failed_at, excluded.failed_at),
				error = CASE WHEN excluded.failed_at >= coalesce(o.failed_at, '-infinity') THEN excluded.error ELSE o.error END,
				failing_since = CASE WHEN greatest(o.failed_at, excluded.failed_at) > coalesce(greatest(o.succeeded_at, excluded.succeeded_at), '-infinity')
					THEN coalesce(CASE WHEN o.failing_since > coalesce(excluded.succeeded_at, '-infinity') THEN o.failing_since END, excluded.failed_at) END`,
			o.Name, o.SucceededAt, o.FailedAt, o.Error)
	}

	batch.Queue(`DELETE FROM processes WHERE beat_at < now() - $1::interval`, processLife)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// ForgetProcess deletes a process that is ending.
func (s *Store) ForgetProcess(ctx context.Context, identity string) error {
	return s.db.Do(ctx, `DELETE FROM processes WHERE identity = $1`, identity)
}
