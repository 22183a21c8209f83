package allowance

import (
	"crypto/sha256"
	"sync"
	"time"
)

// secrets remembers something about secrets, each until its own time, in a bounded memory that contains none of them.
type secrets struct {
	mu    sync.Mutex
	times map[Hash]time.Time
}

func newSecrets() *secrets { return &secrets{times: map[Hash]time.Time{}} }

// until returns the time stored for a secret; zero: none, or forgotten.
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
