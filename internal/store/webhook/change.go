package webhook

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// entity is a webhook's id in events.
func entity(id int64) string { return strconv.FormatInt(id, 10) }

// begins is common to all changes by the owner: the active sender loses its claim and stops after the current event,
// and the workflow must be signalled.
const begins = `claim = claim + 1, waiting = false, woken_at = now(), updated_at = now()`

// Change is a change by the owner; nil fields stay.
type Change struct {
	Address   *string
	Workloads []string
	TokenID   *int64 // the requesting token: an endpoint given another address ends with it
}

// Change changes a user's webhook.
func (s *Store) Change(ctx context.Context, userID, id int64, c Change) (Webhook, error) {
	var sealed []byte
	if c.Address != nil {
		sealed = s.db.Sealer.Seal(*c.Address, addressPlace(userID, id))
	}
	return s.one(ctx, s.db, `UPDATE webhooks SET address = coalesce($3, address), workloads = coalesce($4, workloads),
			token_id = CASE WHEN $3::bytea IS NULL THEN token_id ELSE $5 END, `+begins+`
		WHERE id = $2 AND user_id = $1 RETURNING `+columns, userID, id, sealed, c.Workloads, c.TokenID)
}

// Rotate gives a user's webhook a new secret. The old one also signs, for overlap.
func (s *Store) Rotate(
	ctx context.Context, userID, id int64, secret string, overlap time.Duration,
) (Webhook, error) {
	return s.one(ctx, s.db, `UPDATE webhooks SET previous_secret = secret, previous_until = now() + $4::interval, secret = $3, `+begins+`
		WHERE id = $2 AND user_id = $1 RETURNING `+columns, userID, id, s.db.Sealer.Seal(secret, secretPlace(userID, id)), overlap)
}

// Replay makes a user's webhook continue after another position in the event stream.
func (s *Store) Replay(ctx context.Context, userID, id int64, after core.Cursor) (Webhook, error) {
	return s.one(ctx, s.db, `UPDATE webhooks SET xid = $3::text::xid8, event_id = $4, events_lost = false, `+begins+`
		WHERE id = $2 AND user_id = $1 RETURNING `+columns, userID, id, after.XIDText(), after.ID)
}

// AskTest requests a test event, which is sent whatever the webhook's state.
func (s *Store) AskTest(ctx context.Context, userID, id int64) (Webhook, error) {
	return s.one(ctx, s.db, `UPDATE webhooks SET test_asked_at = clock_timestamp(), `+begins+`
		WHERE id = $2 AND user_id = $1 RETURNING `+columns, userID, id)
}

// Pause pauses a user's webhook at the owner's request. A paused one stays as it is.
func (s *Store) Pause(ctx context.Context, userID, id int64) (Webhook, error) {
	paused, err := s.move(ctx, core.Event{
		Type: lifecycle.WebhookPause, From: lifecycle.WebhookActive, To: lifecycle.WebhookPaused, ActorID: &userID,
		Comment: string(fault.PausedByOwner),
	}, false, `id = $1 AND user_id = $4`, id, userID)
	if err == nil && paused.ID == 0 {
		return s.ByID(ctx, userID, id)
	}
	return paused, err
}

// Resume resumes a user's webhook from its position. An active one sends at once. One whose token has ended is bound to
// the request's token from now on.
func (s *Store) Resume(ctx context.Context, userID, id int64, tokenID *int64) (Webhook, error) {
	if err := s.db.Do(ctx, `UPDATE webhooks SET token_id = $3 WHERE id = $2 AND user_id = $1
		AND EXISTS (SELECT 1 FROM tokens WHERE tokens.id = token_id AND least(revoked_at, expires_at) <= now())`, userID, id, tokenID); err != nil {
		return Webhook{}, err
	}

	resumed, err := s.move(ctx, core.Event{
		Type: lifecycle.WebhookResume, From: lifecycle.WebhookPaused, To: lifecycle.WebhookActive, ActorID: &userID,
	}, false, `id = $1 AND user_id = $4`, id, userID)
	if err == nil && resumed.ID == 0 {
		return s.Change(ctx, userID, id, Change{})
	}
	return resumed, err
}

// Stop pauses a webhook because of its receiver or its owner, and notifies the owner, or an agent's owner instead of
// the agent. A nonzero claim must be the last one. stopped: it was active.
func (s *Store) Stop(ctx context.Context, id, claim int64, why fault.Code) (stopped bool, err error) {
	paused, err := s.move(ctx, core.Event{
		Type: lifecycle.WebhookPause, From: lifecycle.WebhookActive, To: lifecycle.WebhookPaused, Comment: string(why),
	}, true, `id = $1 AND ($4::bigint = 0 OR claim = $4)`, id, claim)
	return paused.ID != 0, err
}

// StopFailing pauses a webhook whose receiver is failing, and notifies its owner. stopped is false if it is not
// failing.
func (s *Store) StopFailing(ctx context.Context, id int64) (stopped bool, err error) {
	paused, err := s.move(ctx, core.Event{
		Type: lifecycle.WebhookPause, From: lifecycle.WebhookActive, To: lifecycle.WebhookPaused,
		Comment: string(fault.ReceiverFailed),
	}, true, `id = $1 AND claim > $4 AND failing_since IS NOT NULL`, id, 0)
	return paused.ID != 0, err
}

// move changes the state of the webhook matched by the condition, if it is in the event's state, and writes the event
// with it. The condition has the parameters $1 and $4; zero: no match.
func (s *Store) move(
	ctx context.Context, e core.Event, tell bool, where string, id, other int64,
) (moved Webhook, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		found, err := core.List[row](ctx, tx, `UPDATE webhooks SET state = $2, reason = $3, version = version + 1,
				failing_since = CASE WHEN $3 = '' THEN NULL ELSE failing_since END, `+begins+`
			WHERE state = $5 AND `+where+` RETURNING `+columns, id, e.To, e.Comment, other, e.From)
		if err != nil || len(found) == 0 {
			return err
		}

		if moved, err = s.open(found[0]); err != nil {
			return err
		}

		batch := &pgx.Batch{}
		queueEvent(batch, moved.row, e)
		if tell {
			person, err := core.Value[int64](ctx, tx, `SELECT coalesce(owner_id, id) FROM users WHERE id = $1`, moved.UserID)
			if err != nil {
				return err
			}
			core.QueueNotice(batch, lifecycle.WebhookEvents, entity(moved.ID), moved.Version, person, nil, 0)
		}
		return tx.SendBatch(ctx, batch).Close()
	})

	return moved, err
}

// Remove deletes a user's webhook. Its events stay for a while, like all others.
func (s *Store) Remove(ctx context.Context, userID, id int64) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		gone, err := core.One[row](
			ctx, tx, none, `DELETE FROM webhooks WHERE id = $2 AND user_id = $1 RETURNING `+columns, userID, id,
		)
		if err != nil {
			return err
		}

		gone.Version++
		batch := &pgx.Batch{}
		queueEvent(
			batch, gone,
			core.Event{Type: lifecycle.WebhookRemove, From: gone.State, To: lifecycle.WebhookRemove, ActorID: &userID},
		)
		return tx.SendBatch(ctx, batch).Close()
	})
}
