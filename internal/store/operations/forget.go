package operations

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Forget makes a user anonymous in all of the record at once, for good: what is left is a number. Live deliveries and
// downloads are asked to end; their workflows, and those of tasks, are for the caller to tell. Once more changes
// nothing. LAST_ADMIN: nobody would be left.
//
// What others share stays: titles and descriptions of tasks, names of workspaces and books. So does what proves where
// money went, with comments of operators about it.
func (s *Store) Forget(ctx context.Context, id, by int64) (user account.User, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := account.LeaveOneAdmin(ctx, tx, id); err != nil {
			return err
		}

		before, err := core.One[account.User](
			ctx, tx, account.NoUser, `SELECT `+account.UserColumns+` FROM users WHERE id = $1 FOR NO KEY UPDATE`, id,
		)
		if err != nil {
			return err
		}

		batch := &pgx.Batch{}
		s.queueForgetting(batch, id, by, before.TelegramID)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}

		user, err = core.One[account.User](ctx, tx, account.NoUser, `UPDATE users SET name = '', telegram_id = NULL, username = NULL, language = 'en', role = 'USER',
			status = `+core.Literal(account.UserBlocked)+`, token_hash = NULL, forgotten_at = coalesce(forgotten_at, now()), updated_at = now()
			WHERE id = $1 RETURNING `+account.UserColumns, id)
		return err
	})

	return user, core.Unavailable(err)
}

// queueForgetting takes a user out of all tables but that of the users, each by an index that begins with the user.
func (s *Store) queueForgetting(batch *pgx.Batch, id, by int64, chat *int64) {
	batch.Queue(`UPDATE tokens SET name = $3, revoked_at = coalesce(revoked_at, now()), revoked_by = coalesce(revoked_by, $2) WHERE user_id = $1`,
		id, by, core.RemovedText)
	batch.Queue(`DELETE FROM conversations WHERE chat_id = $1`, chat)
	batch.Queue(`DELETE FROM news WHERE user_id = $1`, id)
	batch.Queue(`DELETE FROM answers WHERE user_id = $1`, id)

	for _, part := range s.parts {
		if part.Forget != nil {
			part.Forget(batch, id, by)
		}
	}
}
