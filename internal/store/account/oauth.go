package account

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/oauth2"

	"stagecoach/internal/store/core"
)

// TokenStore stores one provider's OAuth token, encrypted at rest.
type TokenStore struct {
	db       *core.DB
	provider string
}

// TokenStore returns the token store of a provider.
func (s *Store) TokenStore(provider string) *TokenStore { return &TokenStore{s.db, provider} }

type sealedToken struct {
	Provider     string     `db:"provider"`
	AccessToken  []byte     `db:"access_token"`
	RefreshToken []byte     `db:"refresh_token"`
	ExpiresAt    *time.Time `db:"expires_at"`
}

// Places of a provider's encrypted values.
func accessPlace(provider string) core.Place {
	return core.PlaceOf("oauth_tokens", "access_token", provider)
}

func refreshPlace(provider string) core.Place {
	return core.PlaceOf("oauth_tokens", "refresh_token", provider)
}

// seal encrypts both parts of the provider's token.
func (v *TokenStore) seal(token oauth2.Token) (access, refresh []byte) {
	seal := v.db.Sealer.Seal
	return seal(token.AccessToken, accessPlace(v.provider)), seal(token.RefreshToken, refreshPlace(v.provider))
}

// Seed stores a configured token once. A value new to the configuration replaces the stored token, as an administrator
// who renews it expects; a value configured before (and rotated since) changes nothing.
func (v *TokenStore) Seed(ctx context.Context, token oauth2.Token) error {
	if token.AccessToken == "" && token.RefreshToken == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token.AccessToken + "\n" + token.RefreshToken))
	access, refresh := v.seal(token)
	return v.db.Do(ctx, `INSERT INTO oauth_tokens AS t (provider, access_token, refresh_token, seeds)
		VALUES ($1, $2, $3, ARRAY[$4]) ON CONFLICT (provider) DO UPDATE SET access_token = $2, refresh_token = $3,
			expires_at = NULL, seeds = t.seeds || $4, updated_at = now() WHERE NOT $4 = ANY (t.seeds)`,
		v.provider, access, refresh, hex.EncodeToString(sum[:]))
}

// CurrentToken returns the stored token; zero: none.
func (v *TokenStore) CurrentToken(ctx context.Context) (token oauth2.Token, err error) {
	err = v.db.InTx(ctx, func(tx pgx.Tx) error {
		token, err = v.read(ctx, tx, "")
		return err
	})
	return token, err
}

// UpdateToken runs fn under an exclusive lock on the stored token and saves the result (nil: nothing) in the same
// transaction: a rotated refresh token is on disk before it is used. It returns the updated token.
func (v *TokenStore) UpdateToken(
	ctx context.Context, fn func(context.Context, oauth2.Token) (*oauth2.Token, error),
) (token oauth2.Token, err error) {
	err = v.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO oauth_tokens (provider) VALUES ($1) ON CONFLICT DO NOTHING`, v.provider); err != nil {
			return err
		}
		if token, err = v.read(ctx, tx, "FOR UPDATE"); err != nil {
			return err
		}

		fresh, err := fn(ctx, token)
		if err != nil || fresh == nil {
			return err
		}

		token = *fresh
		var expires *time.Time
		if !token.Expiry.IsZero() {
			expires = &token.Expiry
		}

		access, refresh := v.seal(token)
		_, err = tx.Exec(ctx, `UPDATE oauth_tokens SET access_token = $2, refresh_token = $3, expires_at = $4, updated_at = now()
			WHERE provider = $1`, v.provider, access, refresh, expires)
		return err
	})

	return token, err
}

func (v *TokenStore) read(ctx context.Context, tx pgx.Tx, locking string) (token oauth2.Token, err error) {
	rows, err := core.List[sealedToken](ctx, tx, `SELECT provider, access_token, refresh_token, expires_at FROM oauth_tokens
		WHERE provider = $1 `+locking, v.provider)
	if err != nil || len(rows) == 0 || rows[0].AccessToken == nil {
		return token, err
	}

	row := rows[0]
	if token.AccessToken, err = v.db.Sealer.Open(row.AccessToken, accessPlace(row.Provider)); err != nil {
		return token, err
	}
	if token.RefreshToken, err = v.db.Sealer.Open(row.RefreshToken, refreshPlace(row.Provider)); err != nil {
		return token, err
	}

	if row.ExpiresAt != nil {
		token.Expiry = *row.ExpiresAt
	}
	return token, nil
}

// Reseal encrypts all tokens with the first key, whichever key was used before, and returns the number of rows.
// Processes that know the first key may keep running.
func (s *Store) Reseal(ctx context.Context) (rows int, err error) {
	err = s.db.InLongTx(ctx, func(tx pgx.Tx) error { // a process renewing a token holds its row during the request
		tokens, err := core.List[sealedToken](ctx, tx, `SELECT provider, access_token, refresh_token, expires_at FROM oauth_tokens
			WHERE access_token IS NOT NULL ORDER BY provider FOR UPDATE`)
		if err != nil {
			return err
		}

		for _, t := range tokens {
			access, err := s.db.Sealer.Again(t.AccessToken, accessPlace(t.Provider))
			if err != nil {
				return err
			}

			refresh, err := s.db.Sealer.Again(t.RefreshToken, refreshPlace(t.Provider))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `UPDATE oauth_tokens SET access_token = $2, refresh_token = $3 WHERE provider = $1`, t.Provider, access, refresh); err != nil {
				return err
			}
		}

		rows = len(tokens)
		return nil
	})

	return rows, err
}
