package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

// attempt is one attempt to deliver one job: the state shared by the activity, the pipe and the heartbeat.
type attempt struct {
	*Activities
	jobID  int64
	failed int                // failed attempts before this one
	sent   *delivery.SentFile // what Telegram had at the claim; nil: unknown, or used

	mu         sync.Mutex
	record     delivery.Job // as last written by this attempt
	stateSince time.Time    // when record.State was entered
	pipe       *pipe        // in use; nil: none
	message    int64        // Telegram's receipt
	stop       context.CancelCauseFunc

	notifying sync.Mutex              // held while the workflow is notified, so that its signals keep their order
	notified  lifecycle.DeliveryState // the state shown by the workflow, as far as this attempt knows

	gate       sync.Mutex // held while the last bytes are sent, and by a cancel at that moment
	unanswered bool       // the last bytes are sent but not yet answered
}

const (
	heartbeatEvery = time.Second
	recordEvery    = 2 * time.Second  // progress for people
	writeTimeout   = 10 * time.Second // of one transaction
	lastingState   = time.Second      // the minimum age of a state to be worth an event in the workflow's history

	handOverTimeout = 3 * time.Second // for an interrupted attempt's writes: it must end in time to report them
)

// errLeaseLost means that another attempt has taken over the job.
var errLeaseLost = errors.New("the job was given to another worker")

func (a *attempt) job() delivery.Job {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.record
}

func (a *attempt) enter(job delivery.Job) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if job.State != a.record.State {
		a.stateSince = time.Now()
	}
	a.record = job
}

// write changes the job's row. It waits while PostgreSQL is unavailable, which is not a failure of the delivery.
func (a *attempt) write(ctx context.Context, change func(context.Context) error) error {
	return core.RetryWhileUnavailable(ctx, func() error {
		// After a cancel it must be known whether this was written.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		return change(ctx)
	})
}

// step edits the job's row as the holder of the current claim. A lost claim ends the attempt.
func (a *attempt) step(ctx context.Context, edit func(deliveries.Steps) error) error {
	return a.write(ctx, func(ctx context.Context) error {
		claim := a.job().Claim
		job, err := a.Store.Change(ctx, a.jobID, func(walk *delivery.JobWalk) error {
			if walk.Row.Claim != claim || walk.Terminal() {
				return errLeaseLost
			}
			walk.Row.HeartbeatAt = &walk.Row.Now
			return edit(deliveries.Steps{JobWalk: walk})
		})
		if err == nil {
			a.enter(job)
		}
		return err
	})
}

// putBack returns the job to the queue after an attempt that failed with code. pause is the delay required by the
// failure; 0: none.
func (a *attempt) putBack(ctx context.Context, code fault.Code, pause time.Duration) {
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()

	err := a.step(write, func(s deliveries.Steps) error {
		return s.Requeue(code, a.failed+1, nextAttempt(ctx, s.Row.Now, pause))
	})
	if err != nil { // the next claim finds the job claimed, and requeues it itself
		a.Log.Warn("job not requeued", "job", a.jobID, "error", err)
		return
	}

	a.notifyAttempt(ctx)
}

// heartbeats sends heartbeats until stop is called: to Temporal, which notices a lost worker and delivers a cancel; to
// the record, for people; and to the workflow if a state lasts.
func (a *attempt) heartbeats(ctx context.Context) (stop func()) {
	done, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(heartbeatEvery)
		defer ticker.Stop()

		var recorded time.Time
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}

			now := a.progress()
			activity.RecordHeartbeat(ctx, now)
			if time.Since(recorded) >= recordEvery && now.Stage != "" {
				recorded = time.Now()
				a.recordProgress(ctx, now)
			}

			a.mu.Lock()
			lasts := !lifecycle.Delivery.Terminal(a.record.State) && time.Since(a.stateSince) >= lastingState
			a.mu.Unlock()
			if lasts {
				a.notifyState(ctx, now.Stage)
			}
		}
	}()

	return func() { close(done); <-finished }
}

func (a *attempt) progress() lifecycle.DeliveryHeartbeat {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := lifecycle.DeliveryHeartbeat{Stage: a.record.State, MessageID: a.message}
	if a.pipe != nil {
		now.Bytes = a.pipe.sent.Load()
	}
	return now
}

func (a *attempt) recordProgress(ctx context.Context, now lifecycle.DeliveryHeartbeat) {
	// even while a cancelled attempt waits for its answer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatEvery)
	defer cancel()
	ours, err := a.Store.Beat(ctx, a.jobID, a.job().Claim, now.Bytes)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && !ours && a.message == 0 && a.stop != nil {
		a.stop(errLeaseLost)
	}
}
