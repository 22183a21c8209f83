// Package codec encrypts what Temporal stores of a workflow: inputs, results, signals, heartbeats, summaries, and
// failure messages. Search attributes, ids, type names and failure types stay readable, because Temporal needs them.
package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Metadata of an encrypted payload.
const (
	Encoding      = "binary/encrypted" // under converter.MetadataEncoding
	MetadataKeyID = "encryption-key-id"
)

// KeySize is the length of a key in bytes: AES-256.
const KeySize = 32

// ErrUnknownKey means that a payload was encrypted with a key that is not configured here.
var ErrUnknownKey = errors.New("the payload's encryption key is not configured")

// Key is a named secret of KeySize bytes.
type Key struct {
	ID     string
	Secret []byte
}

// Codec encrypts complete payloads with AES-256-GCM. It implements converter.PayloadCodec.
type Codec struct {
	first string // the encrypting key; empty: payloads are only read
	keys  map[string]cipher.AEAD
}

// New makes a codec that reads what any of the keys encrypted. If encrypt is set the first key encrypts, otherwise new
// payloads stay as they are. It fails without keys, or with one of a wrong size.
func New(keys []Key, encrypt bool) (*Codec, error) {
	if len(keys) == 0 {
		return nil, errors.New("no encryption keys")
	}

	c := &Codec{keys: map[string]cipher.AEAD{}}
	if encrypt {
		c.first = keys[0].ID
	}

	for _, key := range keys {
		if len(key.Secret) != KeySize {
			return nil, fmt.Errorf("encryption key %q has %d bytes instead of %d", key.ID, len(key.Secret), KeySize)
		}

		block, err := aes.NewCipher(key.Secret)
		if err != nil {
			return nil, err
		}
		// The nonce is random: one key is good for 2^32 payloads.
		if c.keys[key.ID], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
	}

	return c, nil
}

// Encode encrypts payloads, leaving encrypted ones as they are.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if c.first == "" || isEncrypted(p) {
			return p, nil
		}

		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(Encoding), MetadataKeyID: []byte(c.first)},
			Data:     c.keys[c.first].Seal(nil, nil, plain, bound(c.first)),
		}, nil
	})
}

// Decode decrypts payloads, leaving unencrypted ones as they are. A missing key is ErrUnknownKey.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if !isEncrypted(p) {
			return p, nil
		}

		id := string(p.GetMetadata()[MetadataKeyID])
		key, ok := c.keys[id]
		if !ok {
			return nil, fmt.Errorf("%w: %q", ErrUnknownKey, id)
		}

		plain, err := key.Open(nil, nil, p.GetData(), bound(id))
		if err != nil {
			return nil, fmt.Errorf("the payload was not encrypted with key %q, or was changed since", id)
		}

		decoded := &commonpb.Payload{}
		if err := proto.Unmarshal(plain, decoded); err != nil {
			return nil, errors.New("what was encrypted is no payload")
		}
		return decoded, nil
	})
}

// bound is a ciphertext's additional data: one with another key or of another kind does not decrypt.
func bound(keyID string) []byte { return []byte("stagecoach payload v1\x00" + keyID) }

func isEncrypted(p *commonpb.Payload) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == Encoding
}

func each(
	payloads []*commonpb.Payload, change func(*commonpb.Payload) (*commonpb.Payload, error),
) ([]*commonpb.Payload, error) {
	changed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if changed[i], err = change(p); err != nil {
			return nil, err
		}
	}
	return changed, nil
}
