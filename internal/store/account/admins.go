package account

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// EnsureAdmins creates the administrators of the configuration: the holder of token (empty: none), and the Telegram
// accounts. A BLOCKED user stays blocked.
func (s *Store) EnsureAdmins(ctx context.Context, token string, telegramIDs []int64) error {
	if err := s.db.InTx(ctx, func(tx pgx.Tx) error { return configureToken(ctx, tx, token) }); err != nil {
		return err
	}

	for _, id := range telegramIDs {
		user, created, err := s.EnsureTelegramUser(
			ctx, User{Name: administrator, Role: RoleAdmin, Status: UserActive, TelegramID: &id},
		)
		if err == nil && !created && !user.IsAdmin() && user.Status != UserBlocked {
			_, err = s.ChangeUser(ctx, user.ID, UserChange{Role: RoleAdmin, Status: UserActive})
		}
		if err != nil {
			return err
		}
	}

	return nil
}

const administrator = "administrator"

// configureToken makes the token of the configuration the only one with that origin. It belongs to the same
// administrator as the token before it. A token that a person has revoked stays revoked.
func configureToken(ctx context.Context, tx pgx.Tx, secret string) error {
	// The lock serializes processes that start together.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tokens.configured'))`); err != nil {
		return err
	}

	hash := hashToken(secret)
	if _, err := tx.Exec(ctx, `WITH replaced AS (UPDATE tokens SET revoked_at = now()
			WHERE origin = 'configured' AND revoked_at IS NULL AND hash <> $1 RETURNING hash)
		UPDATE users SET token_hash = NULL WHERE token_hash IN (SELECT hash FROM replaced)`, hash); err != nil {
		return err
	}
	if secret == "" {
		return nil
	}

	known, err := tx.Exec(ctx, `UPDATE tokens SET revoked_at = CASE WHEN origin = 'configured' AND revoked_by IS NULL THEN NULL ELSE revoked_at END
		WHERE hash = $1`, hash)
	if err != nil || known.RowsAffected() > 0 {
		return err
	}

	owner, err := configuredOwner(ctx, tx)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO tokens (user_id, name, hash, scopes, origin) VALUES ($1, 'configured', $2, $3, 'configured')`,
		owner, hash, Scopes); err != nil {
		return err
	}

	// for release 0.1.0
	_, err = tx.Exec(ctx, `UPDATE users SET token_hash = $2 WHERE id = $1 AND token_hash IS NULL`, owner, hash)
	return err
}

// configuredOwner returns the administrator to whom the token of the configuration belongs.
func configuredOwner(ctx context.Context, tx pgx.Tx) (int64, error) {
	id, err := core.Value[int64](ctx, tx, `SELECT user_id FROM tokens WHERE origin = 'configured' ORDER BY id DESC LIMIT 1`)
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Value[int64](ctx, tx, `INSERT INTO users (name, role, status) VALUES ($1, 'ADMIN', 'ACTIVE') RETURNING id`,
			administrator)
	}
	return id, err
}
