// Package webhook stores users' webhook endpoints: where they are, how far each one is, and which of them wait for the
// next event.
package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }

// Webhook is an endpoint. Its address and secrets are encrypted in the record and appear in no error, log or history.
type Webhook struct {
	row
	Address string
	Secrets []string // currently signing: the newest first
}

// row is a webhook as recorded.
type row struct {
	ID             int64      `db:"id"`
	UserID         int64      `db:"user_id"`
	SealedAddress  []byte     `db:"address"`
	SealedSecret   []byte     `db:"secret"`
	SealedPrevious []byte     `db:"previous_secret"`
	PreviousUntil  *time.Time `db:"previous_until"` // nil: only one secret signs
	Workloads      []string   `db:"workloads"`      // whose events are sent; empty: all
	State          string     `db:"state"`
	Reason         string     `db:"reason"` // of a pause
	Version        int64      `db:"version"`

	XID          uint64     `db:"xid"`
	EventID      int64      `db:"event_id"`
	FloorXID     uint64     `db:"floor_xid"`
	FloorID      int64      `db:"floor_id"`
	EventsLost   bool       `db:"events_lost"` // some after the cursor were deleted: the receiver is notified next
	Claim        int64      `db:"claim"`       // of the last sender
	Waiting      bool       `db:"waiting"`     // it has seen all events
	FailingSince *time.Time `db:"failing_since"`
	LastError    fault.Code `db:"last_error"` // of the last failure, while it is failing
	DeliveredAt  *time.Time `db:"delivered_at"`

	TestAskedAt *time.Time `db:"test_asked_at"`
	TestedAt    *time.Time `db:"tested_at"`
	TestError   fault.Code `db:"test_error"` // of the last test; empty: received
	CreatedAt   time.Time  `db:"created_at"`
	UpdatedAt   time.Time  `db:"updated_at"`

	TokenEndsAt *time.Time `db:"token_ends_at"` // of the token that made it; nil: none, or no end
}

const columns = `id, user_id, address, secret, previous_secret, previous_until, workloads, state, reason, version,
	xid::text::bigint AS xid, event_id, floor_xid::text::bigint AS floor_xid, floor_id, events_lost, claim, waiting, failing_since, last_error, delivered_at,
	test_asked_at, tested_at, test_error, created_at, updated_at,
	(SELECT least(revoked_at, expires_at) FROM tokens WHERE tokens.id = token_id) AS token_ends_at`

// Cursor is the position after the last event sent or skipped.
func (r row) Cursor() core.Cursor { return core.Cursor{XID: r.XID, ID: r.EventID} }

// Floor is the position of the last deleted event of which the receiver knows, or is notified next.
func (r row) Floor() core.Cursor { return core.Cursor{XID: r.FloorXID, ID: r.FloorID} }

// Testing reports whether a test event was requested but not yet sent.
func (r row) Testing() bool {
	return r.TestAskedAt != nil && (r.TestedAt == nil || r.TestedAt.Before(*r.TestAskedAt))
}

// Orphaned reports whether the token that made the endpoint has ended: nothing more is sent to it.
func (r row) Orphaned() bool { return r.TokenEndsAt != nil && !r.TokenEndsAt.After(time.Now()) }

// Wants reports whether the endpoint subscribes to an event.
func (r row) Wants(event core.StreamedEvent) bool {
	return len(r.Workloads) == 0 || slices.Contains(r.Workloads, lifecycle.OfWorkload(event.Workload))
}

var none = fault.New(fault.WebhookNotFound, "there is no such webhook")

// Quota limits a user's webhooks.
var Quota = core.Quota{
	Name:   "webhooks",
	Things: `FROM webhooks WHERE user_id = %s`,
	Above:  `SELECT user_id, count(*) FROM webhooks GROUP BY 1 HAVING count(*) > %d`,
}

// Places of a webhook's encrypted values. A rotated secret becomes the previous one unchanged: both share a place.
func addressPlace(userID, id int64) core.Place {
	return core.PlaceOf("webhooks", "address", fmt.Sprintf("%d/%d", userID, id))
}

func secretPlace(userID, id int64) core.Place {
	return core.PlaceOf("webhooks", "secret", fmt.Sprintf("%d/%d", userID, id))
}

// open decrypts a row's secrets.
func (s *Store) open(r row) (w Webhook, err error) {
	w.row = r
	if w.Address, err = s.db.Sealer.Open(r.SealedAddress, addressPlace(r.UserID, r.ID)); err != nil {
		return w, err
	}

	sealed := [][]byte{r.SealedSecret}
	if r.PreviousUntil != nil && r.PreviousUntil.After(time.Now()) {
		sealed = append(sealed, r.SealedPrevious)
	}

	for _, one := range sealed {
		secret, err := s.db.Sealer.Open(one, secretPlace(r.UserID, r.ID))
		if err != nil {
			return w, err
		}
		w.Secrets = append(w.Secrets, secret)
	}

	return w, nil
}

// one runs a statement that returns one webhook's row.
func (s *Store) one(ctx context.Context, db core.Session, sql string, args ...any) (Webhook, error) {
	found, err := core.One[row](ctx, db, none, sql, args...)
	if err != nil {
		return Webhook{}, err
	}
	return s.open(found)
}

// Create adds an endpoint of the requesting user that receives the events after a position, within the quota. A
// repeated request returns fresh = false with the first one's endpoint as it is now. The stored answer is only the id,
// without address and secret.
func (s *Store) Create(
	ctx context.Context, r core.Request, address, secret string, workloads []string, after core.Cursor,
) (made Webhook, fresh bool, err error) {
	id, err := core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) (id int64, err error) {
		if err := s.db.Quotas.Of(Quota).Check(ctx, tx, r.UserID, 1); err != nil {
			return 0, err
		}

		// The id comes first: what is encrypted is bound to it.
		id, err = core.Value[int64](ctx, tx, `SELECT nextval(pg_get_serial_sequence('webhooks', 'id'))`)
		if err != nil {
			return 0, err
		}

		made, err = s.one(ctx, tx, `INSERT INTO webhooks (id, user_id, address, secret, workloads, xid, event_id, token_id) OVERRIDING SYSTEM VALUE
			VALUES ($7, $1, $2, $3, coalesce($4, '{}'::text[]), $5::text::xid8, $6, $8) RETURNING `+columns,
			r.UserID, s.db.Sealer.Seal(address, addressPlace(r.UserID, id)), s.db.Sealer.Seal(secret, secretPlace(r.UserID, id)),
			workloads, after.XIDText(), after.ID, id, r.TokenID)
		if err != nil {
			return 0, err
		}

		batch := &pgx.Batch{}
		queueEvent(batch, made.row, core.Event{Type: lifecycle.WebhookCreated, To: made.State, ActorID: &r.UserID})
		return made.ID, tx.SendBatch(ctx, batch).Close()
	})
	if err != nil || made.ID == id {
		return made, true, err
	}

	made, err = s.ByID(ctx, r.UserID, id)
	return made, false, err
}

// ByID returns a user's webhook.
func (s *Store) ByID(ctx context.Context, userID, id int64) (Webhook, error) {
	return s.one(ctx, s.db, `SELECT `+columns+` FROM webhooks WHERE id = $2 AND user_id = $1`, userID, id)
}

// OfNotice returns a webhook of a user or the user's agent.
func (s *Store) OfNotice(ctx context.Context, userID, id int64) (Webhook, error) {
	return s.one(ctx, s.db, `SELECT `+columns+` FROM webhooks
		WHERE id = $2 AND user_id IN (SELECT id FROM users WHERE id = $1 OR owner_id = $1)`, userID, id)
}

// List lists a user's webhooks with ids above after, ascending. Served by the index webhooks_user.
func (s *Store) List(ctx context.Context, userID, after int64, limit int) (all []Webhook, err error) {
	rows, err := core.List[row](ctx, s.db, `SELECT `+columns+` FROM webhooks
		WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3`, userID, after, limit)
	if err != nil {
		return nil, err
	}

	for _, one := range rows {
		opened, err := s.open(one)
		if err != nil {
			return nil, err
		}
		all = append(all, opened)
	}

	return all, nil
}

// BehindSince returns, for each of these webhooks that does not wait, the time of the oldest event beyond its position;
// its receiver may not be meant to see it. The index events_stream finds each.
func (s *Store) BehindSince(ctx context.Context, ids []int64) (map[int64]time.Time, error) {
	rows, err := core.List[struct {
		ID    int64     `db:"id"`
		Since time.Time `db:"since"`
	}](ctx, s.db, `SELECT w.id, next.created_at AS since FROM webhooks w CROSS JOIN LATERAL (
			SELECT created_at FROM events e WHERE (e.xid, e.id) > (w.xid, w.event_id) ORDER BY e.xid, e.id LIMIT 1) next
		WHERE w.id = ANY ($1) AND NOT w.waiting`, ids)

	since := make(map[int64]time.Time, len(rows))
	for _, row := range rows {
		since[row.ID] = row.Since
	}
	return since, err
}

// Reseal encrypts all addresses and secrets with the first key, and returns the number of rows.
func (s *Store) Reseal(ctx context.Context) (rows int, err error) {
	err = s.db.InLongTx(ctx, func(tx pgx.Tx) error {
		all, err := core.List[row](ctx, tx, `SELECT `+columns+` FROM webhooks ORDER BY id FOR UPDATE`)
		if err != nil {
			return err
		}

		for _, one := range all {
			if err := s.again(&one); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE webhooks SET address = $2, secret = $3, previous_secret = $4 WHERE id = $1`,
				one.ID, one.SealedAddress, one.SealedSecret, one.SealedPrevious); err != nil {
				return err
			}
		}

		rows = len(all)
		return nil
	})

	return rows, err
}

// again re-encrypts a row's secrets with the first key.
func (s *Store) again(r *row) (err error) {
	if r.SealedAddress, err = s.db.Sealer.Again(r.SealedAddress, addressPlace(r.UserID, r.ID)); err != nil {
		return err
	}
	if r.SealedSecret, err = s.db.Sealer.Again(r.SealedSecret, secretPlace(r.UserID, r.ID)); err != nil {
		return err
	}

	if r.SealedPrevious != nil {
		r.SealedPrevious, err = s.db.Sealer.Again(r.SealedPrevious, secretPlace(r.UserID, r.ID))
	}
	return err
}

// queueEvent writes an event of a webhook whose row already has the event's number.
func queueEvent(batch *pgx.Batch, w row, e core.Event) {
	core.QueueEvent(batch, lifecycle.WebhookEvents, entity(w.ID), w.Version, &w.UserID, e)
}
