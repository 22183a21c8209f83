package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// Workload is what Change needs to know about a workload.
type Workload[R any, S, A ~string, F any] struct {
	Name  string
	Table lifecycle.Table[S, A, F]
	None  error // the error if there is no such row

	// Lock has statements that take the row's id. They lock, in this order, what a change needs; the last one reads the
	// row.
	Lock    []string
	Entity  func(*R) Entity[S]
	Facts   func(*R) F
	Effects map[A]func(*R, Step[S, A])             // each action's effect on the row, besides its state
	Write   func(batch *pgx.Batch, before S, r *R) // writes the row and what follows from its change

	// Notice reports whether the owner is notified of an event, and how long that notification waits for others to join
	// it; nil: of none.
	Notice func(*R, Event) (wait time.Duration, told bool)
}

// Entity holds the fields that every row has.
type Entity[S ~string] struct {
	ID      string
	Owner   *int64
	State   *S
	Version *int64 // the number of the last event
}

// Step is one action of a walk, with the fields of its event. A step without roles is the system's.
type Step[S, A ~string] struct {
	Action  A
	To      S // selects among the rules of one action; empty: any
	Roles   []lifecycle.Role
	Actor   *int64
	Comment string
}

// Walk moves a locked row through its workload's table, rule by rule. The row's fields may be edited in between, but
// only the walk sets its state.
type Walk[R any, S, A ~string, F any] struct {
	Row    *R
	of     *Workload[R, S, A, F]
	DB     Session // of the database transaction
	state  S
	events []Event
	Edited bool // the row is written even without an event

	Then func(write *pgx.Batch) error // queues statements that need the final row, even an unchanged one; nil: none
}

// Session is a connection with an open database transaction.
type Session interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}

// errOutsideOfTable is a programming error: a state was set without a rule.
var errOutsideOfTable = errors.New("a state was set without a rule of the table")

// Take performs one action, with its effect on the row, if the table allows it in this state and with these facts.
func (w *Walk[R, S, A, F]) Take(step Step[S, A]) error {
	rule, err := ruleFor(w.of.Table, w.state, step, w.of.Facts(w.Row))
	if err != nil {
		return err
	}
	w.Follow(rule, step)
	return nil
}

// Follow performs a step by the rule under which the table allowed it to the caller, for this row. A rule without an
// event changes nothing.
func (w *Walk[R, S, A, F]) Follow(rule lifecycle.Rule[S, A, F], step Step[S, A]) {
	if rule.Event == "" {
		return
	}

	w.events = append(w.events, step.event(w.state, rule.To, rule.Event))
	w.state, *w.of.Entity(w.Row).State = rule.To, rule.To
	if effect := w.of.Effects[step.Action]; effect != nil {
		effect(w.Row, step)
	}
}

// Note records an event that leaves the state unchanged.
func (w *Walk[R, S, A, F]) Note(event string) { w.NoteWhy(event, "") }

// NoteWhy is Note with a comment.
func (w *Walk[R, S, A, F]) NoteWhy(event, comment string) {
	w.events = append(w.events, Event{Type: event, From: string(w.state), To: string(w.state), Comment: comment})
}

// Terminal reports whether the row has ended.
func (w *Walk[R, S, A, F]) Terminal() bool { return w.of.Table.Terminal(w.state) }

// Move returns a step's next state and event by a table. Every state of a row comes from here or from a walk; the first
// state has no predecessor.
func Move[S, A ~string, F any](table lifecycle.Table[S, A, F], from S, step Step[S, A], facts F) (Event, S, error) {
	rule, err := ruleFor(table, from, step, facts)
	if err != nil {
		return Event{}, from, err
	}
	return step.event(from, rule.To, rule.Event), rule.To, nil
}

// ruleFor returns the rule under which a table allows a step.
func ruleFor[S, A ~string, F any](
	table lifecycle.Table[S, A, F], from S, step Step[S, A], facts F,
) (lifecycle.Rule[S, A, F], error) {
	roles := step.Roles
	if len(roles) == 0 {
		roles = []lifecycle.Role{lifecycle.System}
	}
	return table.Decide(from, lifecycle.Request[S, A]{Action: step.Action, To: step.To, Roles: roles}, facts)
}

// event is the event of a step from one state to another.
func (step Step[S, A]) event(from, to S, kind string) Event {
	return Event{
		Type: kind, From: string(from), To: string(to), ActorID: step.Actor, Comment: step.Comment,
	}
}

// Compare checks the first event of a row to be created.
func Compare[S, A ~string, F any](table lifecycle.Table[S, A, F], to S, e Event) error {
	if !table.Leaves(S(e.From), to, e.Type) {
		return fmt.Errorf("%w: %s leads from %q to %q", errOutsideOfTable, e.Type, e.From, to)
	}
	return nil
}

// Change locks a row, lets decide walk it through the table, and writes the row, its events and what follows from them
// in one database transaction. Without an event the row is not written; an error rolls back everything. It returns the
// updated row.
func Change[R any, S, A ~string, F any](
	ctx context.Context, db *DB, of *Workload[R, S, A, F], id any, decide func(*Walk[R, S, A, F]) error,
) (row R, err error) {
	return ChangeFor(ctx, db, of, id, Asked{}, decide)
}

// ChangeFor is Change for a request. If the request was decided before, nothing changes: the result is its refusal, or
// the row as it is now.
func ChangeFor[R any, S, A ~string, F any](
	ctx context.Context, db *DB, of *Workload[R, S, A, F], id any, asked Asked, decide func(*Walk[R, S, A, F]) error,
) (row R, err error) {
	entity, before := fmt.Sprint(id), decided{}
	err = db.InTwoTrips(ctx, func(read *pgx.Batch) {
		of.queueLock(read, id, &row)
		if asked.ID != "" {
			asked.queueDecided(read, of.Name, entity, &before)
		}
		if asked.More != nil {
			asked.More(read)
		}
	}, func(db Session, write *pgx.Batch) error {
		if before.known {
			return nil
		}
		err := of.lead(db, write, &row, decide)
		if err == nil && asked.ID != "" {
			asked.queueGranted(write, of.Name, entity, *of.Entity(&row).Version)
		}
		return err
	})

	refusal := fault.As(err)
	forEver := refusal != nil && !refusal.Retryable && refusal.Code != fault.Internal // not only temporarily
	switch {
	case before.known && err == nil:
		return row, before.refusal
	case asked.ID != "" && forEver && !errors.Is(err, of.None):
		return row, asked.keepRefusal(ctx, db, of.Name, entity, refusal)
	default:
		return row, err
	}
}

// ChangeIn is Change within an open database transaction.
func ChangeIn[R any, S, A ~string, F any](
	ctx context.Context, db Session, of *Workload[R, S, A, F], id any, decide func(*Walk[R, S, A, F]) error,
) (row R, err error) {
	read, write := &pgx.Batch{}, &pgx.Batch{}
	of.queueLock(read, id, &row)
	if err := db.SendBatch(ctx, read).Close(); err != nil {
		return row, err
	}
	if err := of.lead(db, write, &row, decide); err != nil {
		return row, err
	}
	return row, db.SendBatch(ctx, write).Close()
}

// queueLock locks a row and everything else that a change needs, and reads the row.
func (of *Workload[R, S, A, F]) queueLock(read *pgx.Batch, id any, row *R) {
	last := len(of.Lock) - 1
	for _, statement := range of.Lock[:last] {
		read.Queue(statement, id)
	}

	read.Queue(of.Lock[last], id).Query(func(rows pgx.Rows) (err error) {
		*row, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[R])
		if errors.Is(err, pgx.ErrNoRows) {
			return of.None
		}
		return err
	})
}

// lead lets decide walk a locked row, and queues the result.
func (of *Workload[R, S, A, F]) lead(
	db Session, write *pgx.Batch, row *R, decide func(*Walk[R, S, A, F]) error,
) error {
	before := *of.Entity(row).State
	walk := &Walk[R, S, A, F]{Row: row, of: of, DB: db, state: before}
	if err := decide(walk); err != nil {
		return err
	}
	if *of.Entity(row).State != walk.state {
		return errOutsideOfTable
	}

	for _, event := range walk.events {
		of.queueEvent(write, row, event)
	}
	if len(walk.events) > 0 || walk.Edited {
		of.Write(write, before, row)
	}

	if walk.Then == nil {
		return nil
	}
	return walk.Then(write)
}

// queueEvent writes the row's next event, and plans its owner's notification.
func (of *Workload[R, S, A, F]) queueEvent(write *pgx.Batch, row *R, event Event) {
	entity := of.Entity(row)
	*entity.Version++
	QueueEvent(write, of.Name, entity.ID, *entity.Version, entity.Owner, event)

	if of.Notice == nil || entity.Owner == nil {
		return
	}
	if wait, told := of.Notice(row, event); told {
		QueueNotice(write, of.Name, entity.ID, *entity.Version, *entity.Owner, event.ActorID, wait)
	}
}

// Joins is when user u is notified of an entity of workload $1: together with notifications already waiting, else after
// $3.
func Joins(entity string) string {
	return `coalesce((SELECT min(n.due_at) FROM news n WHERE n.user_id = u.id AND n.workload = $1 AND n.entity_id = ` + entity + `
		AND n.state = 'due'), now() + $3::interval)`
}

// QueueNotice plans one person's notification of an event, together with the event itself. A person who has no chat, or
// who caused the event, is not notified. The notification joins the person's waiting ones about the entity, else it is
// due after gather.
func QueueNotice(batch *pgx.Batch, workload, entity string, seq, user int64, actor *int64, gather time.Duration) {
	batch.Queue(`INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT u.id, $1, $2, $4, `+Joins(`$2`)+` FROM users u
		WHERE u.id = $5 AND u.telegram_id IS NOT NULL AND u.id IS DISTINCT FROM $6 ON CONFLICT DO NOTHING`,
		workload, entity, gather, seq, user, actor)
}
