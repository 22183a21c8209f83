package account

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// Origins of a request.
const (
	DoorBot    = "bot"
	DoorHTTP   = "http"
	DoorCLI    = "cli" // the temporal program
	DoorSystem = "system"
)

// Outcomes of an audited attempt.
const (
	OutcomeDone    = "done"
	OutcomeRefused = "refused"
)

// AuditEntry is one privileged attempt: refused, or done by an administrator.
type AuditEntry struct {
	ID        int64     `db:"id"`
	ActorID   *int64    `db:"actor_id"`
	Action    string    `db:"action"`
	Subject   string    `db:"subject"` // an entity's id, "user/7"
	Outcome   string    `db:"outcome"`
	Door      string    `db:"door"`
	Detail    string    `db:"detail"` // more about the outcome: what has ended with a token
	CreatedAt time.Time `db:"created_at"`
}

// Audit writes an entry.
func (s *Store) Audit(ctx context.Context, e AuditEntry) error {
	return s.db.Do(ctx, `INSERT INTO audit_log (actor_id, action, subject, outcome, door, detail) VALUES ($1, $2, $3, $4, $5, $6)`,
		e.ActorID, e.Action, e.Subject, e.Outcome, e.Door, e.Detail)
}

// AuditLog lists entries below before (0: all), the newest first.
func (s *Store) AuditLog(ctx context.Context, before int64, limit int) ([]AuditEntry, error) {
	return core.Chosen[AuditEntry](ctx, s.db, `SELECT id, actor_id, action, subject, outcome, door, detail, created_at FROM audit_log
		WHERE ($1::bigint = 0 OR id < $1) ORDER BY id DESC LIMIT $2`, before, limit)
}
