package outbound

import "golang.org/x/time/rate"

// NewLimiter makes a client's rate limiter. Its burst is one second's requests, at least one.
func NewLimiter(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}
