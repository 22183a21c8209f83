package store

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5"
)

// sealer encrypts what must not lie open in the database: AES-256-GCM, the nonce in front. The first key seals, all
// open.
type sealer struct{ keys []cipher.AEAD }

var errKey = errors.New("STAGECOACH_ENCRYPTION_KEY must be 32 bytes in base64, or several keys with commas")

func newSealer(keys [][]byte) (sealer, error) {
	var s sealer
	for _, key := range keys {
		block, err := aes.NewCipher(key)
		if err != nil || len(key) != 32 {
			return sealer{}, errKey
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return sealer{}, err
		}
		s.keys = append(s.keys, aead)
	}

	if len(s.keys) == 0 {
		return sealer{}, errKey
	}
	return s, nil
}

func (s sealer) seal(text string) []byte {
	nonce := make([]byte, s.keys[0].NonceSize())
	rand.Read(nonce)
	return s.keys[0].Seal(nonce, nonce, []byte(text), nil)
}

// open tries each key: the values do not say which one sealed them, and GCM refuses a wrong one.
func (s sealer) open(sealed []byte) (string, error) {
	for _, key := range s.keys {
		if len(sealed) < key.NonceSize() {
			return "", errors.New("sealed value is too short")
		}
		text, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], nil)
		if err == nil {
			return string(text), nil
		}
	}
	return "", errors.New("a sealed value does not open: was STAGECOACH_ENCRYPTION_KEY changed?")
}

// Reseal seals anew, with the first key, what any key has sealed, and says how many rows that were. Processes may run
// meanwhile if they know the first key.
func (s *Store) Reseal(ctx context.Context) (rows int, err error) {
	err = s.inLongTx(ctx, func(tx pgx.Tx) error { // a process that renews the tokens holds their row while it asks
		tokens, err := listIn[sealedRow](ctx, tx, `SELECT provider, access_token, refresh_token FROM oauth_tokens
			WHERE access_token IS NOT NULL ORDER BY provider FOR UPDATE`)
		if err != nil {
			return err
		}

		for _, t := range tokens {
			access, err := s.sealer.again(t.AccessToken)
			if err != nil {
				return err
			}

			refresh, err := s.sealer.again(t.RefreshToken)
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

// again seals what is sealed with the first key.
func (s sealer) again(sealed []byte) ([]byte, error) {
	text, err := s.open(sealed)
	if err != nil {
		return nil, err
	}
	return s.seal(text), nil
}
