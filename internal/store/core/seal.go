package core

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// sealer encrypts secrets in the database: AES-256-GCM, with the nonce as prefix and the value's place as additional
// data. The first key encrypts, any key decrypts. A program that needs no secret of the database has no keys.
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
	return s, nil
}

// Place is where an encrypted value is stored. A value can be decrypted only at its own place: write access to the
// database is not enough to move it to another row or column.
type Place string

// PlaceOf names a value's place by its table, its column and its row's key, such as webhooks.secret/7.
func PlaceOf(table, column string, key any) Place {
	return Place(fmt.Sprintf("%s.%s/%v", table, column, key))
}

// Seal encrypts a text with the first key.
func (s sealer) Seal(text string, at Place) []byte {
	nonce := make([]byte, s.keys[0].NonceSize())
	rand.Read(nonce)
	return s.keys[0].Seal(nonce, nonce, []byte(text), []byte(at))
}

// Open tries each key: values do not name the key that encrypted them, and GCM rejects a wrong one.
func (s sealer) Open(sealed []byte, at Place) (string, error) {
	for _, key := range s.keys {
		if len(sealed) < key.NonceSize() {
			return "", errors.New("sealed value is too short")
		}
		text, err := key.Open(nil, sealed[:key.NonceSize()], sealed[key.NonceSize():], []byte(at))
		if err == nil {
			return string(text), nil
		}
	}
	return "", errors.New("a sealed value does not open: was STAGECOACH_ENCRYPTION_KEY changed, or the value moved from another row?")
}

// Again re-encrypts an encrypted text with the first key.
func (s sealer) Again(sealed []byte, at Place) ([]byte, error) {
	text, err := s.Open(sealed, at)
	if err != nil {
		return nil, err
	}
	return s.Seal(text, at), nil
}
