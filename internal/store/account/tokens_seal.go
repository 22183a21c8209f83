package account

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// Reseal seals anew, with the first key, what any key has sealed, and says how many rows that were. Processes may run
// meanwhile if they know the first key.
func (s *Store) Reseal(ctx context.Context) (rows int, err error) {
	err = s.db.InLongTx(ctx, func(tx pgx.Tx) error { // a process that renews the tokens holds their row while it asks
		tokens, err := core.List[sealedRow](ctx, tx, `SELECT provider, access_token, refresh_token FROM oauth_tokens
			WHERE access_token IS NOT NULL ORDER BY provider FOR UPDATE`)
		if err != nil {
			return err
		}

		for _, t := range tokens {
			access, err := s.db.Sealer.Again(t.AccessToken)
			if err != nil {
				return err
			}

			refresh, err := s.db.Sealer.Again(t.RefreshToken)
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

type sealedRow struct {
	Provider     string `db:"provider"`
	AccessToken  []byte `db:"access_token"`
	RefreshToken []byte `db:"refresh_token"`
}
