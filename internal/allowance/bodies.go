package allowance

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"stagecoach/internal/store/account"
)

// How many bytes of bodies a process holds at the same time. What is made of a body needs some times as much.
const (
	bodiesOfUsers  = 16 << 20
	bodiesOfAdmins = 4 << 20 // administrators have a part of their own
	bodiesOfOne    = 4 << 20 // of one user, with the user's agents
)

// bodyPatience is how long a body waits until others are done.
const bodyPatience = 2 * time.Second

// Bodies bounds the bytes of requests that a process holds in memory at the same time. It is safe for concurrent use.
type Bodies struct {
	users, admins *semaphore.Weighted

	mu   sync.Mutex
	held map[int64]int64 // bytes, by user
}

// NewBodies makes the bound of a process.
func NewBodies() *Bodies {
	return &Bodies{
		users: semaphore.NewWeighted(bodiesOfUsers), admins: semaphore.NewWeighted(bodiesOfAdmins), held: map[int64]int64{},
	}
}

// Held is what one request holds.
type Held struct {
	of   *Bodies // nil: it is not counted
	user account.User
	all  *semaphore.Weighted
	n    int64
}

// Hold begins a request of a user that holds nothing yet.
func (b *Bodies) Hold(user account.User) *Held {
	if user.IsAdmin() {
		return &Held{of: b, user: user, all: b.admins}
	}
	return &Held{of: b, user: user, all: b.users}
}

// Free begins a request that is counted elsewhere.
func (b *Bodies) Free() *Held { return &Held{} }

// Take counts more bytes of the request, when there is room for them within a short time. RATE_LIMITED says when to try
// again.
func (h *Held) Take(ctx context.Context, n int64) error {
	if h.of == nil || n == 0 {
		return nil
	}
	if !h.of.count(h.user, n) {
		return tooMany(LimitBodies, bodyPatience)
	}
	h.n += n

	if h.all.TryAcquire(n) {
		return nil
	}

	soon, cancel := context.WithTimeout(ctx, bodyPatience)
	defer cancel()
	err := h.all.Acquire(soon, n)
	if err == nil {
		return nil
	}

	h.n -= n
	h.of.count(h.user, -n)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return tooMany(LimitBodies, bodyPatience)
	}
	return err
}

// Release gives back all that the request holds.
func (h *Held) Release() {
	if h.of == nil || h.n == 0 {
		return
	}
	h.all.Release(h.n)
	h.of.count(h.user, -h.n)
	h.n = 0
}

// count adds to what a user holds, unless it would be too much.
func (b *Bodies) count(user account.User, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()

	payer := payerOf(user)
	total := b.held[payer] + n
	if n > 0 && total > bodiesOfOne {
		return false
	}

	b.held[payer] = total
	if total == 0 {
		delete(b.held, payer)
	}
	return true
}
