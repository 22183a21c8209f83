package allowance

import (
	"crypto/sha256"
	"sync"
	"time"
)

const known = time.Hour

// Guesses bounds how many requests with a wrong token one network address may make in this process. Valid tokens do not
// count, and a token that was valid within the last hour is never refused: users behind one proxy share its address
// with an attacker. It is safe for concurrent use.
type Guesses struct {
	wrong *Addresses

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // until when a token needs no allowance
}

// NewGuesses makes the bound of so many wrong tokens per second; 0: none.
func NewGuesses(perSecond int) *Guesses {
	return &Guesses{wrong: NewAddresses(LimitWrongTokens, perSecond), right: map[[sha256.Size]byte]time.Time{}}
}

// Check refuses a token of an address that has sent too many wrong ones, with RATE_LIMITED.
func (g *Guesses) Check(remote, token string) error {
	hash := sha256.Sum256([]byte(token))
	g.mu.Lock()
	right := time.Now().Before(g.right[hash])
	g.mu.Unlock()
	if right {
		return nil
	}
	return g.wrong.check(remote)
}

// Right remembers a valid token.
func (g *Guesses) Right(token string) {
	if g.wrong.perSecond == 0 {
		return
	}
	hash := sha256.Sum256([]byte(token))
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	makeRoom(g.right, now)
	g.right[hash] = now.Add(known)
}

// Wrong counts a token that is not valid.
func (g *Guesses) Wrong(remote, token string) {
	g.mu.Lock()
	delete(g.right, sha256.Sum256([]byte(token))) // it was revoked
	g.mu.Unlock()
	g.wrong.spend(remote)
}
