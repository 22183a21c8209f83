package webhook

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Begin claims a webhook for a sender: earlier senders can no longer write. WEBHOOK_NOT_FOUND: it was deleted.
func (s *Store) Begin(ctx context.Context, id int64) (Webhook, error) {
	return s.one(ctx, s.db, `UPDATE webhooks SET claim = claim + 1, waiting = false, woken_at = NULL, updated_at = now()
		WHERE id = $1 RETURNING `+columns, id)
}

// Advance records that a webhook has sent or skipped all events up to a position; delivered: the receiver has accepted
// the last one. held: the claim is the last one. Otherwise nothing is written.
func (s *Store) Advance(
	ctx context.Context, id, claim int64, to core.Cursor, delivered bool,
) (held bool, err error) {
	return s.claimed(ctx, `UPDATE webhooks SET xid = $3::text::xid8, event_id = $4, updated_at = now(),
			failing_since = CASE WHEN $5 THEN NULL ELSE failing_since END, last_error = CASE WHEN $5 THEN '' ELSE last_error END,
			delivered_at = CASE WHEN $5 THEN now() ELSE delivered_at END
		WHERE id = $1 AND claim = $2`, id, claim, to.XIDText(), to.ID, delivered)
}

// LoseEvents records that events after a webhook's position were deleted, up to a floor. The receiver is notified next.
func (s *Store) LoseEvents(ctx context.Context, id, claim int64, floor core.Cursor) (held bool, err error) {
	return s.claimed(ctx, `UPDATE webhooks SET floor_xid = $3::text::xid8, floor_id = $4, events_lost = true, updated_at = now()
		WHERE id = $1 AND claim = $2`, id, claim, floor.XIDText(), floor.ID)
}

// ToldOfLostEvents records that the receiver was notified of lost events.
func (s *Store) ToldOfLostEvents(ctx context.Context, id, claim int64) (held bool, err error) {
	return s.claimed(
		ctx, `UPDATE webhooks SET events_lost = false, updated_at = now() WHERE id = $1 AND claim = $2`, id, claim,
	)
}

// Fail records why the receiver did not accept an event.
func (s *Store) Fail(ctx context.Context, id, claim int64, why fault.Code) (held bool, err error) {
	return s.claimed(ctx, `UPDATE webhooks SET failing_since = coalesce(failing_since, now()), last_error = $3, updated_at = now()
		WHERE id = $1 AND claim = $2`, id, claim, why)
}

// Tested records the outcome of a test event; empty: the receiver accepted it.
func (s *Store) Tested(ctx context.Context, id int64, why fault.Code) error {
	return s.db.Do(ctx, `UPDATE webhooks SET tested_at = clock_timestamp(), test_error = $2 WHERE id = $1`, id, why)
}

func (s *Store) claimed(ctx context.Context, sql string, args ...any) (held bool, err error) {
	tag, err := s.db.Exec(ctx, sql, args...)
	return tag.RowsAffected() == 1, core.Unavailable(err)
}

// Rest makes a webhook wait that has sent or skipped all events up to a position, unless events after the position have
// already woken webhooks, but not this one: they must be read first.
//
// The lock on webhook_cursor orders this and Wake. If this is first, Wake sees that the webhook waits. If Wake is
// first, the second statement, whose snapshot is taken under the lock, sees the events that Wake has read.
func (s *Store) Rest(ctx context.Context, id, claim int64, at core.Cursor) (rests bool, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SELECT id FROM webhook_cursor FOR SHARE`)
		batch.Queue(`UPDATE webhooks SET waiting = true, woken_at = NULL, xid = $3::text::xid8, event_id = $4, updated_at = now()
			WHERE id = $1 AND claim = $2 AND state = `+core.Literal(lifecycle.WebhookActive)+` AND NOT EXISTS (
				SELECT 1 FROM events e WHERE (e.xid, e.id) > ($3::text::xid8, $4)
				AND (e.xid, e.id) <= ((SELECT c.xid FROM webhook_cursor c), (SELECT c.id FROM webhook_cursor c)))`,
			id, claim, at.XIDText(), at.ID).Exec(func(tag pgconn.CommandTag) error {
			rests = tag.RowsAffected() == 1
			return nil
		})

		return tx.SendBatch(ctx, batch).Close()
	})

	return rests, err
}
