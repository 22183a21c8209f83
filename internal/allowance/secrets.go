package allowance

import (
	"crypto/sha256"
	"sync"
	"time"
)

// secrets remembers something of secrets, each until a time of its own, in a bounded memory that holds none of them.
type secrets struct {
	mu    sync.Mutex
	times map[[sha256.Size]byte]time.Time
}

func newSecrets() *secrets { return &secrets{times: map[[sha256.Size]byte]time.Time{}} }

// until gives the time that was put for a secret; zero: none was, or it is forgotten.
func (s *secrets) until(secret string) time.Time {
	hash := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[hash]
}

func (s *secrets) put(secret string, until time.Time) {
	hash := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	makeRoom(s.times, func(until time.Time) bool { return until.Before(now) })
	s.times[hash] = until
}

func (s *secrets) drop(secret string) {
	hash := sha256.Sum256([]byte(secret))
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.times, hash)
}
