package core

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
)

// Event is one transition, or another fact worth recording about an entity.
type Event struct {
	Type    string
	From    string
	To      string
	ActorID *int64 // nil: the system
	Comment string
}

// QueueEvent writes an event of an entity; owner nil: the entity has no owner.
func QueueEvent(batch *pgx.Batch, workload, entity string, seq int64, owner *int64, e Event) {
	batch.Queue(`INSERT INTO events (workload, entity_id, seq, owner_id, type, from_state, to_state, actor_id, comment)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		workload, entity, seq, owner, e.Type, e.From, e.To, e.ActorID, e.Comment)
}

type StreamedEvent struct {
	XID       uint64    `db:"xid"`
	ID        int64     `db:"id"`
	Workload  string    `db:"workload"`
	EntityID  string    `db:"entity_id"`
	Seq       int64     `db:"seq"`
	Type      string    `db:"type"`
	From      string    `db:"from_state"`
	To        string    `db:"to_state"`
	ActorID   *int64    `db:"actor_id"`
	OwnerID   *int64    `db:"owner_id"`
	Comment   string    `db:"comment"`
	CreatedAt time.Time `db:"created_at"`
}

// Cursor is a position in the event stream: after the event with this transaction and id.
type Cursor struct {
	XID uint64
	ID  int64
}

// Cursor returns the position right after the event.
func (e StreamedEvent) Cursor() Cursor { return Cursor{e.XID, e.ID} }

// Shown is the event in its public form.
func (e StreamedEvent) Shown() lifecycle.Event {
	return lifecycle.Event{
		Workload: e.Workload, EntityID: e.EntityID, OwnerID: optionalID(e.OwnerID),
		History: lifecycle.History{
			Seq: e.Seq, Type: e.Type, ActorID: optionalID(e.ActorID), From: e.From, To: e.To, Comment: e.Comment,
			CreatedAt: e.CreatedAt.UTC(),
		},
	}
}

// optionalID formats an id that may be missing.
func optionalID(id *int64) *string {
	if id == nil {
		return nil
	}
	text := strconv.FormatInt(*id, 10)
	return &text
}

// String returns the cursor as clients store it.
func (c Cursor) String() string { return fmt.Sprintf("%d-%d", c.XID, c.ID) }

// Before reports whether the position precedes another.
func (c Cursor) Before(other Cursor) bool {
	return c.XID < other.XID || c.XID == other.XID && c.ID < other.ID
}

// XIDText returns the transaction as PostgreSQL reads it: its numbers exceed bigint.
func (c Cursor) XIDText() string { return strconv.FormatUint(c.XID, 10) }

// ParseCursor parses String's format.
func ParseCursor(text string) (c Cursor, err error) {
	if _, err = fmt.Sscanf(text, "%d-%d", &c.XID, &c.ID); err != nil || c.String() != text {
		return Cursor{}, fmt.Errorf("a cursor looks like 123-45")
	}
	return c, nil
}

// EventSelect reads events; append a condition.
const EventSelect = `SELECT xid::text::bigint AS xid, id, workload, entity_id, seq, type, from_state, to_state,
	actor_id, owner_id, comment, created_at FROM events `

// EventsOfEntity lists an entity's events from the first.
func EventsOfEntity(ctx context.Context, db *DB, workload, entity string) ([]StreamedEvent, error) {
	return List[StreamedEvent](ctx, db, EventSelect+`WHERE workload = $1 AND entity_id = $2 ORDER BY seq`, workload, entity)
}

// Horizon is the position before which every event is final: each transaction of this database with a smaller number
// has ended, and what it committed is visible. It is the oldest open transaction in the snapshot that is not known to
// belong to another database; such a transaction cannot write events here, however long it lasts. Prepared
// transactions, and any that PostgreSQL does not show, count as this database's.
//
// Query it outside a transaction block, so that the list of sessions is read after the snapshot was taken. During that
// read, a server slot may pass from another database's session to one of this database; the number shown with it is
// then assigned later than the snapshot, which does not contain it. Sessions of all users are listed with their
// database and number, whatever the role may see.
const Horizon = `coalesce((SELECT x FROM pg_snapshot_xip(pg_current_snapshot()) x WHERE NOT EXISTS (SELECT 1 FROM pg_stat_activity a
		WHERE a.backend_xid = x::xid AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database()))
	ORDER BY x LIMIT 1), pg_snapshot_xmax(pg_current_snapshot()))`
