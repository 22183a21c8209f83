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

// attempt is one try to deliver one job: what the activity, the pipe and the heartbeat know of it together.
type attempt struct {
	*Activities
	jobID int64

	mu      sync.Mutex
	record  delivery.Job // as this attempt last wrote it
	stageAt time.Time    // when record.State was entered
	pipe    *pipe        // under way; nil: none
	message int64        // Telegram's receipt
	stop    context.CancelCauseFunc

	telling sync.Mutex              // held while the workflow is told, so that it hears in the right order
	told    lifecycle.DeliveryState // what the workflow shows, as far as this attempt knows

	gate  sync.Mutex // held while the last bytes are let go, and by a cancel that comes just then
	letGo bool       // the last bytes are out and no answer has come yet
}

const (
	beatEvery    = time.Second
	recordEvery  = 2 * time.Second  // progress for people
	writeTimeout = 10 * time.Second // of one transaction
	stageLasting = time.Second      // a stage this old is worth an event in the workflow's history
)

// errFenced says that another claim has taken the job over.
var errFenced = errors.New("the job was given to another worker")

// errWorkerStops says that the worker was told to stop, and that this attempt would not end in time.
var errWorkerStops = errors.New("the worker stops")

func (r *attempt) job() delivery.Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.record
}

func (r *attempt) enter(job delivery.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if job.State != r.record.State {
		r.stageAt = time.Now()
	}
	r.record = job
}

// change edits the job's record, waiting while PostgreSQL is away: that is no failure of the delivery.
func (r *attempt) change(ctx context.Context, edit func(*delivery.JobWalk) error) (job delivery.Job, err error) {
	err = core.RetryWhileUnavailable(ctx, func() error {
		// A cancel must not leave it open whether this was written.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		job, err = r.Store.ChangeJob(ctx, r.jobID, edit)
		return err
	})
	return job, err
}

// step edits the job's record as the holder of the current claim; a claim that was taken away ends the attempt.
func (r *attempt) step(ctx context.Context, edit func(service.DeliverySteps) error) error {
	claim := r.job().Claim
	job, err := r.change(ctx, func(walk *delivery.JobWalk) error {
		job := walk.Row
		if job.Claim != claim || walk.Terminal() {
			return errFenced
		}
		job.HeartbeatAt = &job.Now
		return edit(service.DeliverySteps{JobWalk: walk})
	})
	if err == nil {
		r.enter(job)
	}

	return err
}

// putBack puts the job into the queue again after a try that failed with code, and which asks for a pause (0: it does
// not). It is false when the rules leave no try.
func (r *attempt) putBack(ctx context.Context, code fault.Code, pause time.Duration) bool {
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()

	err := r.step(write, func(s service.DeliverySteps) error {
		return s.Requeue(code, s.Row.Now, nextAttempt(ctx, s.Row.Now, pause))
	})
	if fault.CodeOf(err) == fault.TooManyAttempts {
		return false
	}
	if err != nil { // the next claim will find the job held and put it back itself
		r.Log.Warn("job not put back", "job", r.jobID, "error", err)
		return true
	}

	r.tellAttempt(ctx)
	return true
}

// beat sends heartbeats until the function it gives is called: to Temporal, which notices a lost worker and brings a
// cancel back; to the record, for people; and to the workflow when a stage lasts.
func (r *attempt) beat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(beatEvery)
		defer ticker.Stop()

		var recorded time.Time
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}

			now := r.progress()
			activity.RecordHeartbeat(ctx, now)
			if time.Since(recorded) >= recordEvery && now.Stage != "" {
				recorded = time.Now()
				r.recordProgress(ctx, now)
			}

			if r.stageLasts() {
				r.tellStage(ctx, now.Stage)
			}
		}
	}()

	return func() { close(done); <-finished }
}

// cancelOnWorkerStop gives the attempt up some time after the worker was told to stop, until the function it gives is
// called.
func (r *attempt) cancelOnWorkerStop(ctx context.Context, giveUp context.CancelCauseFunc) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-done:
			return
		case <-activity.GetWorkerStopChannel(ctx):
		}
		select {
		case <-done:
		case <-time.After(r.Settings.HandOverAfter):
			giveUp(errWorkerStops)
		}
	}()

	return func() { close(done) }
}

func (r *attempt) progress() lifecycle.DeliveryHeartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := lifecycle.DeliveryHeartbeat{Stage: r.record.State, MessageID: r.message}
	if r.pipe != nil {
		now.Bytes = r.pipe.sent.Load()
	}
	return now
}

func (r *attempt) stageLasts() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !lifecycle.Delivery.Terminal(r.record.State) && time.Since(r.stageAt) >= stageLasting
}

func (r *attempt) recordProgress(ctx context.Context, now lifecycle.DeliveryHeartbeat) {
	// also while a cancelled attempt waits for its answer
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	ours, err := r.Store.BeatJob(ctx, r.jobID, r.job().Claim, now.Bytes)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && !ours && r.message == 0 && r.stop != nil {
		r.stop(errFenced)
	}
}
