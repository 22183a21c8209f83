package transaction

import (
	"sync"
	"time"
)

// Bell notifies those who wait for a payment that the chain may have decided one. It is only a hint within a process:
// the record is polled in any case. The zero value is ready for use.
type Bell struct {
	mu   sync.Mutex
	wait map[chan time.Time]bool
}

// listen returns a channel that receives the next ring, until off is called.
func (b *Bell) listen() (rung chan time.Time, off func()) {
	rung = make(chan time.Time, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wait == nil {
		b.wait = map[chan time.Time]bool{}
	}
	b.wait[rung] = true

	return rung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.wait, rung)
	}
}

// Ring wakes all listeners.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for rung := range b.wait {
		send(rung)
	}
}

// send rings a channel, unless a ring is already pending.
func send(rung chan<- time.Time) {
	select {
	case rung <- time.Now():
	default:
	}
}
