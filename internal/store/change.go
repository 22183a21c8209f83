package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
)

// workload is what the one function that changes rows must know of a workload.
type workload[R any, S, A ~string, F any] struct {
	table lifecycle.Table[S, A, F]
	state func(*R) *S
	facts func(R) F
	none  error // there is no such row

	lock  string                                                   // the statement that reads and locks a row by its id
	queue func(batch *pgx.Batch, before S, row *R, events []Event) // writes row, events and what follows from them
}

// Step is one action of a walk, with what it leaves in the event. Without roles it is the system's.
type Step[S, A ~string] struct {
	Action  A
	To      S // chooses among rules of one action; empty: any
	Roles   []lifecycle.Role
	Actor   *int64
	Comment string
}

// Walk leads a locked row through its workload's table, one rule after the other. The fields of the row may be edited
// on the way; its state is the walk's alone.
type Walk[R any, S, A ~string, F any] struct {
	Row    *R
	of     *workload[R, S, A, F]
	events []Event
	state  S
}

// errOutsideOfTable is a fault of the program: a state was set without a rule.
var errOutsideOfTable = errors.New("a state was set without a rule of the table")

// Take does one action, if the table allows it in this state and by these facts.
func (w *Walk[R, S, A, F]) Take(step Step[S, A]) error {
	event, to, err := move(w.of.table, w.state, step, w.of.facts(*w.Row))
	if err != nil {
		return err
	}

	w.events = append(w.events, event)
	w.state, *w.of.state(w.Row) = to, to
	return nil
}

// Note records a fact that leaves the state as it is.
func (w *Walk[R, S, A, F]) Note(event string) {
	w.events = append(w.events, noteOf(w.state, event))
}

// Terminal says whether the row has its end.
func (w *Walk[R, S, A, F]) Terminal() bool { return w.of.table.Terminal(w.state) }

// move asks a table where a step leads, and gives the event that it leaves. Every state that a row is given comes from
// here.
func move[S, A ~string, F any](table lifecycle.Table[S, A, F], from S, step Step[S, A], facts F) (Event, S, error) {
	roles := step.Roles
	if len(roles) == 0 {
		roles = []lifecycle.Role{lifecycle.System}
	}

	rule, err := table.Decide(from, lifecycle.Request[S, A]{Action: step.Action, To: step.To, Roles: roles}, facts)
	if err != nil {
		return Event{}, from, err
	}
	return Event{
		Type: rule.Event, From: string(from), To: string(rule.To), ActorID: step.Actor, Comment: step.Comment,
	}, rule.To, nil
}

// compare checks a step that a workflow has decided already, by the state that it knew. Its statement writes only where
// the row still is in that state and of an older version, which is the other form of change: one trip instead of two,
// for the many steps of tasks.
func compare[S, A ~string, F any](table lifecycle.Table[S, A, F], to S, e Event) error {
	if !table.Leaves(S(e.From), to, e.Type) {
		return fmt.Errorf("%w: %s leads from %q to %q", errOutsideOfTable, e.Type, e.From, to)
	}
	return nil
}

// noteOf is the event of a fact that leaves the state as it is.
func noteOf[S ~string](state S, event string) Event {
	return Event{Type: event, From: string(state), To: string(state)}
}

// change locks a row, lets decide walk it through the table, and writes row, events and what follows from them in one
// database transaction. Without an event nothing is written; an error undoes all. It gives the row as it is afterwards.
func change[R any, S, A ~string, F any](
	ctx context.Context, s *Store, of *workload[R, S, A, F], id int64, decide func(*Walk[R, S, A, F]) error,
) (row R, err error) {
	err = s.inTwoTrips(ctx, func(read *pgx.Batch) {
		read.Queue(of.lock, id).Query(func(rows pgx.Rows) (err error) {
			row, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[R])
			if errors.Is(err, pgx.ErrNoRows) {
				return of.none
			}
			return err
		})
	}, func(write *pgx.Batch) error {
		before := *of.state(&row)
		walk := &Walk[R, S, A, F]{Row: &row, of: of, state: before}
		if err := decide(walk); err != nil || len(walk.events) == 0 {
			return err
		}
		if *of.state(&row) != walk.state {
			return errOutsideOfTable
		}

		of.queue(write, before, &row, walk.events)
		return nil
	})

	return row, err
}
