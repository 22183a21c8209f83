package core

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// pseudonyms replace the ids of people in logs. They have a key, because a hash alone of a small number is found by
// trying all numbers.
type pseudonyms struct{ key []byte }

// newPseudonyms derives the key from the first encryption key: all programs of an installation use the same names. One
// without keys has names of its own, which nobody can trace.
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

// Of returns the name of what has this id among its kind.
func (p pseudonyms) Of(kind string, id int64) string {
	mac := hmac.New(sha256.New, p.key)
	fmt.Fprintf(mac, "%s/%d", kind, id)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
