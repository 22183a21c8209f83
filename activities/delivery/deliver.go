// Package delivery has the activities of deliveries: they act on the file, Telegram and the job's record.
//
// As in all packages of activities each exported method of a registered struct is an activity, under its bare name.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mymmrac/telego"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/yandex"
)

// Store is the part of the record that the activities use.
type Store interface {
	ByID(ctx context.Context, id int64) (delivery.Job, error)
	Change(ctx context.Context, id int64, decide func(*delivery.JobWalk) error) (delivery.Job, error)
	Advance(ctx context.Context, known delivery.Job, decide func(*delivery.JobWalk) error) (*delivery.Job, error)
	Claim(
		ctx context.Context, id int64, ttl time.Duration, decide func(*delivery.JobWalk) error,
	) (*delivery.Job, delivery.SentFile, error)
	Beat(ctx context.Context, id int64, claim int, bytesSent int64) (ours bool, err error)
	MarkAckPending(ctx context.Context, id int64, claim int, pending bool) (ours bool, err error)

	SentFile(ctx context.Context, sha256 string, size int64) (fileID, name string, err error)
	SaveSentFile(ctx context.Context, f delivery.SentFile) error
	ForgetSentFile(ctx context.Context, fileID string) error
}

// Alerts tells the administrators of what only they can repair.
type Alerts interface {
	RaiseAlert(ctx context.Context, kind string) error
	ResolveAlert(ctx context.Context, kind string) error
}

// Telegram is the destination of files.
type Telegram interface {
	SendDocument(ctx context.Context, params *telego.SendDocumentParams) (*telego.Message, error)
}

// Temporal notifies a workflow of the progress of its attempt, and says whether an operator has reset an attempt.
type Temporal interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, name string, arg any) error
	DescribeWorkflowExecution(
		ctx context.Context, workflowID, runID string,
	) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// Storage is the source of files.
type Storage interface {
	Stat(ctx context.Context, path string) (yandex.Item, error)
	Open(ctx context.Context, path string, offset int64) (*yandex.Download, error)
}

// Activities sends files from the storage to Telegram. The bytes flow through one process, so one activity is a
// complete attempt.
type Activities struct {
	Store    Store
	Alerts   Alerts
	Storage  Storage
	Telegram Telegram
	Temporal Temporal
	Spool    *Spool // nil: stream
	Metrics  metrics.Delivery
	Log      *slog.Logger
	Settings Settings

	healthy atomic.Bool // no alert of ours is open
}

// Settings are the limits of delivery activities.
type Settings struct {
	TTL             time.Duration // for the first claim
	JobTimeout      time.Duration // of one attempt
	StorageTimeout  time.Duration // without a byte from the storage
	SendInitTimeout time.Duration // until Telegram takes the first byte
	ChunkTimeout    time.Duration // without progress towards Telegram
	ShortRetryAfter time.Duration // a longer 429 ends the try
	MaxFileSize     int64         // bytes
	CacheChat       int64         // 0: none
	HandOverAfter   time.Duration // how long an attempt goes on in a worker that stops
}

// Receipt is the result of an attempt: the job's final state. The record has everything else.
type Receipt struct {
	State lifecycle.DeliveryState `json:"state"`
}

// Deliver takes a queued job and sends its file to the user's chat. It writes the states that it passes. Each write has
// the fencing token of the attempt's claim, so that a worker that has lost its claim can neither write nor send. Errors
// are ApplicationErrors whose type is a fault code; before an error that the policy retries the job is put back into the
// queue. Once the last bytes are sent without an answer the outcome is unknown, and no later attempt sends again. An
// attempt that has not failed ends the execution as interrupted.
func (a *Activities) Deliver(ctx context.Context, in lifecycle.DeliveryExecution) (Receipt, error) {
	attempt := &attempt{Activities: a, jobID: in.JobID, failed: in.Used + int(activity.GetInfo(ctx).Attempt) - 1}
	defer attempt.heartbeats(ctx)()

	err := attempt.claim(ctx)
	if err == nil {
		err = attempt.transferFile(ctx)
	}
	return attempt.settle(ctx, err)
}

var (
	// errEnded means that the job has already ended: nothing is left to do.
	errEnded = errors.New("the job has ended")

	// errOvercounted means that Temporal counts attempts before this one that were no tries: an operator has paused one, or a
	// worker that was frozen has taken one.
	errOvercounted = errors.New("fewer tries have failed than attempts")
)

// claim takes the job for this attempt, in one transaction: it settles what a lost worker left, QUEUED becomes CLAIMED,
// and the attempt starts unless the rules forbid it. A first attempt takes the job as it was created, in one round trip
// to PostgreSQL; only a job that is not so any more is locked and read.
func (a *attempt) claim(ctx context.Context) error {
	var refusal error
	lost := false
	decide := func(walk *delivery.JobWalk) error {
		steps := service.DeliverySteps{JobWalk: walk}
		if refusal, lost = a.settleBefore(ctx, steps); refusal != nil {
			return nil
		}
		if err := steps.Claim(a.failed); err != nil {
			return err
		}

		refusal = steps.Do(lifecycle.DeliveryActionStartDownload, "")
		return nil
	}

	err := a.write(ctx, func(write context.Context) error {
		if activity.GetInfo(ctx).Attempt == 1 {
			job, sent, err := a.Store.Claim(write, a.jobID, a.Settings.TTL, decide)
			if err != nil {
				return err
			}
			if job != nil {
				a.enter(*job)
				a.sent = &sent
				return nil
			}
		}

		return a.changeLocked(write, decide)
	})
	if err != nil {
		return err
	}

	if lost {
		a.notifyAttempt(ctx)
	}
	return refusal
}

// settleBefore settles what the previous attempt has left. refusal says why this attempt does not begin; lost says that
// the worker of the previous attempt was lost.
func (a *attempt) settleBefore(ctx context.Context, steps service.DeliverySteps) (refusal error, lost bool) {
	job := steps.Row

	switch {
	case steps.Terminal():
		return errEnded, false
	case job.Claim == 0 && job.Now.Sub(job.CreatedAt) > a.Settings.TTL:
		return fault.New(fault.NotClaimedInTime, "no worker was free within %s", a.Settings.TTL), false
	case job.State != lifecycle.DeliveryQueued && job.AckPendingAt != nil:
		return a.settleLost(ctx, steps), false
	}

	if lost = job.State != lifecycle.DeliveryQueued; lost {
		refusal = a.takeOver(ctx, steps)
	}
	if refusal == nil && job.Attempt < a.failed {
		refusal = errOvercounted
	}
	return refusal, lost
}

// takeOver puts a job back that the attempt before still holds: its worker was lost. When Temporal counts attempts from
// the beginning, an operator has reset the activity or the workflow, and the attempt was not lost.
func (a *attempt) takeOver(ctx context.Context, steps service.DeliverySteps) error {
	if activity.GetInfo(ctx).Attempt == 1 {
		return steps.HandOver(fault.ResetByOperator)
	}
	return steps.Requeue(fault.WorkerLost, steps.Row.Attempt+1, nil)
}

// isLast reports whether the retry policy has no attempt after this one.
func isLast(ctx context.Context) bool {
	info := activity.GetInfo(ctx)
	return info.RetryPolicy != nil && info.Attempt >= info.RetryPolicy.MaximumAttempts
}

// settleLost decides, by the last heartbeat, about a job whose worker was lost after the last bytes were sent.
func (a *attempt) settleLost(ctx context.Context, s service.DeliverySteps) error {
	var last lifecycle.DeliveryHeartbeat
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &last) != nil {
		last = lifecycle.DeliveryHeartbeat{} // an unreadable heartbeat proves nothing
	}
	if err := s.SettleLost(last.MessageID); err != nil {
		return err
	}
	return errEnded
}

// settle writes what a failed attempt means for the job and reports it to Temporal.
func (a *attempt) settle(ctx context.Context, err error) (Receipt, error) {
	if err == nil || errors.Is(err, errEnded) {
		a.Metrics.JobAttempts.WithLabelValues("ok").Inc()
		a.resolveAlerts(ctx)
		return Receipt{State: a.job().State}, nil
	}
	if errors.Is(err, errWorkerStops) {
		return a.handOver(ctx, "")
	}
	if errors.Is(err, errOvercounted) {
		return Receipt{}, temporalio.Interrupted(a.job().Attempt)
	}

	failure := temporalio.FaultOf(err)
	if errors.Is(err, errLeaseLost) {
		return a.settleLeaseLost(ctx)
	}
	if ctx.Err() != nil && failure.Code != fault.OutcomeUnknown {
		return a.settleInterrupted(ctx)
	}

	a.Metrics.JobAttempts.WithLabelValues(string(failure.Code)).Inc()
	a.Log.Warn(
		"delivery try failed", "job", a.jobID, "attempt", a.failed+1, "code", failure.Code, "cause", failure.Cause,
	)
	a.raiseAlert(ctx, failure.Code)

	if failure.Retryable && !isLast(ctx) {
		a.putBack(ctx, failure.Code, failure.RetryAfter)
	}
	return Receipt{}, temporalio.ToTemporal(failure)
}

// settleInterrupted writes the result of an activity that was stopped from outside.
func (a *attempt) settleInterrupted(ctx context.Context) (Receipt, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, activity.ErrActivityPaused):
		return a.handOver(ctx, fault.PausedByOperator)
	case errors.Is(cause, activity.ErrActivityReset):
		return a.handOver(ctx, fault.ResetByOperator)
	case temporalio.IsNotFound(cause) && a.wasReset(ctx):
		return a.handOver(ctx, fault.ResetByOperator)
	case !temporal.IsCanceledError(cause) && !isLast(ctx): // the worker stops, or lost the server: another try follows
		a.putBack(ctx, fault.WorkerLost, 0)
	}

	a.Metrics.JobAttempts.WithLabelValues("interrupted").Inc()
	return Receipt{}, ctx.Err()
}

// wasReset says whether an operator has reset the activity. Temporal then counts its attempts from 1 again, and reports
// to a worker in a later attempt only that the attempt has ended.
func (a *attempt) wasReset(ctx context.Context) bool {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
	defer cancel()
	description, err := a.Temporal.DescribeWorkflowExecution(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(description.PendingActivities, func(pending *workflowpb.PendingActivityInfo) bool {
		return pending.ActivityId == info.ActivityID && pending.Attempt < info.Attempt
	})
}

// handOver puts the job into the queue for another attempt, because this worker stops in good order, or because an
// operator has paused or reset the activity: this try has not failed. Temporal keeps the activity that the operator has
// stopped; else its execution ends here.
func (a *attempt) handOver(ctx context.Context, reason fault.Code) (Receipt, error) {
	a.Metrics.JobAttempts.WithLabelValues("handed_over").Inc()
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()

	err := a.step(write, func(s service.DeliverySteps) error { return s.HandOver(reason) })
	switch {
	case fault.CodeOf(err) == fault.OutcomeUnknown:
		return Receipt{}, temporalio.ToTemporal(fault.As(err))
	case err != nil: // the next claim finds the job held and puts it back itself
		a.Log.Warn("job not handed over", "job", a.jobID, "error", err)
	case reason == "":
		return Receipt{}, temporalio.Interrupted(a.failed)
	default:
		a.notifyAttempt(ctx)
	}
	return Receipt{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "the attempt was handed over").Retry())
}

// settleLeaseLost leaves a job that another attempt has taken over: that attempt writes the result.
func (a *attempt) settleLeaseLost(ctx context.Context) (Receipt, error) {
	a.Metrics.JobAttempts.WithLabelValues("fenced").Inc()
	if job, err := a.Store.ByID(ctx, a.jobID); err == nil && lifecycle.Delivery.Terminal(job.State) {
		return Receipt{State: job.State}, nil
	}
	return Receipt{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "the job was given to another worker").Retry())
}
