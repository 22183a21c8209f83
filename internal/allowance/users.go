// Package allowance limits the rates of requests in this process: of users with their agents, and of strangers.
package allowance

import (
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// burst is the size of a burst, in seconds of the rate.
const burst = 5

// afterPause is a rate of this many requests per second.
func afterPause(perSecond int) Rate {
	return Rate{PerSecond: float64(perSecond), Burst: burst * perSecond}
}

// Users limits each user's requests. It is safe for concurrent use.
type Users struct {
	rate    Rate // per user; zero: no limit
	rates   Rates[int64]
	refused *secrets // of users, until they may send the next request
}

// NewUsers makes a limit of this many requests per second; 0: none.
func NewUsers(perSecond int) *Users {
	return &Users{rate: afterPause(perSecond), refused: newSecrets()}
}

// Take uses one request of a user's allowance. Agents use their owner's, and administrators have no limit. RATE_LIMITED
// says when to retry.
func (u *Users) Take(user account.User) error { return u.TakeMany(user, 1) }

// TakeMany uses several requests of a user's allowance, for a request worth as many: at most the burst.
func (u *Users) TakeMany(user account.User, n int) error {
	if u.rate.Burst == 0 || user.IsAdmin() {
		return nil
	}
	if wait := u.rates.TakeMany(user.PersonID(), u.rate, min(n, u.rate.Burst)); wait > 0 {
		return tooMany(LimitRequests, wait)
	}
	return nil
}

// TakeBy is Take for a user identified by a secret. A refusal is remembered for Check.
func (u *Users) TakeBy(user account.User, secret string) error {
	err := u.Take(user)
	if refusal := fault.As(err); refusal != nil {
		u.refused.put(secret, time.Now().Add(refusal.RetryAfter))
	}
	return err
}

// Check refuses a secret whose user was just refused, before its user is looked up.
func (u *Users) Check(secret string) error {
	if wait := time.Until(u.refused.until(secret)); wait > 0 {
		return tooMany(LimitRequests, wait)
	}
	return nil
}
