package core

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// pseudonyms replace people's ids in logs. They are keyed, because the plain hash of a small number is found by trying
// all numbers.
type pseudonyms struct{ key []byte }

// newPseudonyms derives the key from the first encryption key, so that all programs of an installation use the same
// names. Without keys the names are its own and cannot be traced.
func newPseudonyms(keys [][]byte) (pseudonyms, error) {
	first := make([]byte, sha256.Size)
	if len(keys) > 0 {
		first = keys[0]
	} else {
		rand.Read(first)
	}
	key, err := hkdf.Key(sha256.New, first, nil, "stagecoach: names of users in logs", sha256.Size)
	return pseudonyms{key}, err
}

// Of returns the name for an id of a kind.
func (p pseudonyms) Of(kind string, id int64) string {
	mac := hmac.New(sha256.New, p.key)
	fmt.Fprintf(mac, "%s/%d", kind, id)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
