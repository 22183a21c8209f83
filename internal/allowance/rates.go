package allowance

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// remembered bounds the keys, and the secrets, of one memory: some megabytes.
const remembered = 20_000

// Rate is how often something may happen: PerSecond on average, in bursts of at most Burst.
type Rate struct {
	PerSecond float64 // must be positive
	Burst     int     // at least 1
}

// Hash stands for a text as a key.
type Hash = [sha256.Size]byte

// Key is what rates are kept by. All keys have a fixed size: a caller's text could use any amount of memory, so its
// hash is the key.
type Key interface {
	int | int64 | netip.Prefix | Hash
}

// Rates limits how often something may happen in this process, separately for each key. It is safe for concurrent use.
// The zero value has counted nothing yet.
type Rates[K Key] struct {
	mu       sync.Mutex
	limiters map[K]*rate.Limiter
}

// Take counts one event of a key. If there were too many, it counts nothing and returns how long to wait.
func (r *Rates[K]) Take(key K, of Rate) (wait time.Duration) { return r.TakeMany(key, of, 1) }

// TakeMany is Take for n events at once, at most a burst.
func (r *Rates[K]) TakeMany(key K, of Rate, n int) (wait time.Duration) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()

	limiter := r.limiter(key, of, now)
	if limiter.AllowN(now, n) {
		return 0
	}
	return waitOf(limiter, now, n)
}

// Check returns how long to wait until an event of a key is possible, and counts nothing.
func (r *Rates[K]) Check(key K) (wait time.Duration) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()

	limiter := r.limiters[key]
	if limiter == nil || limiter.TokensAt(now) >= 1 {
		return 0
	}
	return waitOf(limiter, now, 1)
}

// Spend counts an event of a key that has happened, even if it exceeds the limit.
func (r *Rates[K]) Spend(key K, of Rate) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.limiter(key, of, now).ReserveN(now, 1)
}

// limiter returns a key's limiter. r.mu must be held.
func (r *Rates[K]) limiter(key K, of Rate, now time.Time) *rate.Limiter {
	limiter := r.limiters[key]
	if limiter != nil {
		return limiter
	}

	if r.limiters == nil {
		r.limiters = map[K]*rate.Limiter{}
	}

	// A key with a full allowance is equivalent to an unknown one.
	makeRoom(r.limiters, func(l *rate.Limiter) bool { return l.TokensAt(now) >= float64(l.Burst()) })

	limiter = rate.NewLimiter(rate.Limit(of.PerSecond), of.Burst)
	r.limiters[key] = limiter
	return limiter
}

// waitOf returns how long until n events are possible that are not possible now.
func waitOf(limiter *rate.Limiter, now time.Time, n int) time.Duration {
	missing := float64(n) - limiter.TokensAt(now)
	return max(time.Millisecond, time.Duration(missing/float64(limiter.Limit())*float64(time.Second)))
}

// makeRoom drops expired entries from a full memory, and everything if too much is left: limits do not stop a flood
// from that many addresses, and a valid token is soon stored again.
func makeRoom[K Key, V any](memory map[K]V, over func(V) bool) {
	if len(memory) < remembered {
		return
	}

	for key, value := range memory {
		if over(value) {
			delete(memory, key)
		}
	}

	if len(memory) >= remembered {
		clear(memory)
	}
}
