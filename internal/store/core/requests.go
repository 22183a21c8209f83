package core

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Asked is the request behind a change. A request is decided once, for as long as its entity exists: a repeated update,
// a reset that reapplies updates, a retried activity or a second click changes nothing.
type Asked struct {
	ID      string // of the update; empty: the system acts, and checks itself whether that is still needed
	Content string // the request's content, which must be the same for the same id

	More func(read *pgx.Batch) // queues more reads under the lock; nil: none
}

// ReadAdmin returns an Asked.More that reads whether the requesting user is an administrator, who may act on others'
// entities.
func ReadAdmin(user int64, admin *bool) func(read *pgx.Batch) {
	return func(read *pgx.Batch) {
		read.Queue(`SELECT EXISTS (SELECT FROM users u WHERE u.id = $1 AND u.role = 'ADMIN' AND `+ActiveUser+`)`, user).
			QueryRow(func(row pgx.Row) error { return row.Scan(admin) })
	}
}

// keyOf is the stored form of an id or a content, which may quote people.
func keyOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:16]
}

// decided is an earlier decision about a request.
type decided struct {
	known   bool
	refusal error // nil: it was granted and carried out
}

func refusedBefore(code fault.Code) error { return fault.New(code, "this request was refused before") }

// queueDecided reads the earlier decision about a request.
func (a Asked) queueDecided(read *pgx.Batch, workload, entity string, found *decided) {
	read.Queue(`SELECT refusal, asked = $4 FROM requests WHERE workload = $1 AND entity_id = $2 AND request = $3`,
		workload, entity, keyOf(a.ID), keyOf(a.Content)).QueryRow(func(row pgx.Row) error {
		var code fault.Code
		var same bool
		err := row.Scan(&code, &same)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case !same:
			found.refusal = usedForAnother()
		case code != "":
			found.refusal = refusedBefore(code)
		}
		found.known = true
		return err
	})
}

// queueGranted records that a request was granted, in the transaction that carries it out. seq is the number of the
// entity's newest event.
func (a Asked) queueGranted(write *pgx.Batch, workload, entity string, seq int64) {
	write.Queue(`INSERT INTO requests (workload, entity_id, request, asked, seq) VALUES ($1, $2, $3, $4, $5)`,
		workload, entity, keyOf(a.ID), keyOf(a.Content), seq)
}

// keepRefusal records that a request was refused, after its transaction was rolled back, and returns the decision: the
// same request may have been granted in between.
func (a Asked) keepRefusal(ctx context.Context, db *DB, workload, entity string, refusal *fault.Error) error {
	code, err := Value[fault.Code](ctx, db, `INSERT INTO requests (workload, entity_id, request, asked, refusal) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workload, entity_id, request) DO UPDATE SET refusal = requests.refusal RETURNING refusal`,
		workload, entity, keyOf(a.ID), keyOf(a.Content), refusal.Code)
	switch {
	case err != nil || code == "":
		return err
	case code == refusal.Code:
		return refusal
	default:
		return refusedBefore(code)
	}
}
