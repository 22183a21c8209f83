package account

import (
	"regexp"

	"stagecoach/internal/store/core"
)

var secrets = regexp.MustCompile(`^[A-Z2-7]{52}$`)

// IsSecret reports whether a text has the form of NewSecret's.
func IsSecret(text string) bool { return secrets.MatchString(text) }

// attemptPlace is the place of a sealed sign-in attempt: a browser's cookie, not a row.
const attemptPlace core.Place = "cookie/attempt"

// SealAttempt encrypts a sign-in attempt for the browser to keep.
func (s *Store) SealAttempt(attempt []byte) []byte {
	return s.db.Sealer.Seal(string(attempt), attemptPlace)
}

// OpenAttempt decrypts what any process of this installation sealed with SealAttempt, and fails for anything else.
func (s *Store) OpenAttempt(sealed []byte) ([]byte, error) {
	attempt, err := s.db.Sealer.Open(sealed, attemptPlace)
	return []byte(attempt), err
}
