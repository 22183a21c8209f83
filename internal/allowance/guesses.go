package allowance

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

const (
	remembered = 20_000 // addresses, and tokens: some megabytes
	known      = time.Hour
)

// Guesses bounds how many requests with a wrong token one network address may make in this process. Valid tokens do not
// count, and a token that was valid within the last hour is never refused: users behind one proxy share its address
// with an attacker. It is safe for concurrent use.
type Guesses struct {
	perSecond int

	mu    sync.Mutex
	whole map[netip.Prefix]time.Time      // when the allowance of an address is full again
	right map[[sha256.Size]byte]time.Time // until when a token needs no allowance
}

// NewGuesses makes the bound of so many wrong tokens per second; 0: none.
func NewGuesses(perSecond int) *Guesses {
	return &Guesses{perSecond: perSecond, whole: map[netip.Prefix]time.Time{}, right: map[[sha256.Size]byte]time.Time{}}
}

// Check refuses a token of an address that has sent too many wrong ones, with RATE_LIMITED.
func (g *Guesses) Check(remote, token string) error {
	if g.perSecond == 0 {
		return nil
	}

	hash := sha256.Sum256([]byte(token))
	g.mu.Lock()
	defer g.mu.Unlock()

	if time.Now().Before(g.right[hash]) {
		return nil
	}
	if wait := time.Until(g.whole[network(remote)].Add(g.one() - burst*time.Second)); wait > 0 {
		return tooMany(LimitWrongTokens, wait)
	}

	return nil
}

// Right remembers a valid token.
func (g *Guesses) Right(token string) {
	if g.perSecond == 0 {
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
	if g.perSecond == 0 {
		return
	}

	hash, from := sha256.Sum256([]byte(token)), network(remote)
	g.mu.Lock()
	defer g.mu.Unlock()

	delete(g.right, hash) // it was revoked
	now := time.Now()
	makeRoom(g.whole, now)
	begin := g.whole[from]
	if begin.Before(now) {
		begin = now
	}

	g.whole[from] = begin.Add(g.one())
}

// one is the time that a guess takes from the allowance.
func (g *Guesses) one() time.Duration { return time.Second / time.Duration(g.perSecond) }

// makeRoom drops expired entries of a full memory, and all entries when too many are left: limits by address do not
// stop a flood from so many addresses, and a valid token is soon stored again.
func makeRoom[K comparable](memory map[K]time.Time, now time.Time) {
	if len(memory) < remembered {
		return
	}

	for key, until := range memory {
		if until.Before(now) {
			delete(memory, key)
		}
	}

	if len(memory) >= remembered {
		clear(memory)
	}
}

// network is what one attacker can use: an IPv4 address, or an IPv6 network of 64 bits. All unknown addresses share
// one.
func network(remote string) netip.Prefix {
	from, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}

	address := from.Addr().Unmap()
	bits := 32
	if address.Is6() {
		bits = 64
	}

	prefix, err := address.Prefix(bits)
	if err != nil { // with a zone
		prefix, _ = address.WithZone("").Prefix(bits)
	}
	return prefix
}
