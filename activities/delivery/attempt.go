package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

// attempt is one try to deliver one job: the state that the activity, the pipe and the heartbeat share.
type attempt struct {
	*Activities
	jobID  int64
	failed int                // tries that have failed before this one
	sent   *delivery.SentFile // what Telegram had at the claim; nil: not known, or used

	mu         sync.Mutex
	record     delivery.Job // as last written by this attempt
	stateSince time.Time    // when record.State was entered
	pipe       *pipe        // in use; nil: none
	message    int64        // Telegram's receipt
	stop       context.CancelCauseFunc

	notifying sync.Mutex              // held while the workflow is notified, so that its signals keep their order
	notified  lifecycle.DeliveryState // the state that the workflow shows, as far as this attempt knows

	gate       sync.Mutex // held while the last bytes are sent, and by a cancel at that moment
	unanswered bool       // the last bytes are sent and no answer has come yet
}

const (
	heartbeatEvery = time.Second
	recordEvery    = 2 * time.Second  // progress for people
	writeTimeout   = 10 * time.Second // of one transaction
	lastingState   = time.Second      // a state this old is worth an event in the workflow's history
)

// errLeaseLost means that another attempt has taken the job over.
var errLeaseLost = errors.New("the job was given to another worker")

// errWorkerStops means that the worker stops, and that this attempt would not end in time.
var errWorkerStops = errors.New("the worker stops")

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

// write makes a change of the job's row. It waits while PostgreSQL is away, which is not a failure of the delivery.
func (a *attempt) write(ctx context.Context, change func(context.Context) error) error {
	return core.RetryWhileUnavailable(ctx, func() error {
		// After a cancel it must be known whether this was written.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		return change(ctx)
	})
}

// step edits the job's row as the holder of the current claim. A lost claim ends the attempt.
func (a *attempt) step(ctx context.Context, edit func(service.DeliverySteps) error) error {
	return a.write(ctx, func(ctx context.Context) error { return a.stepLocked(ctx, edit) })
}

// stepKnown is step in one round trip to PostgreSQL, for edits that do not reckon with the row's Now. The row is locked
// and read only when it is not as this attempt has written it.
func (a *attempt) stepKnown(ctx context.Context, edit func(service.DeliverySteps) error) error {
	return a.write(ctx, func(ctx context.Context) error {
		known := a.job()
		job, err := a.Store.Advance(ctx, known, holding(known.Claim, edit))
		if err != nil {
			return err
		}
		if job == nil {
			return a.stepLocked(ctx, edit)
		}

		a.enter(*job)
		return nil
	})
}

func (a *attempt) stepLocked(ctx context.Context, edit func(service.DeliverySteps) error) error {
	return a.changeLocked(ctx, holding(a.job().Claim, edit))
}

// changeLocked locks and reads the row, and keeps it as it is after the change.
func (a *attempt) changeLocked(ctx context.Context, decide func(*delivery.JobWalk) error) error {
	job, err := a.Store.Change(ctx, a.jobID, decide)
	if err == nil {
		a.enter(job)
	}
	return err
}

// holding is an edit by the holder of a claim.
func holding(claim int, edit func(service.DeliverySteps) error) func(*delivery.JobWalk) error {
	return func(walk *delivery.JobWalk) error {
		job := walk.Row
		if job.Claim != claim || walk.Terminal() {
			return errLeaseLost
		}
		job.HeartbeatAt = &job.Now
		return edit(service.DeliverySteps{JobWalk: walk})
	}
}

// putBack puts the job into the queue again after a try that failed with code. pause is the pause that the failure asks
// for; 0: none.
func (a *attempt) putBack(ctx context.Context, code fault.Code, pause time.Duration) {
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()

	err := a.step(write, func(s service.DeliverySteps) error {
		return s.Requeue(code, a.failed+1, nextAttempt(ctx, s.Row.Now, pause))
	})
	if err != nil { // the next claim finds the job held and puts it back itself
		a.Log.Warn("job not put back", "job", a.jobID, "error", err)
		return
	}

	a.notifyAttempt(ctx)
}

// heartbeats sends heartbeats until stop is called: to Temporal, which notices a lost worker and returns a cancel; to
// the record, for people; and to the workflow when a state lasts.
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

			if a.stateLasts() {
				a.notifyState(ctx, now.Stage)
			}
		}
	}()

	return func() { close(done); <-finished }
}

// cancelOnWorkerStop cancels the attempt some time after the worker has begun to stop, unless stop is called before.
func (a *attempt) cancelOnWorkerStop(ctx context.Context, giveUp context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-activity.GetWorkerStopChannel(ctx):
		}
		select {
		case <-done:
		case <-time.After(a.Settings.HandOverAfter):
			giveUp(errWorkerStops)
		}
	}()

	return func() { close(done) }
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

func (a *attempt) stateLasts() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !lifecycle.Delivery.Terminal(a.record.State) && time.Since(a.stateSince) >= lastingState
}

func (a *attempt) recordProgress(ctx context.Context, now lifecycle.DeliveryHeartbeat) {
	// also while a cancelled attempt waits for its answer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heartbeatEvery)
	defer cancel()
	ours, err := a.Store.Beat(ctx, a.jobID, a.job().Claim, now.Bytes)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && !ours && a.message == 0 && a.stop != nil {
		a.stop(errLeaseLost)
	}
}
