// Package delivery is what the workflows of deliveries do to the world: the file, Telegram and the job's record.
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
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/yandex"
)

// Store is what the activities need of the record.
type Store interface {
	JobByID(ctx context.Context, id int64) (delivery.Job, error)
	ChangeJob(ctx context.Context, id int64, decide func(*delivery.JobWalk) error) (delivery.Job, error)
	BeatJob(ctx context.Context, id int64, claim int, bytesSent int64) (ours bool, err error)
	MarkAckPending(ctx context.Context, id int64, claim int, pending bool) (ours bool, err error)

	SentFile(ctx context.Context, sha256 string, size int64) (fileID, name string, err error)
	SaveSentFile(ctx context.Context, f delivery.SentFile) error
	ForgetSentFile(ctx context.Context, fileID string) error

	RaiseAlert(ctx context.Context, kind string) error
	ResolveAlert(ctx context.Context, kind string) error
}

// Telegram is where files go.
type Telegram interface {
	SendDocument(ctx context.Context, params *telego.SendDocumentParams) (*telego.Message, error)
}

// Temporal tells a workflow how its attempt stands, and an attempt whether an operator has reset it.
type Temporal interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, name string, arg any) error
	DescribeWorkflowExecution(
		ctx context.Context, workflowID, runID string,
	) (*workflowservice.DescribeWorkflowExecutionResponse, error)
}

// Storage is where files come from.
type Storage interface {
	Stat(ctx context.Context, path string) (yandex.Item, error)
	Open(ctx context.Context, path string, offset int64) (*yandex.Download, error)
}

// Activities carries files from the storage to Telegram. Bytes flow in one pipe, so one activity does the whole
// attempt.
type Activities struct {
	Store    Store
	Storage  Storage
	Telegram Telegram
	Temporal Temporal
	Spool    *Spool // nil: stream
	Metrics  *metrics.Metrics
	Log      *slog.Logger
	Settings Settings

	healthy atomic.Bool // no alert of ours is open
}

// Settings are the limits of delivery activities.
type Settings struct {
	TTL             time.Duration // for the first claim
	JobTimeout      time.Duration // in workers' hands, over all tries
	StorageTimeout  time.Duration // without a byte from the storage
	SendInitTimeout time.Duration // until Telegram takes the first byte
	ChunkTimeout    time.Duration // without progress towards Telegram
	ShortRetryAfter time.Duration // a longer 429 ends the try
	MaxFileSize     int64         // bytes
	CacheChat       int64         // 0: none
	HandOverAfter   time.Duration // a attempt goes on for no longer in a worker that was told to stop
}

// Receipt is how a attempt ended: the job's final state. Everything else stands in the record.
type Receipt struct {
	State lifecycle.DeliveryState `json:"state"`
}

// Deliver takes a queued job and brings its file to the user's chat. It writes the stages it passes, fenced by the
// number of its claim, so that a worker that was given up can neither write nor send. Errors are ApplicationErrors
// whose type is a fault code; those worth a retry put the job back into the queue first. Once the last bytes are let
// go without an answer the outcome is unknown, and no later try sends again.
func (c *Activities) Deliver(ctx context.Context, jobID int64) (Receipt, error) {
	ride := &attempt{Activities: c, jobID: jobID}
	defer ride.beat(ctx)()
	err := ride.claim(ctx)
	if err == nil {
		err = ride.carry(ctx)
	}
	return ride.settle(ctx, err)
}

// errEnded says that the job has its end already: nothing is left to do.
var errEnded = errors.New("the job has ended")

// claim takes the job for this try, in one transaction: what a lost worker left is settled, QUEUED becomes CLAIMED, and
// the attempt starts unless the rules forbid it.
func (r *attempt) claim(ctx context.Context) error {
	var refusal error
	lost := false
	job, err := r.change(ctx, func(walk *delivery.JobWalk) error {
		refusal, lost = nil, false
		if walk.Terminal() {
			refusal = errEnded
			return nil
		}

		job, steps := walk.Row, service.DeliverySteps{JobWalk: walk}
		if job.Claim == 0 && job.Now.Sub(job.CreatedAt) > r.Settings.TTL {
			refusal = fault.New(fault.NotClaimedInTime, "no worker was free within %s", r.Settings.TTL)
			return nil
		}

		if job.State != lifecycle.DeliveryQueued {
			if job.AckPendingAt != nil {
				refusal = r.settleLost(ctx, steps)
				return nil
			}
			if steps.TakeOver(activity.GetInfo(ctx).Attempt == 1) != nil {
				refusal = fault.New(fault.WorkerLost, "the worker was lost in the last try")
				return nil
			}
			lost = true
		}

		if err := steps.Claim(); err != nil {
			return err
		}

		refusal = steps.Do(lifecycle.DeliveryActionStartDownload, "")
		return nil
	})
	if err != nil {
		return err
	}

	r.enter(job)
	if lost {
		r.tellAttempt(ctx)
	}
	return refusal
}

// settleLost decides about a job whose worker was lost after the last bytes were let go, by the last heartbeat.
func (r *attempt) settleLost(ctx context.Context, s service.DeliverySteps) error {
	var last lifecycle.DeliveryHeartbeat
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &last) != nil {
		last = lifecycle.DeliveryHeartbeat{} // what cannot be read proves nothing
	}
	if err := s.SettleLost(last.MessageID); err != nil {
		return err
	}
	return errEnded
}

// settle writes what a failed attempt means for the job and tells Temporal.
func (r *attempt) settle(ctx context.Context, err error) (Receipt, error) {
	if err == nil || errors.Is(err, errEnded) {
		r.Metrics.JobAttempts.WithLabelValues("ok").Inc()
		r.resolveAlerts(ctx)
		return Receipt{State: r.job().State}, nil
	}
	if errors.Is(err, errWorkerStops) {
		return r.handOver(ctx, "")
	}

	failure := temporalio.FaultOf(err)
	if errors.Is(err, errFenced) {
		return r.settleFenced(ctx)
	}
	if ctx.Err() != nil && failure.Code != fault.OutcomeUnknown {
		return r.settleInterrupted(ctx)
	}

	r.Metrics.JobAttempts.WithLabelValues(string(failure.Code)).Inc()
	r.Log.Warn(
		"delivery try failed", "job", r.jobID, "attempt", r.job().Attempt+1, "code", failure.Code, "cause", failure.Cause,
	)
	r.raiseAlert(ctx, failure.Code)

	if failure.Retryable && !r.putBack(ctx, failure.Code, failure.RetryAfter) {
		last := *failure
		last.Retryable = false
		failure = &last
	}
	return Receipt{}, temporalio.ToTemporal(failure)
}

// settleInterrupted writes what it means that the activity was stopped from outside.
func (r *attempt) settleInterrupted(ctx context.Context) (Receipt, error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, activity.ErrActivityPaused):
		return r.handOver(ctx, fault.PausedByOperator)
	case errors.Is(cause, activity.ErrActivityReset):
		return r.handOver(ctx, fault.ResetByOperator)
	case temporalio.IsNotFound(cause) && r.wasReset(ctx):
		return r.handOver(ctx, fault.ResetByOperator)
	case !temporal.IsCanceledError(cause): // the worker stops, or lost the server: another try goes on
		r.putBack(ctx, fault.WorkerLost, 0)
	}

	r.Metrics.JobAttempts.WithLabelValues("interrupted").Inc()
	return Receipt{}, ctx.Err()
}

// wasReset says whether an operator has reset the activity: Temporal counts its attempts from 1 again, and tells a
// worker in a later attempt only that it has ended.
func (r *attempt) wasReset(ctx context.Context) bool {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	description, err := r.Temporal.DescribeWorkflowExecution(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(description.PendingActivities, func(pending *workflowpb.PendingActivityInfo) bool {
		return pending.ActivityId == info.ActivityID && pending.Attempt < info.Attempt
	})
}

// handOver puts the job into the queue for another attempt, because this worker stops in good order, or because an
// operator has paused or reset the activity: no try is lost by that.
func (r *attempt) handOver(ctx context.Context, reason fault.Code) (Receipt, error) {
	r.Metrics.JobAttempts.WithLabelValues("handed_over").Inc()
	write, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()

	err := r.step(write, func(s service.DeliverySteps) error {
		next := nextAttempt(ctx, s.Row.Now, 0)
		if reason == fault.PausedByOperator {
			next = nil // when the operator says so
		}
		return s.HandOver(reason, next)
	})
	if unknown := fault.As(err); unknown != nil && unknown.Code == fault.OutcomeUnknown {
		return Receipt{}, temporalio.ToTemporal(unknown)
	}

	if err != nil {
		// the next claim will find the job held and put it back itself
		r.Log.Warn("job not handed over", "job", r.jobID, "error", err)
	} else {
		r.tellAttempt(ctx)
	}
	return Receipt{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "the attempt was handed over").Retry())
}

// settleFenced lets go of a job that is no longer this attempt's: whoever took it over writes what becomes of it.
func (r *attempt) settleFenced(ctx context.Context) (Receipt, error) {
	r.Metrics.JobAttempts.WithLabelValues("fenced").Inc()
	if job, err := r.Store.JobByID(ctx, r.jobID); err == nil && lifecycle.Delivery.Terminal(job.State) {
		return Receipt{State: job.State}, nil
	}
	return Receipt{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "the job was given to another worker").Retry())
}

// tokenAlerts are the failures that only an administrator can repair.
var tokenAlerts = map[fault.Code]string{
	fault.YandexUnauthorized:   notice.AlertStorageToken,
	fault.TelegramUnauthorized: notice.AlertTelegramToken,
}

func (c *Activities) raiseAlert(ctx context.Context, code fault.Code) {
	kind, ok := tokenAlerts[code]
	if !ok {
		return
	}
	c.healthy.Store(false)
	if err := c.Store.RaiseAlert(ctx, kind); err != nil {
		c.Log.Error("alert not raised", "kind", kind, "error", err)
	}
}

// resolveAlerts closes open alerts after a attempt that went well: both tokens work again.
func (c *Activities) resolveAlerts(ctx context.Context) {
	if c.healthy.Swap(true) {
		return
	}
	for _, kind := range tokenAlerts {
		if err := c.Store.ResolveAlert(ctx, kind); err != nil {
			c.healthy.Store(false)
		}
	}
}
