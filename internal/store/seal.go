package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
)

// sealer encrypts what must not lie open in the database: AES-256-GCM, the nonce in front.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != 32 {
		return sealer{}, errors.New("STAGECOACH_ENCRYPTION_KEY must be 32 bytes in base64")
	}
	aead, err := cipher.NewGCM(block)
	return sealer{aead}, err
}

func (s sealer) seal(text string) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, []byte(text), nil)
}

func (s sealer) open(sealed []byte) (string, error) {
	if len(sealed) < s.aead.NonceSize() {
		return "", errors.New("sealed value is too short")
	}
	nonce, body := sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():]
	text, err := s.aead.Open(nil, nonce, body, nil)
	if err != nil {
		return "", errors.New("a sealed value does not open: was STAGECOACH_ENCRYPTION_KEY changed?")
	}
	return string(text), nil
}
