package torznab

import (
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/time/rate"

	"stagecoach/internal/fault"
)

const (
	requestsPerSecond = 2 // to one indexer, of all users
	requestBurst      = 10

	failuresToSkip       = 3 // consecutive requests without an answer
	firstPause, maxPause = 5 * time.Second, time.Minute
	longestRest          = 24 * time.Hour // that an indexer may request
)

// peer is an indexer with this process's record of its answers. A silent one delays only the searches that try it: the
// three that detect it, and one after each pause, which grows. One that requests a pause is not queried earlier.
type peer struct {
	Indexer
	rate *rate.Limiter

	mu       sync.Mutex
	failures int // requests without an answer since the last one with an answer
	pauses   backoff.ExponentialBackOff
	until    time.Time // until when it is skipped
	trying   bool      // after a pause
}

func newPeer(i Indexer) *peer {
	return &peer{
		Indexer: i, rate: rate.NewLimiter(requestsPerSecond, requestBurst),
		pauses: backoff.ExponentialBackOff{
			InitialInterval: firstPause, Multiplier: 2, RandomizationFactor: 0.2, MaxInterval: maxPause,
		},
	}
}

// begin reports whether the indexer may be queried now; then end must follow.
func (p *peer) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.trying || time.Now().Before(p.until) {
		return false
	}
	p.trying = p.failures >= failuresToSkip
	return true
}

// end records the outcome of the query.
func (p *peer) end(problem *fault.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case problem == errRate: // it was not queried
	case problem != nil && problem.RetryAfter > 0:
		p.until = time.Now().Add(min(problem.RetryAfter, longestRest))
	case problem == errAway, problem == errBusy:
		if p.failures++; p.trying || p.failures == failuresToSkip {
			p.until = time.Now().Add(p.pauses.NextBackOff())
		}
	default:
		p.failures = 0
		p.pauses.Reset()
	}
	p.trying = false
}
