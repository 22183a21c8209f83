package outbound_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

// TestLimiter waits as long as the shared allowance says, gives up when that is too long, and keeps to the rate by
// itself while the allowance cannot be asked.
func TestLimiter(t *testing.T) {
	t.Parallel()

	const perSecond = 10
	reserving := func(wait time.Duration, err error) *outbound.Limiter {
		return outbound.NewLimiter(perSecond, func(_ context.Context, rate float64, burst int, patience time.Duration) (time.Duration, error) {
			if rate != perSecond || burst != perSecond || patience <= 0 || patience > time.Minute {
				t.Errorf("asked for %v, %d at once, within %s", rate, burst, patience)
			}
			return wait, err
		})
	}

	began := time.Now()
	if err := reserving(100*time.Millisecond, nil).Wait(t.Context()); err != nil || time.Since(began) < 100*time.Millisecond {
		t.Errorf("waited %s: %v", time.Since(began), err)
	}

	refused := fault.New(fault.RateLimited, "too many")
	if err := reserving(0, refused).Wait(t.Context()); !errors.Is(err, refused) {
		t.Errorf("a refusal gave %v", err)
	}

	away := reserving(0, fault.New(fault.StoreUnavailable, "away").Retry())
	began = time.Now()
	for range perSecond + 2 {
		if err := away.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	if took := time.Since(began); took < 190*time.Millisecond {
		t.Errorf("%d requests went within %s without the shared allowance", perSecond+2, took)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := reserving(time.Hour, nil).Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}
