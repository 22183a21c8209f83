package temporalio

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// An endlessly looping activity sends its heartbeats from the loop: after each call, page and write, and while it waits
// for the next round. A heartbeat therefore shows progress, and a hanging call ends the attempt, so that the next
// attempt takes over.

// watchdog ends the context of an attempt that makes no progress.
type watchdog struct {
	patience time.Duration
	timer    *time.Timer
}

type watchdogKey struct{}

// errNoProgress is the cause of a context ended by a watchdog. Temporal retries.
var errNoProgress = temporal.NewApplicationError("the attempt made no progress", "NO_PROGRESS")

// WithWatchdog returns a context for an activity's loop. It ends if nothing calls progressed for three quarters of the
// activity's heartbeat timeout, before Temporal gives up on the attempt: its locks are free when the next attempt
// begins. An activity without that timeout has no watchdog.
func WithWatchdog(ctx context.Context) (loop context.Context, stop func()) {
	patience := activity.GetInfo(ctx).HeartbeatTimeout * 3 / 4
	if patience == 0 {
		return context.WithCancel(ctx)
	}

	ended, cancel := context.WithCancelCause(ctx)
	w := &watchdog{patience: patience}
	w.timer = time.AfterFunc(patience, func() { cancel(errNoProgress) })
	return context.WithValue(ended, watchdogKey{}, w), func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// watchdogOf returns the watchdog of a loop's context; nil: none.
func watchdogOf(ctx context.Context) *watchdog {
	w, _ := ctx.Value(watchdogKey{}).(*watchdog)
	return w
}

// Progressed reports progress to Temporal, with these details, and to the watchdog. Outside an activity, as in a
// command, it does nothing.
func Progressed(ctx context.Context, details ...any) {
	if !activity.IsActivity(ctx) { // the SDK panics
		return
	}
	activity.RecordHeartbeat(ctx, details...)
	if w := watchdogOf(ctx); w != nil {
		w.timer.Reset(w.patience)
	}
}

// stepTimeout bounds one call in a watched loop, including its wait for a turn. It is shorter than the loops' watchdog
// times, so that a hanging system fails its call, not the attempt.
const stepTimeout = 20 * time.Second

// LoopStep makes one call in a watched loop. Any answer is progress.
func LoopStep(ctx context.Context, call func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()

	err := call(bounded)
	if ctx.Err() == nil {
		Progressed(ctx)
	}
	return err
}

// WhileWaiting returns the ticks at which a waiting loop calls Progressed.
func WhileWaiting(ctx context.Context) *time.Ticker {
	if w := watchdogOf(ctx); w != nil {
		return time.NewTicker(min(HeartbeatEvery, w.patience/3))
	}
	return time.NewTicker(HeartbeatEvery)
}

// LoopWait waits for next. False: the attempt or the worker is ending, and the loop must too.
func LoopWait(ctx context.Context, next <-chan time.Time) bool {
	alive := WhileWaiting(ctx)
	defer alive.Stop()

	for {
		select {
		case <-ctx.Done():
			return false
		case <-activity.GetWorkerStopChannel(ctx): // the next worker continues at once
			return false
		case <-alive.C:
			Progressed(ctx)
		case <-next:
			return true
		}
	}
}

// LoopOutcome is the error of an attempt whose loop is over; nil if its time is over or its worker is stopping.
func LoopOutcome(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errNoProgress) {
		return errNoProgress
	}
	return ctx.Err()
}
