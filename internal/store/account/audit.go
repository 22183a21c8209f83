package account

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// Interfaces from which a request came.
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

// AuditEntry is one privileged attempt: refused, or carried out by an administrator.
type AuditEntry struct {
	ID        int64     `db:"id"`
	ActorID   *int64    `db:"actor_id"`
	Action    string    `db:"action"`
	Subject   string    `db:"subject"` // an entity's id, "user/7"
	Outcome   string    `db:"outcome"`
	Door      string    `db:"door"`
	Count     int64     `db:"count"`  // refusals within the same minute; 1 for a completed action
	Detail    string    `db:"detail"` // more about the outcome: what ended with a token
	CreatedAt time.Time `db:"created_at"`
}

// Audit writes an entry. Refusals with the same actor, action, door and minute share one.
func (s *Store) Audit(ctx context.Context, e AuditEntry) error {
	return s.db.Do(ctx, `INSERT INTO audit_log (actor_id, action, subject, outcome, door, detail) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (date_bin('1 minute', created_at, 'epoch'), actor_id, action, door) WHERE outcome = `+core.Literal(OutcomeRefused)+`
		DO UPDATE SET count = audit_log.count + 1`,
		e.ActorID, e.Action, e.Subject, e.Outcome, e.Door, e.Detail)
}

// AuditLog lists entries below before (0: all), newest first.
func (s *Store) AuditLog(ctx context.Context, before int64, limit int) ([]AuditEntry, error) {
	return core.Chosen[AuditEntry](ctx, s.db, `SELECT id, actor_id, action, subject, outcome, door, count, detail, created_at FROM audit_log
		WHERE ($1::bigint = 0 OR id < $1) ORDER BY id DESC LIMIT $2`, before, limit)
}
