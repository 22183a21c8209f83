package notice

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// NextUpdate returns the id from which the bot requests updates. It is 0, meaning all waiting updates, at the first
// start and after a week without updates: Telegram then restarts its numbering, and an old number would discard new
// updates.
func (s *Store) NextUpdate(ctx context.Context) (int64, error) {
	return core.Value[int64](ctx, s.db, `SELECT coalesce(max(update_id) + 1, 0) FROM bot_updates
		WHERE received_at > now() - interval '6 days'`)
}

// Update is an unhandled update of the bot.
type Update struct {
	ID      int64           `db:"update_id" json:"update_id"`
	ChatID  int64           `db:"chat_id" json:"chat_id"`
	Content json.RawMessage `db:"content" json:"content"`
}

// ReceiveUpdates stores a batch's updates to be handled, and the id of the batch's last one, in one transaction: from
// then on Telegram may drop them.
func (s *Store) ReceiveUpdates(ctx context.Context, last int64, updates []Update) error {
	content, err := json.Marshal(append([]Update{}, updates...))
	if err != nil {
		return err
	}

	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO bot_inbox (update_id, chat_id, content)
		SELECT update_id, chat_id, content FROM jsonb_to_recordset($1::jsonb) AS u (update_id bigint, chat_id bigint, content jsonb)
		ON CONFLICT DO NOTHING`, content)
	batch.Queue(`INSERT INTO bot_updates (update_id) VALUES ($1) ON CONFLICT (update_id) DO UPDATE SET received_at = now()`, last)
	batch.Queue(`DELETE FROM bot_updates WHERE update_id <> $1`, last)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// WaitingUpdates returns the unhandled updates in order of arrival.
func (s *Store) WaitingUpdates(ctx context.Context) ([]Update, error) {
	return core.List[Update](ctx, s.db, `SELECT update_id, chat_id, content FROM bot_inbox ORDER BY update_id`)
}

// DropUpdate removes a handled update.
func (s *Store) DropUpdate(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `DELETE FROM bot_inbox WHERE update_id = $1`, id)
}

// Conversation is the bot's state of a chat: the menu, one message that is edited while the person browses folders, and
// the chat's last handled update.
type Conversation struct {
	ChatID    int64  `db:"chat_id"`
	MessageID int64  `db:"message_id"` // of the menu; 0: none
	FolderID  int64  `db:"folder_id"`
	Query     string `db:"query"`
	Asking    bool   `db:"asking"`    // the menu asks for search words
	Ask       string `db:"ask"`       // what else the menu asks for; empty: nothing
	UpdateID  int64  `db:"update_id"` // the last update handled in this chat
}

// Conversation returns the state of a chat; zero: none.
func (s *Store) Conversation(ctx context.Context, chat int64) (Conversation, error) {
	found, err := core.List[Conversation](ctx, s.db, `SELECT chat_id, message_id, folder_id, query, asking, ask, update_id
		FROM conversations WHERE chat_id = $1`, chat)
	if err != nil || len(found) == 0 {
		return Conversation{ChatID: chat}, err
	}
	return found[0], nil
}

// SaveConversation stores the state of a user's chat. Does nothing if no user has that Telegram account,
// because Forget removed it while a request was being handled. The lock serializes Forget and this statement.
func (s *Store) SaveConversation(ctx context.Context, c Conversation) error {
	return s.db.Do(ctx, `INSERT INTO conversations (chat_id, message_id, folder_id, query, asking, ask, update_id)
		SELECT telegram_id, $2::bigint, $3::bigint, $4, $5::boolean, $6, $7::bigint FROM users WHERE telegram_id = $1 FOR SHARE
		ON CONFLICT (chat_id) DO UPDATE SET message_id = $2, folder_id = $3, query = $4, asking = $5, ask = $6, update_id = $7,
		updated_at = now()`, c.ChatID, c.MessageID, c.FolderID, c.Query, c.Asking, c.Ask, c.UpdateID)
}

// OnlyBot runs fn while only this process holds the bot's lock; false: another process holds it. Telegram allows one
// reader of updates at a time.
func (s *Store) OnlyBot(ctx context.Context, fn func(context.Context) error) (bool, error) {
	const botLock = 0x5354_4147_4542_4f54 // an arbitrary constant
	return s.db.Alone(ctx, botLock, fn)
}
