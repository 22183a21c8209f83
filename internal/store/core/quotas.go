package core

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Quotas bound what one user may have at a time, by the names of the quotas; none, or 0: no bound. Administrators are
// not bound. Who has more already, because a bound was lowered, keeps it.
type Quotas map[string]int

// Quota is one kind of things that are bounded.
type Quota struct {
	Name    string // in details of QUOTA_EXCEEDED
	Things  string // SQL after SELECT 1: the things of user %s (of members: of workspace %s)
	Above   string // user_id and count of those above $1, by the indexes that the check of room uses
	Maximum int    // 0: no bound
}

// Of gives a quota with its bound.
func (q Quotas) Of(kind Quota) Quota {
	kind.Maximum = q[kind.Name]
	return kind
}

// Room is true, in SQL, while a user may have n more of a kind: the parameter at place by is who asks, the one at place
// of is whose things are counted. It looks at no more rows than the bound. The lock of queueLock must be held: else two
// see the same room.
func (q Quota) Room(by, of, n int) string {
	if q.Maximum == 0 {
		return `true`
	}
	counted := fmt.Sprintf(q.Things, fmt.Sprintf("$%d::bigint", of))
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM users WHERE id = $%d AND role = 'ADMIN' AND status = 'ACTIVE')
		OR %t AND NOT EXISTS (SELECT 1 %s OFFSET %d LIMIT 1))`, by, n <= q.Maximum, counted, max(0, q.Maximum-n))
}

// QueueLock makes all who want more of a kind for the same user (or workspace) wait for each other until their
// transactions end. Each statement after it sees what those before have made.
func (q Quota) QueueLock(batch *pgx.Batch, of int64) {
	if q.Maximum > 0 {
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, fmt.Sprintf("quota/%s/%d", q.Name, of))
	}
}

// Check refuses n more of a kind that do not fit, and keeps their room until the transaction ends.
func (q Quota) Check(ctx context.Context, tx pgx.Tx, userID int64, n int) error {
	if q.Maximum == 0 {
		return nil
	}

	batch, room := &pgx.Batch{}, false
	q.QueueLock(batch, userID)
	batch.Queue(`SELECT `+q.Room(1, 1, n), userID).QueryRow(func(row pgx.Row) error { return row.Scan(&room) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}

	if !room {
		return q.Exceeded()
	}
	return nil
}

// Exceeded is QUOTA_EXCEEDED, with the name of the limit and its maximum.
func (q Quota) Exceeded() *fault.Error {
	return fault.New(
		fault.QuotaExceeded, "the limit of %d %s is reached", q.Maximum, q.Name,
	).With("limit", q.Name).With("maximum", q.Maximum)
}
