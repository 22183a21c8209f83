package temporalio

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// An activity that works in a loop for as long as it may sends its heartbeats from the loop: after each call, page and
// write, and while it waits for the next round. A heartbeat therefore says that the loop gets on, and a call that hangs
// ends the attempt, so that the next one takes over.

// watchdog ends the context of an attempt that makes no progress.
type watchdog struct {
	patience time.Duration
	timer    *time.Timer
}

type watchdogKey struct{}

// errNoProgress is why a watchdog has ended a context. Temporal tries again.
var errNoProgress = temporal.NewApplicationError("the attempt made no progress", "NO_PROGRESS")

// WithWatchdog gives a context for the loop of an activity. It ends when nothing calls progressed for three quarters of
// the activity's heartbeat time-out, before Temporal gives the attempt up: what the attempt holds is free when the next
// one begins. An activity without that time-out has no watchdog.
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

// Progressed tells Temporal, and the watchdog, that the activity gets on.
func Progressed(ctx context.Context) {
	activity.RecordHeartbeat(ctx)
	if w := watchdogOf(ctx); w != nil {
		w.timer.Reset(w.patience)
	}
}

// stepTimeout bounds one call of a watched loop, with its waiting for a turn. It is shorter than the patience of the
// loops' watchdogs, so that a system that hangs costs its call, not the attempt.
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

// WhileWaiting gives the ticks at which a loop that waits is to call progressed.
func WhileWaiting(ctx context.Context) *time.Ticker {
	if w := watchdogOf(ctx); w != nil {
		return time.NewTicker(min(HeartbeatEvery, w.patience/3))
	}
	return time.NewTicker(HeartbeatEvery)
}

// LoopWait waits until next, for as long as the loop may go on. False: the attempt ends, or the worker does.
func LoopWait(ctx context.Context, next <-chan time.Time) bool {
	alive := WhileWaiting(ctx)
	defer alive.Stop()

	for {
		select {
		case <-ctx.Done():
			return false
		case <-activity.GetWorkerStopChannel(ctx): // the next worker goes on at once
			return false
		case <-alive.C:
			Progressed(ctx)
		case <-next:
			return true
		}
	}
}

// LoopOutcome is what an attempt ends with whose loop is over: nothing when its time was, or its worker's.
func LoopOutcome(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errNoProgress) {
		return errNoProgress
	}
	return ctx.Err()
}
