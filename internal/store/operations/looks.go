package operations

import (
	"context"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Mark is a moment, with the position before which each event was visible then.
type Mark struct {
	At  time.Time `db:"at"`
	XID uint64    `db:"xid"`
}

// Look is one look of the reconciler at what is new.
type Look struct {
	Began Mark
	Since Mark // what came before it was looked at already
}

var noMark = fault.New(fault.Internal, "PostgreSQL gives no position")

// BeginLook returns what the next look covers: what came after the newest mark that is at least overlap old, because
// Temporal's lists lag. Without a mark that is younger than furthest, which is so at first and after a long outage, it
// covers the workflows that closed within half of that time, and the last thousand events. The index on (xid, id) finds
// them.
func (s *Store) BeginLook(ctx context.Context, overlap, furthest time.Duration) (look Look, err error) {
	look.Began, err = core.One[Mark](ctx, s.db, noMark, `SELECT now() AS at, (`+core.Horizon+`)::text::bigint AS xid`)
	if err != nil {
		return look, err
	}

	marks, err := core.List[Mark](ctx, s.db, `SELECT at, xid::text::bigint AS xid FROM reconciler_marks
		WHERE at BETWEEN $1::timestamptz - $3::interval AND $1 - $2::interval ORDER BY at DESC LIMIT 1`, look.Began.At, overlap, furthest)
	if err != nil {
		return look, err
	}
	if len(marks) > 0 {
		look.Since = marks[0]
		return look, nil
	}

	look.Since.At = look.Began.At.Add(-furthest / 2)
	look.Since.XID, err = core.Value[uint64](ctx, s.db, `SELECT coalesce((SELECT xid::text::bigint FROM events e
		ORDER BY e.xid DESC, e.id DESC OFFSET 1000 LIMIT 1), 0)`)
	if err != nil {
		return look, err
	}
	return look, s.addMark(ctx, look.Since)
}

// EndLook records that a look has covered all until it began. Older marks than the one where it began are not needed any
// more.
func (s *Store) EndLook(ctx context.Context, look Look) error {
	if err := s.addMark(ctx, look.Began); err != nil {
		return err
	}
	return s.db.Do(ctx, `DELETE FROM reconciler_marks WHERE at < $1`, look.Since.At)
}

func (s *Store) addMark(ctx context.Context, mark Mark) error {
	return s.db.Do(ctx, `INSERT INTO reconciler_marks (at, xid) VALUES ($1, $2::text::xid8) ON CONFLICT DO NOTHING`,
		mark.At, core.Cursor{XID: mark.XID}.XIDText())
}

// ChangedEntity is an entity of a workload with an event, and the event's position.
type ChangedEntity struct {
	XID      uint64 `db:"xid"`
	ID       int64  `db:"id"`
	Workload string `db:"workload"`
	Entity   string `db:"entity_id"`
}

// ChangedEntities lists the entities of workloads with events after the cursor, an entry for each event. It does not stop
// at events that may become visible later: whoever continues from a mark meets them. The index on (xid, id) serves it.
func (s *Store) ChangedEntities(ctx context.Context, after core.Cursor, limit int) ([]ChangedEntity, error) {
	return core.Chosen[ChangedEntity](ctx, s.db, `SELECT xid::text::bigint AS xid, id, workload, entity_id FROM events
		WHERE (xid, id) > ($1::text::xid8, $2) AND workload = ANY ($3::text[]) ORDER BY events.xid, events.id LIMIT $4`,
		after.XIDText(), after.ID, lifecycle.Names(), limit)
}

// Unsettled lists live rows that the reconciler could not settle, those first that wait longest for the next try. There
// are few.
func (s *Store) Unsettled(ctx context.Context, workload string, limit int) ([]string, error) {
	return core.Values[string](ctx, s.db, `SELECT entity FROM reconciler_unsettled WHERE workload = $1 ORDER BY tried_at, entity LIMIT $2`,
		workload, limit)
}

// NoteUnsettled records the entities that a try has left unsettled, and removes the others that it had.
func (s *Store) NoteUnsettled(ctx context.Context, workload string, tried, left []string) error {
	tried = slices.DeleteFunc(slices.Clone(tried), func(entity string) bool { return slices.Contains(left, entity) })
	return s.db.Do(ctx, `WITH settled AS (DELETE FROM reconciler_unsettled WHERE workload = $1 AND entity = ANY ($2::text[]))
		INSERT INTO reconciler_unsettled (workload, entity) SELECT $1, e FROM unnest($3::text[]) e
		ON CONFLICT (workload, entity) DO UPDATE SET tried_at = now()`, workload, tried, left)
}

// Comparison is the last comparison of all live rows of a workload with all its running workflows.
type Comparison struct {
	Workload string    `db:"workload"`
	BeganAt  time.Time `db:"began_at"`
	Live     int       `db:"live"`    // rows
	Running  int       `db:"running"` // workflows
}

// SaveComparison replaces a workload's last comparison.
func (s *Store) SaveComparison(ctx context.Context, c Comparison) error {
	return s.db.Do(ctx, `INSERT INTO reconciler_comparisons (workload, began_at, live, running) VALUES ($1, $2, $3, $4)
		ON CONFLICT (workload) DO UPDATE SET began_at = excluded.began_at, live = excluded.live, running = excluded.running`,
		c.Workload, c.BeganAt, int64(c.Live), int64(c.Running))
}

// Comparisons returns the last comparison of each workload.
func (s *Store) Comparisons(ctx context.Context) ([]Comparison, error) {
	return core.List[Comparison](ctx, s.db, `SELECT workload, began_at, live, running FROM reconciler_comparisons ORDER BY workload`)
}
