package transaction

import (
	"sync"
	"time"
)

const (
	priceAge     = 10 * time.Second // for a quote; the payment costs what its own request says
	recipientAge = time.Minute      // a name may change owners
	mostKnown    = 1000
)

// known is a TTL cache. The zero value is ready for use.
type known[K comparable, V any] struct {
	mu      sync.Mutex
	answers map[K]answer[V]
}

type answer[V any] struct {
	value V
	at    time.Time
}

// get returns the answer for key if it is at most age old, otherwise the result of ask. Age 0 always asks.
func (k *known[K, V]) get(key K, age time.Duration, ask func() (V, error)) (V, error) {
	k.mu.Lock()
	kept, found := k.answers[key]
	k.mu.Unlock()
	if found && time.Since(kept.at) < age {
		return kept.value, nil
	}

	value, err := ask()
	if err != nil {
		return value, err
	}

	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers == nil || len(k.answers) >= mostKnown {
		k.answers = map[K]answer[V]{}
	}
	k.answers[key] = answer[V]{value, time.Now()}
	return value, nil
}
