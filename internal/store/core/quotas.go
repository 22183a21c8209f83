package core

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Quotas limit what one user may have at a time, by quota name; missing or 0: no limit. Administrators are not limited.
// A user who exceeds a lowered limit keeps what they have.
type Quotas map[string]int

// Quota is one kind of limited things.
type Quota struct {
	Name    string // in details of QUOTA_EXCEEDED
	Things  string // SQL after SELECT 1: the things of user %s (for members: of workspace %s)
	Above   string // user_id and count of those above %d, served by Room's indexes
	Maximum int    // 0: no limit

	made string // for PerDay: SQL after SELECT: when the things of user %s were made
}

// PerDay is the quota of what a person and their agents make within 24 hours, even if it is gone since. maker and made
// are the table's columns for who made a thing and when, with an index on both.
func PerDay(name, table, maker, made string) Quota {
	things := ` FROM (SELECT coalesce(owner_id, id) AS id FROM users WHERE id = %s) person
		CROSS JOIN LATERAL (SELECT person.id UNION ALL SELECT agent.id FROM users agent WHERE agent.owner_id = person.id) one
		CROSS JOIN LATERAL (SELECT ` + made + ` AS made FROM ` + table + ` WHERE ` + maker + ` = one.id AND ` + made + ` > now() - interval '1 day'
			OFFSET 0) thing` // OFFSET 0: by the index, one at a time
	return Quota{
		Name: name, Things: things, made: `thing.made` + things,
		Above: `SELECT coalesce(maker.owner_id, maker.id) AS user_id, count(*) FROM ` + table + ` thing JOIN users maker ON maker.id = thing.` + maker + `
			WHERE thing.` + made + ` > now() - interval '1 day' GROUP BY 1 HAVING count(*) > %d`,
	}
}

// Of returns a quota with its limit.
func (q Quotas) Of(kind Quota) Quota {
	kind.Maximum = q[kind.Name]
	return kind
}

// Room is true, in SQL, while a user may have n more of a kind: the parameter at place by is the requesting user, the
// one at place of the user whose things are counted. It reads no more rows than the limit. The lock of QueueLock must
// be held, or two requests could see the same room.
func (q Quota) Room(by, of, n int) string {
	if q.Maximum == 0 {
		return `true`
	}
	counted := fmt.Sprintf(q.Things, fmt.Sprintf("$%d::bigint", of))
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM users WHERE id = $%d AND role = 'ADMIN' AND status = 'ACTIVE')
		OR %t AND NOT EXISTS (SELECT 1 %s OFFSET %d LIMIT 1))`, by, n <= q.Maximum, counted, max(0, q.Maximum-n))
}

// QueueLock serializes the transactions that add things of a kind for the same user (or workspace). Each statement
// after it sees what earlier transactions created.
func (q Quota) QueueLock(batch *pgx.Batch, of int64) {
	switch {
	case q.Maximum == 0:
	case q.made != "": // per person
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended('quota/' || $1 || '/' || coalesce(owner_id, id), 0))
			FROM users WHERE id = $2`, q.Name, of)
	default:
		batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, fmt.Sprintf("quota/%s/%d", q.Name, of))
	}
}

// Check refuses n more of a kind if they exceed the limit, and holds the lock until the transaction ends.
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

// Refuse returns QUOTA_EXCEEDED for one more thing of a user, with the time to wait if PerDay's limit applies.
func (q Quota) Refuse(ctx context.Context, db Session, userID int64) error {
	if q.made == "" {
		return q.Exceeded()
	}
	wait, err := Value[time.Duration](ctx, db, `SELECT coalesce(min(made), now()) + interval '1 day' - now() FROM (
		SELECT `+fmt.Sprintf(q.made, "$1::bigint")+` ORDER BY 1 DESC LIMIT $2) AS latest (made)`, userID, q.Maximum)
	if err != nil {
		return err
	}
	return q.Exceeded().After(wait)
}
