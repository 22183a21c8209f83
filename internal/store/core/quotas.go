package core

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Quotas limit what one user may have at a time, by the names of the quotas; missing or 0: no limit. Administrators are
// not limited. A user who has more already, because a limit was lowered, keeps it.
type Quotas map[string]int

// Quota is one kind of limited things.
type Quota struct {
	Name    string // in details of QUOTA_EXCEEDED
	Things  string // SQL after SELECT 1: the things of user %s (of members: of workspace %s)
	Above   string // user_id and count of those above %d, by the indexes that Room uses
	Maximum int    // 0: no limit
}

// Of returns a quota with its limit.
func (q Quotas) Of(kind Quota) Quota {
	kind.Maximum = q[kind.Name]
	return kind
}

// Room is true, in SQL, while a user may have n more of a kind: the parameter at place by is the user who asks, the one
// at place of is the user whose things are counted. It reads no more rows than the limit. The lock of QueueLock must be
// held, because otherwise two requests see the same room.
func (q Quota) Room(by, of, n int) string {
	if q.Maximum == 0 {
		return `true`
	}
	counted := fmt.Sprintf(q.Things, fmt.Sprintf("$%d::bigint", of))
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM users WHERE id = $%d AND role = 'ADMIN' AND status = 'ACTIVE')
		OR %t AND NOT EXISTS (SELECT 1 %s OFFSET %d LIMIT 1))`, by, n <= q.Maximum, counted, max(0, q.Maximum-n))
}

// QueueLock serializes the transactions that add things of a kind for the same user (or workspace). Each statement
// after it sees what earlier transactions have created.
func (q Quota) QueueLock(batch *pgx.Batch, of int64) {
	if q.Maximum > 0 {
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, fmt.Sprintf("quota/%s/%d", q.Name, of))
	}
}

// Check refuses n more of a kind that exceed the limit, and holds the lock until the transaction ends.
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

// Exceeded returns QUOTA_EXCEEDED, with the name of the limit and its maximum.
func (q Quota) Exceeded() *fault.Error {
	return fault.New(
		fault.QuotaExceeded, "the limit of %d %s is reached", q.Maximum, q.Name,
	).With("limit", q.Name).With("maximum", q.Maximum)
}
