package notice

import (
	"context"
	"time"

	"stagecoach/internal/store/core"
)

// LiveMessage is the one message in a chat that shows an entity and is edited when it changes.
type LiveMessage struct {
	Workload  string `db:"workload"`
	EntityID  int64  `db:"entity_id"`
	ChatID    int64  `db:"chat_id"`
	MessageID *int64 `db:"message_id"`
	State     string `db:"state"`
	ShownHash string `db:"shown_hash"`
}

// States of a live message.
const (
	LiveMessageNew     = "new"     // no message yet
	LiveMessageSending = "sending" // the first message is being sent; if found later in this state, its outcome is unknown
	LiveMessageShown   = "shown"
	LiveMessageFinal   = "final" // shows the end, is never edited again
	LiveMessageLost    = "lost"  // the message can no longer be edited, or the person cannot be reached
)

// ClaimLiveMessages claims up to limit due live messages. Other processes do not get them until they are saved or the
// lease expires.
func (s *Store) ClaimLiveMessages(ctx context.Context, limit int, lease time.Duration) ([]LiveMessage, error) {
	return core.List[LiveMessage](ctx, s.db, `UPDATE boards b SET held_until = now() + $2::interval FROM (
			SELECT workload, entity_id, chat_id FROM boards
			WHERE state IN ('new', 'sending', 'shown') AND due_at <= now() AND held_until <= now()
			ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
		) d WHERE (b.workload, b.entity_id, b.chat_id) = (d.workload, d.entity_id, d.chat_id)
		RETURNING b.workload, b.entity_id, b.chat_id, b.message_id, b.state, b.shown_hash`, limit, lease)
}

// SaveLiveMessage records what a live message currently shows and releases it; it is due again after pause, or when it
// is hurried.
func (s *Store) SaveLiveMessage(ctx context.Context, b LiveMessage, pause time.Duration) error {
	return s.db.Do(ctx, `UPDATE boards SET message_id = $4, state = $5, shown_hash = $6, due_at = now() + $7::interval,
		held_until = '-infinity' WHERE workload = $1 AND entity_id = $2 AND chat_id = $3`,
		b.Workload, b.EntityID, b.ChatID, b.MessageID, b.State, b.ShownHash, pause)
}

// HoldLiveMessage records a live message that is not due until wait has passed, hurried or not.
func (s *Store) HoldLiveMessage(ctx context.Context, b LiveMessage, wait time.Duration) error {
	return s.db.Do(ctx, `UPDATE boards SET message_id = $4, state = $5, shown_hash = $6, due_at = now(),
		held_until = now() + $7::interval WHERE workload = $1 AND entity_id = $2 AND chat_id = $3`,
		b.Workload, b.EntityID, b.ChatID, b.MessageID, b.State, b.ShownHash, wait)
}

// HurryLiveMessage makes an entity's live messages due before all others.
func (s *Store) HurryLiveMessage(ctx context.Context, workload string, entity int64) error {
	return s.db.Do(ctx, `UPDATE boards SET due_at = '-infinity' WHERE workload = $1 AND entity_id = $2
		AND state IN ('new', 'sending', 'shown')`, workload, entity)
}
