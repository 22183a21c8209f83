// Package allowance bounds the rates of requests: of users over all processes, of strangers within a process.
package allowance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

const (
	burst     = 5 // seconds of the rate that may be used at once after a pause
	chunks    = 4 // a second's rate is borrowed in so many parts
	forgotten = time.Minute
)

// Reserver keeps allowances that all processes share.
type Reserver interface {
	Reserve(ctx context.Context, key string, rate account.Rate, n int, patience time.Duration) (time.Duration, error)
}

// Users bounds the requests of each user over all processes. A process borrows a small part of a user's allowance at a
// time and counts within it, so that few requests cost a statement. Other processes cannot use what it borrows: with p
// processes a user may get up to p parts more than the burst, once. It is safe for concurrent use.
type Users struct {
	shared    Reserver
	perSecond int
	refused   *secrets // of users, until they may send the next request

	mu    sync.Mutex
	users map[int64]*share
	swept time.Time
}

// share is what a process has borrowed for one user.
type share struct {
	asking chan struct{} // holds one slot, for the user of the fields below

	left         int
	refusedUntil time.Time
	used         time.Time
}

// NewUsers makes the bound of so many requests per second; 0: none.
func NewUsers(shared Reserver, perSecond int) *Users {
	return &Users{shared: shared, perSecond: perSecond, refused: newSecrets(), users: map[int64]*share{}}
}

// Take uses one request of a user's allowance. Agents use their owner's, and administrators have no bound. RATE_LIMITED
// says when to try again.
func (u *Users) Take(ctx context.Context, user account.User) error { return u.TakeMany(ctx, user, 1) }

// TakeMany uses several requests of a user's allowance, for one that is worth as many: at most the burst.
func (u *Users) TakeMany(ctx context.Context, user account.User, n int) error {
	if u.perSecond == 0 || n == 0 || user.IsAdmin() {
		return nil
	}

	n = min(n, burst*u.perSecond)
	payer := payerOf(user)
	mine := u.shareOf(payer)
	select {
	case mine.asking <- struct{}{}:
		defer func() { <-mine.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}

	if wait := time.Until(mine.refusedUntil); wait > 0 {
		return tooMany(LimitRequests, wait)
	}

	if mine.left < n {
		if err := u.borrow(ctx, payer, mine, n-mine.left); err != nil {
			return err
		}
	}

	mine.left -= n
	return nil
}

// TakeBy is Take for who has identified themselves by a secret. A refusal is remembered for Check.
func (u *Users) TakeBy(ctx context.Context, user account.User, secret string) error {
	err := u.Take(ctx, user)
	if refusal := fault.As(err); refusal != nil && refusal.Code == fault.RateLimited {
		u.refused.put(secret, time.Now().Add(refusal.RetryAfter))
	}
	return err
}

// Check refuses a secret whose user was refused a moment ago, before anybody looks up whose it is.
func (u *Users) Check(secret string) error {
	if wait := time.Until(u.refused.until(secret)); wait > 0 {
		return tooMany(LimitRequests, wait)
	}
	return nil
}

// borrow takes the next part of a user's allowance, of so many requests at least.
func (u *Users) borrow(ctx context.Context, userID int64, mine *share, least int) error {
	part := max(least, u.perSecond/chunks)
	rate := account.Rate{PerSecond: float64(u.perSecond), Burst: burst * u.perSecond}
	_, err := u.shared.Reserve(ctx, fmt.Sprintf("requests/%d", userID), rate, part, 0)
	if refusal := fault.As(err); refusal != nil && refusal.Code == fault.RateLimited {
		mine.refusedUntil = time.Now().Add(refusal.RetryAfter)
		return tooMany(LimitRequests, refusal.RetryAfter)
	}

	if err == nil {
		mine.left += part
	}
	return err
}

// payerOf gives the user against whose allowances a user counts: agents count against their owner's.
func payerOf(user account.User) int64 {
	if user.OwnerID != nil {
		return *user.OwnerID
	}
	return user.ID
}

// shareOf finds the share of a user. At times it also drops users without recent requests.
func (u *Users) shareOf(userID int64) *share {
	u.mu.Lock()
	defer u.mu.Unlock()

	now := time.Now()
	if now.Sub(u.swept) > forgotten {
		u.swept = now
		for id, one := range u.users {
			if now.Sub(one.used) > forgotten {
				delete(u.users, id)
			}
		}
	}

	mine := u.users[userID]
	if mine == nil {
		mine = &share{asking: make(chan struct{}, 1)}
		u.users[userID] = mine
	}

	mine.used = now
	return mine
}
