package account

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// EnsureAdmins creates the configured administrators: the holder of token (empty: none), and the Telegram accounts. A
// BLOCKED user stays blocked.
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

// configureToken makes the configured token the only one with that origin. A changed value is a new secret of the same
// token: what the token made stays, its sessions end. A token revoked by a person stays revoked, and the next value
// becomes a new token of the same administrator.
func configureToken(ctx context.Context, tx pgx.Tx, secret string) error {
	// The lock serializes processes that start at the same time.
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('tokens.configured'))`); err != nil {
		return err
	}

	hash := hashToken(secret)
	known, err := tx.Exec(ctx, `UPDATE tokens SET scopes = CASE WHEN origin = 'configured' THEN $2 ELSE scopes END,
			revoked_at = CASE WHEN origin = 'configured' AND revoked_by IS NULL THEN NULL ELSE revoked_at END
		WHERE hash = $1`, hash, Scopes)
	if err != nil {
		return err
	}
	if secret == "" || known.RowsAffected() > 0 {
		_, err = tx.Exec(ctx, `UPDATE tokens SET revoked_at = now() WHERE origin = 'configured' AND revoked_at IS NULL AND hash <> $1`, hash)
		return err
	}

	last, err := core.Values[int64](ctx, tx, `SELECT id FROM tokens WHERE origin = 'configured' AND revoked_by IS NULL
		ORDER BY id DESC LIMIT 1 FOR UPDATE`)
	if err != nil {
		return err
	}
	if len(last) > 0 {
		return replaceSecret(ctx, tx, Token{ID: last[0], Scopes: Scopes}, hash)
	}

	owner, err := configuredOwner(ctx, tx)
	if err != nil {
		return err
	}
	_, err = addToken(ctx, tx, Token{UserID: owner, Name: originConfigured, Scopes: Scopes}, secret, originConfigured)
	return err
}

// configuredOwner returns the administrator who owns the configured token.
func configuredOwner(ctx context.Context, tx pgx.Tx) (int64, error) {
	id, err := core.Value[int64](ctx, tx, `SELECT user_id FROM tokens WHERE origin = 'configured' ORDER BY id DESC LIMIT 1`)
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Value[int64](ctx, tx, `INSERT INTO users (name, role, status) VALUES ($1, 'ADMIN', 'ACTIVE') RETURNING id`,
			administrator)
	}
	return id, err
}
