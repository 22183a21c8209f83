package outbound

import "golang.org/x/time/rate"

// NewLimiter makes the rate of a client's requests. After a pause the requests of one second, one at least, may go at
// once.
func NewLimiter(perSecond float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}
