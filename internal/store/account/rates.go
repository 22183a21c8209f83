package account

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Rate is how often something may happen: PerSecond on average, Burst at once after a pause.
type Rate struct {
	PerSecond float64 // must be positive
	Burst     int     // at least 1
}

// interval is the share of one event of the allowance.
func (r Rate) interval() time.Duration { return time.Duration(float64(time.Second) / r.PerSecond) }

// Reserve takes n events from the allowance of key, which all processes share: clock and count are PostgreSQL's. It
// returns how long the caller must wait before the first event; 0: no wait. When the wait would exceed patience,
// nothing is taken, and the error is RATE_LIMITED with the wait as its RetryAfter. A caller that can wait passes its
// patience and sleeps; a caller that must answer at once passes 0:
//
//	wait, err := s.Reserve(ctx, "fragment/"+session, store.Rate{PerSecond: 2, Burst: 1}, 1, time.Minute)
//
// A reservation cannot be returned. A key must not contain a secret or personal data: the table stores it in plain
// text.
//
// One statement decides (the generic cell rate algorithm: the row keeps the time at which the allowance is full again),
// so that callers wait for the row of their own key alone.
func (s *Store) Reserve(
	ctx context.Context, key string, rate Rate, n int, patience time.Duration,
) (wait time.Duration, err error) {
	cost := time.Duration(n) * rate.interval()
	// more than the burst is possible after a longer pause
	whole := time.Duration(max(rate.Burst, n)) * rate.interval()

	wait, err = core.Value[time.Duration](ctx, s.db, `INSERT INTO rate_limits AS r (key, tat) VALUES ($1, clock_timestamp() + $2::interval)
		ON CONFLICT (key) DO UPDATE SET tat = greatest(r.tat, clock_timestamp()) + $2::interval
			WHERE greatest(r.tat, clock_timestamp()) + $2::interval - $3::interval <= clock_timestamp() + $4::interval
		RETURNING greatest(tat - $3::interval - clock_timestamp(), interval '0')`,
		key, cost, whole, patience)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, s.refuseRate(ctx, key, cost-whole)
	}

	return wait, err
}

// refuseRate returns RATE_LIMITED with the time until the reservation would be possible. ahead is what the reservation
// lacks of a full allowance.
func (s *Store) refuseRate(ctx context.Context, key string, ahead time.Duration) error {
	wait, err := core.Value[time.Duration](ctx, s.db, `SELECT greatest(tat + $2::interval - clock_timestamp(), interval '1 millisecond') FROM rate_limits
		WHERE key = $1`, key, ahead)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // deleted meanwhile: then it is possible now
		return err
	}
	return fault.New(fault.RateLimited, "too many requests: slow down").After(max(wait, time.Millisecond))
}
