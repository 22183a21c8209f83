package temporalio

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// An activity that loops without an end sends its heartbeats from the loop: after each call, page and write, and while
// it waits for the next round. A heartbeat therefore shows progress, and a call that hangs ends the attempt, so that
// the next attempt takes over.

// watchdog ends the context of an attempt that makes no progress.
type watchdog struct {
	patience time.Duration
	timer    *time.Timer
}

type watchdogKey struct{}

// errNoProgress is the cause of a context that a watchdog ended. Temporal retries.
var errNoProgress = temporal.NewApplicationError("the attempt made no progress", "NO_PROGRESS")

// WithWatchdog gives a context for the loop of an activity. It ends when nothing calls progressed for three quarters of
// the activity's heartbeat time-out, before Temporal gives up the attempt: its locks are free when the next attempt
// begins. An activity without that time-out has no watchdog.
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

// watchdogOf gives the watchdog of a loop's context; nil: it has none.
func watchdogOf(ctx context.Context) *watchdog {
	w, _ := ctx.Value(watchdogKey{}).(*watchdog)
	return w
}

// Progressed reports progress to Temporal, with these details, and to the watchdog. Outside of an activity, as in a command, it does nothing.
func Progressed(ctx context.Context, details ...any) {
	if !activity.IsActivity(ctx) { // the SDK panics
		return
	}
	activity.RecordHeartbeat(ctx, details...)
	if w := watchdogOf(ctx); w != nil {
		w.timer.Reset(w.patience)
	}
}

// stepTimeout bounds one call of a watched loop, with its wait for a turn. It is shorter than the time of the loops'
// watchdogs, so that a system that hangs fails its call, not the attempt.
const stepTimeout = 20 * time.Second

// LoopStep makes one call of a watched loop. An answer is progress, whatever it says.
func LoopStep(ctx context.Context, call func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()

	err := call(bounded)
	if ctx.Err() == nil {
		Progressed(ctx)
	}
	return err
}

// WhileWaiting gives the ticks at which a waiting loop calls Progressed.
func WhileWaiting(ctx context.Context) *time.Ticker {
	if w := watchdogOf(ctx); w != nil {
		return time.NewTicker(min(HeartbeatEvery, w.patience/3))
	}
	return time.NewTicker(HeartbeatEvery)
}

// LoopWait waits for next. False: the attempt or the worker ends, and the loop must too.
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

// LoopOutcome is the error of an attempt whose loop is over; nil when its time is over or its worker stops.
func LoopOutcome(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errNoProgress) {
		return errNoProgress
	}
	return ctx.Err()
}
