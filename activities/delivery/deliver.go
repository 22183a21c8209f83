// Package delivery has the activities of deliveries: they act on the file, Telegram and the job's record.
//
// As in all packages of activities, each exported method of a registered struct is an activity, under its bare name.
package delivery

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mymmrac/telego"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/yandex"
)

// Store is the part of the record that the activities use.
type Store interface {
	ByID(ctx context.Context, id int64) (delivery.Job, error)
	Change(ctx context.Context, id int64, decide func(*delivery.JobWalk) error) (delivery.Job, error)
	Claim(
		ctx context.Context, id int64, decide func(*delivery.JobWalk) error,
	) (delivery.Job, delivery.SentFile, error)
	Beat(ctx context.Context, id int64, claim int, bytesSent int64) (ours bool, err error)
	MarkAckPending(ctx context.Context, id int64, claim int, pending bool) (ours bool, err error)

	SentFile(ctx context.Context, sha256 string, size int64) (fileID, name string, err error)
	SaveSentFile(ctx context.Context, f delivery.SentFile) error
	ForgetSentFile(ctx context.Context, fileID string) error
}

// Alerts notifies the administrators of what only they can fix.
type Alerts interface {
	RaiseAlert(ctx context.Context, kind string) error
	ResolveAlert(ctx context.Context, kind string) error
}

// Telegram is the destination of files.
type Telegram interface {
	SendDocument(ctx context.Context, params *telego.SendDocumentParams) (*telego.Message, error)
}

// Temporal notifies a workflow of its attempt's progress, and reports whether an operator has reset an attempt.
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

	healthy      atomic.Bool // no alert of ours is open, except the folder's
	folderUnread atomic.Bool // Telegram's server refused to read the shared folder
}

// Settings are the limits of delivery activities.
type Settings struct {
	TTL             time.Duration // for the first claim
	JobTimeout      time.Duration // of one attempt
	StorageTimeout  time.Duration // without a byte from the storage
	SendInitTimeout time.Duration // until Telegram accepts the first byte
	ChunkTimeout    time.Duration // without progress towards Telegram
	ShortRetryAfter time.Duration // a longer 429 ends the attempt
	MaxFileSize     int64         // bytes
	CacheChat       int64         // 0: none
	HandOverAfter   time.Duration // how long an attempt continues in a stopping worker
}

// Receipt is an attempt's result: the job's final state. The record has everything else.
type Receipt struct {
	State lifecycle.DeliveryState `json:"state"`
}

// Deliver claims a queued job and sends its file to the user's chat, recording each state it passes. Each write carries
// the fencing token of the attempt's claim, so that a worker that has lost its claim can neither write nor send. Errors
// are ApplicationErrors whose type is a fault code; before an error that the policy retries, the job returns to the
// queue. Once the last bytes are sent without an answer the outcome is unknown, and no later attempt sends again. An
// attempt that has not failed ends the execution as interrupted.
func (a *Activities) Deliver(ctx context.Context, in lifecycle.DeliveryExecution) (Receipt, error) {
	attempt := &attempt{Activities: a, jobID: in.JobID, failed: in.Used + int(activity.GetInfo(ctx).Attempt) - 1}
	defer attempt.heartbeats(ctx)()
	working, stop := temporalio.WithHandOver(ctx, a.Settings.HandOverAfter)
	defer stop()

	err := attempt.claim(working)
	if err == nil {
		err = attempt.startDownload(working)
	}
	if err == nil {
		err = attempt.transferFile(working)
	}
	return attempt.settle(ctx, err)
}

var (
	// errEnded means that the job has already ended: nothing is left to do.
	errEnded = errors.New("the job has ended")

	// errOvercounted means that Temporal has counted attempts before this one that do not count as failed: an operator
	// paused one, or a frozen worker took one.
	errOvercounted = errors.New("fewer tries have failed than attempts")
)

// claim claims the job for this attempt, in one transaction: it settles what a lost worker left, and QUEUED becomes
// CLAIMED.
func (a *attempt) claim(ctx context.Context) error {
	var refusal error
	lost := false
	err := a.write(ctx, func(write context.Context) error {
		job, sent, err := a.Store.Claim(write, a.jobID, func(walk *delivery.JobWalk) error {
			steps := deliveries.Steps{JobWalk: walk}
			if refusal, lost = a.settleBefore(ctx, steps); refusal != nil {
				return nil
			}
			return steps.Claim(a.failed)
		})
		if err == nil {
			a.enter(job)
			a.sent = &sent
		}
		return err
	})
	if err != nil {
		return err
	}

	if lost {
		a.notifyAttempt(ctx)
	}
	return refusal
}

// startDownload records that requests to the storage begin, unless the rules forbid it.
func (a *attempt) startDownload(ctx context.Context) error {
	return a.step(ctx, func(s deliveries.Steps) error {
		if s.Row.State == lifecycle.DeliveryDownloading {
			return nil // this write was made before; only its answer was lost
		}
		return s.Do(lifecycle.DeliveryActionStartDownload, "")
	})
}

// settleBefore settles what the previous attempt left. refusal is why this attempt does not begin; lost means that the
// previous attempt's worker was lost.
func (a *attempt) settleBefore(ctx context.Context, steps deliveries.Steps) (refusal error, lost bool) {
	job := steps.Row

	switch {
	case steps.Terminal():
		return errEnded, false
	case job.Claim == 0 && job.Now.Sub(job.CreatedAt) > a.Settings.TTL:
		return fault.New(fault.NotClaimedInTime, "no worker was free within %s", a.Settings.TTL), false
	case job.State != lifecycle.DeliveryQueued && job.AckPendingAt != nil:
		var last lifecycle.DeliveryHeartbeat
		if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &last) != nil {
			last = lifecycle.DeliveryHeartbeat{} // an unreadable heartbeat proves nothing
		}
		if err := steps.SettleLost(last.MessageID); err != nil {
			return err, false
		}
		return errEnded, false
	}

	lost = job.State != lifecycle.DeliveryQueued
	switch {
	case lost && activity.GetInfo(ctx).Attempt == 1:
		// Temporal counts from the beginning: an operator reset the activity or the workflow, or an interrupted attempt could
		// not hand over the job.
		refusal = steps.HandOver(fault.ResetByOperator)
	case lost:
		refusal = steps.Requeue(fault.WorkerLost, job.Attempt+1, nil)
	}
	if refusal == nil && job.Attempt < a.failed {
		refusal = errOvercounted
	}
	return refusal, lost
}

// isLast reports whether the retry policy allows no further attempt.
func isLast(ctx context.Context) bool {
	info := activity.GetInfo(ctx)
	return info.RetryPolicy != nil && info.Attempt >= info.RetryPolicy.MaximumAttempts
}

// settle records what a failed attempt means for the job, and reports it to Temporal.
func (a *attempt) settle(ctx context.Context, err error) (Receipt, error) {
	if err == nil || errors.Is(err, errEnded) {
		a.Metrics.JobAttempts.WithLabelValues("ok").Inc()
		a.resolveAlerts(ctx)
		return Receipt{State: a.job().State}, nil
	}
	if errors.Is(err, errOvercounted) {
		return Receipt{}, temporalio.Interrupted(a.job().Attempt)
	}

	failure := temporalio.FaultOf(err)
	if errors.Is(err, errLeaseLost) { // the attempt that took over the job writes the result
		a.Metrics.JobAttempts.WithLabelValues("fenced").Inc()
		if job, err := a.Store.ByID(ctx, a.jobID); err == nil && lifecycle.Delivery.Terminal(job.State) {
			return Receipt{State: job.State}, nil
		}
		return Receipt{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "the job was given to another worker").Retry())
	}
	if ctx.Err() != nil && failure.Code != fault.OutcomeUnknown {
		return a.settleInterrupted(ctx)
	}
	if temporalio.IsInterruption(err) && a.message == 0 { // else the next attempt needs the receipt in the last heartbeat
		return a.handOver(ctx, "")
	}

	a.Metrics.JobAttempts.WithLabelValues(string(failure.Code)).Inc()
	a.Log.Warn(
		"delivery attempt failed", "job", a.jobID, "attempt", a.failed+1, "code", failure.Code, "cause", failure.Cause,
	)
	a.raiseAlert(ctx, failure.Code)

	if failure.Retryable && !isLast(ctx) {
		a.putBack(ctx, failure.Code, failure.RetryAfter)
	}
	return Receipt{}, temporalio.ToTemporal(failure)
}

// settleInterrupted writes the result of an activity stopped from outside.
func (a *attempt) settleInterrupted(ctx context.Context) (Receipt, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, activity.ErrActivityPaused):
		return a.handOver(ctx, fault.PausedByOperator)
	case errors.Is(cause, activity.ErrActivityReset):
		return a.handOver(ctx, fault.ResetByOperator)
	case errors.Is(cause, worker.ErrWorkerShutdown):
		return a.handOver(ctx, "")
	case temporal.IsCanceledError(cause):
	default:
		stopped, lost := a.stoppedBy(ctx), temporalio.IsServerLost(ctx)
		if stopped != "" || lost {
			return a.handOver(ctx, stopped)
		}
		if !isLast(ctx) { // Temporal has ended this attempt, and another one follows
			a.putBack(ctx, fault.WorkerLost, 0)
		}
	}

	a.Metrics.JobAttempts.WithLabelValues("interrupted").Inc()
	return Receipt{}, ctx.Err()
}

// stoppedBy asks Temporal whether an operator has stopped the activity without this attempt hearing of it: no heartbeat
// was answered, or it was reset, which begins the count of attempts again and ends this one. Empty: no, or unknown.
func (a *attempt) stoppedBy(ctx context.Context) fault.Code {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
	defer cancel()
	description, err := a.Temporal.DescribeWorkflowExecution(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
	if err != nil {
		return ""
	}

	for _, pending := range description.PendingActivities {
		switch {
		case pending.ActivityId != info.ActivityID:
		case pending.Paused:
			return fault.PausedByOperator
		case pending.Attempt < info.Attempt:
			return fault.ResetByOperator
		}
	}
	return ""
}

// handOver returns the job to the queue for another attempt, because this one was interrupted, or because an operator
// paused or reset the activity: this attempt has not failed. Temporal keeps an activity stopped by the operator;
// otherwise its execution ends here.
func (a *attempt) handOver(ctx context.Context, reason fault.Code) (Receipt, error) {
	a.Metrics.JobAttempts.WithLabelValues("handed_over").Inc()
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverTimeout)
	defer cancel()

	err := a.step(write, func(s deliveries.Steps) error { return s.HandOver(reason) })
	switch {
	case fault.CodeOf(err) == fault.OutcomeUnknown:
		return Receipt{}, temporalio.ToTemporal(fault.As(err))
	case err != nil: // the next claim finds the job claimed, and requeues it itself
		a.Log.Warn("interrupted job not requeued", "job", a.jobID, "error", err)
	case reason != "":
		a.notifyAttempt(ctx)
	}

	if reason == "" {
		return Receipt{}, temporalio.Interrupted(a.failed)
	}
	return Receipt{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "the attempt was handed over").Retry())
}
