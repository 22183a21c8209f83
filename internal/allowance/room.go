package allowance

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"stagecoach/internal/store/account"
)

// How many bytes of bodies a process holds at a time. Processing a body takes several times as much.
const (
	bodiesOfUsers  = 16 << 20
	bodiesOfAdmins = 4 << 20 // administrators have a share of their own
	bodiesOfOne    = 4 << 20 // per user, with the user's agents
)

// roomPatience is how long a request waits for others to finish.
const roomPatience = 2 * time.Second

// Room limits what a process's requests hold at a time: bytes of memory, or slots. It is safe for concurrent use.
type Room struct {
	limit         string // its name, in refusals
	ofOne         int64
	users, admins *semaphore.Weighted

	mu   sync.Mutex
	held map[int64]int64 // by person
}

// NewRoom makes a limit: per person with their agents, for all users, and for administrators, who have a share of their
// own.
func NewRoom(limit string, ofOne, ofUsers, ofAdmins int64) *Room {
	return &Room{
		limit: limit, ofOne: ofOne,
		users: semaphore.NewWeighted(ofUsers), admins: semaphore.NewWeighted(ofAdmins), held: map[int64]int64{},
	}
}

// NewBodies makes the limit for the bytes of bodies held by a process.
func NewBodies() *Room { return NewRoom(LimitBodies, bodiesOfOne, bodiesOfUsers, bodiesOfAdmins) }

// Held is what one request holds.
type Held struct {
	of   *Room // nil: it is not counted
	user account.User
	all  *semaphore.Weighted
	n    int64
}

// Hold begins a user's request, which holds nothing yet.
func (r *Room) Hold(user account.User) *Held {
	if user.IsAdmin() {
		return &Held{of: r, user: user, all: r.admins}
	}
	return &Held{of: r, user: user, all: r.users}
}

// Free begins a request that is counted elsewhere.
func (r *Room) Free() *Held { return &Held{} }

// Take counts more for the request, if there is room within a short time. RATE_LIMITED says when to retry.
func (h *Held) Take(ctx context.Context, n int64) error {
	if h.of == nil || n == 0 {
		return nil
	}
	if !h.of.count(h.user, n) {
		return tooMany(h.of.limit, roomPatience)
	}
	h.n += n

	if h.all.TryAcquire(n) {
		return nil
	}

	soon, cancel := context.WithTimeout(ctx, roomPatience)
	defer cancel()
	err := h.all.Acquire(soon, n)
	if err == nil {
		return nil
	}

	h.n -= n
	h.of.count(h.user, -n)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return tooMany(h.of.limit, roomPatience)
	}
	return err
}

// Release returns everything that the request holds.
func (h *Held) Release() {
	if h.of == nil || h.n == 0 {
		return
	}
	h.all.Release(h.n)
	h.of.count(h.user, -h.n)
	h.n = 0
}

// count adds to what a user's person holds, unless it would be too much.
func (r *Room) count(user account.User, n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()

	person := user.PersonID()
	total := r.held[person] + n
	if n > 0 && total > r.ofOne {
		return false
	}

	r.held[person] = total
	if total == 0 {
		delete(r.held, person)
	}
	return true
}
