// Package delivery is the first workload: a file goes from the storage to a Telegram chat.
//
// A job is one workflow. The Deliver activity waits in its task queue (QUEUED), is claimed by one worker (CLAIMED),
// opens the file (DOWNLOADING), streams bytes to Telegram (STREAMING) and ends when Telegram acknowledges (DELIVERED).
// The activity's retry policy counts the attempts and returns a retryable failed one to the queue. A missing heartbeat
// reveals a dead worker. An attempt interrupted without having failed ends its execution, and the workflow executes the
// activity again with the remaining attempts. The schedule-to-start timeout ends a job that no worker claims. A cancel,
// by an update or a signal, reaches the stream through the heartbeat. The activity records the states it passes, with
// its claim's fencing token; the workflow records the end.
package delivery

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/delivery"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// Settings are the limits that the workflow sets for its activity.
type Settings struct {
	TTL              time.Duration // maximum time QUEUED
	JobTimeout       time.Duration // of one attempt
	HeartbeatTimeout time.Duration
	RetryInterval    time.Duration // before the second attempt; doubled for the third
}

// freeInterruptions is how often an attempt may be interrupted without having failed: each further one counts as an
// attempt.
const freeInterruptions = 10

// Workflow drives delivery jobs.
type Workflow struct{ Settings Settings }

// Used only to name the activities; the worker has the real ones.
var (
	deliveries *activities.Activities
	records    *activities.Records
)

// Run drives one job to its end. It completes if the file was delivered, is cancelled if a person stopped it, and
// otherwise fails with the reason's code, so that operators find each kind by its status.
func (w *Workflow) Run(ctx workflow.Context, jobID int64) (lifecycle.DeliveryOutcome, error) {
	delivering, stop := workflow.WithCancel(ctx)
	job := &run{id: jobID, settings: w.Settings, stop: stop}
	if err := job.listen(ctx); err != nil {
		return lifecycle.DeliveryOutcome{}, err
	}

	job.enter(ctx, lifecycle.DeliveryQueued)
	outcome, err := w.deliver(ctx, delivering, job)
	if err != nil {
		return outcome, err
	}

	job.outcome, job.attempt.Reason = &outcome, outcome.Reason
	job.enter(ctx, outcome.State)
	job.show(ctx)
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return outcome, err
	}

	switch outcome.State {
	case lifecycle.DeliveryDelivered:
		return outcome, nil
	case lifecycle.DeliveryCancelled:
		return outcome, temporal.NewCanceledError()
	default:
		return outcome, temporalio.Failed(fmt.Sprintf("the job ended %s", outcome.State), string(outcome.Reason))
	}
}

// deliver executes the activity until the job has ended.
func (w *Workflow) deliver(ctx, delivering workflow.Context, job *run) (lifecycle.DeliveryOutcome, error) {
	// It is queued for the rest of its TTL, because the workflow may have waited long for a worker. Temporal ends the wait
	// of a job that no worker claims, and the activity refuses a first claim that comes too late. A job whose time is up
	// is queued too: a setting must never decide between commands, or changing it would break running workflows.
	options := w.deliverOptions()
	waited := workflow.Now(ctx).Sub(workflow.GetInfo(ctx).WorkflowStartTime)
	options.ScheduleToStartTimeout = max(w.Settings.TTL-waited, time.Second)

	for interruptions, used := 1, 0; ; interruptions++ {
		options.RetryPolicy.MaximumAttempts = int32(lifecycle.DeliveryTries - used)
		in := lifecycle.DeliveryExecution{JobID: job.id, Used: used}
		activity := workflow.ExecuteActivity(workflow.WithActivityOptions(delivering, options), deliveries.Deliver, in)
		err := activity.Get(delivering, &job.receipt)
		failed, interrupted := temporalio.InterruptedIn(err)
		if !interrupted || delivering.Err() != nil {
			outcome, err := job.finish(ctx, err)
			if err != nil || outcome.State != lifecycle.DeliveryQueued {
				return outcome, err
			}
			failed = outcome.Failed
		}

		used = max(used, failed)
		if interruptions > freeInterruptions {
			used++
		}
		if used >= lifecycle.DeliveryTries {
			return job.finish(ctx, temporalio.Failed("the attempts were interrupted too often", string(fault.WorkerLost)))
		}

		options.ScheduleToStartTimeout = 0
		job.goOn(ctx, lifecycle.Attempt{State: lifecycle.DeliveryQueued, Failed: used, Reason: job.attempt.Reason})
	}
}

// deliverOptions leave the queue, the retries and the watchdog to Temporal: users take turns by the fairness key with
// which the workflow was started, a missing heartbeat reveals a lost worker, and attempts are counted.
func (w *Workflow) deliverOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           lifecycle.DeliveryQueue,
		StartToCloseTimeout: w.Settings.JobTimeout + time.Minute, // only for a hung attempt
		HeartbeatTimeout:    w.Settings.HeartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: w.Settings.RetryInterval, BackoffCoefficient: 2,
			MaximumInterval: max(time.Minute, w.Settings.RetryInterval),
		},
		Summary: "storage → Telegram",
	}
}

// run is the workflow's knowledge of its job.
type run struct {
	id        int64
	settings  Settings
	attempt   lifecycle.Attempt // as last reported
	receipt   activities.Receipt
	view      lifecycle.DeliveryView
	cancelled bool
	outcome   *lifecycle.DeliveryOutcome // nil: the job has not ended

	stop workflow.CancelFunc // of the activity
}

// listen handles the query, the update and a cancel by signal, and the activity's signals: lasting states, and attempts
// that did not end the job.
func (r *run) listen(ctx workflow.Context) error {
	if err := record.Answer(ctx, func() lifecycle.DeliveryView { return r.view }); err != nil {
		return err
	}
	err := record.Updates(ctx, lifecycle.DeliveryUpdates, "the delivery: actor (a user id)", r.validate, r.update)
	if err != nil {
		return err
	}

	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, lifecycle.CancelSignal).Receive(ctx, nil)
		r.cancel()
	})

	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var stage lifecycle.DeliveryState
			workflow.GetSignalChannel(ctx, lifecycle.DeliveryStageSignal).Receive(ctx, &stage)
			if !r.cancelled && string(stage) != r.view.State {
				r.enter(ctx, stage)
				r.show(ctx)
			}
		}
	})

	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var attempt lifecycle.Attempt
			workflow.GetSignalChannel(ctx, lifecycle.DeliveryAttemptSignal).Receive(ctx, &attempt)
			if !r.cancelled {
				r.goOn(ctx, attempt)
			}
		}
	})
	return nil
}

// cancel stops the activity; the end follows.
func (r *run) cancel() {
	r.cancelled = true
	r.stop()
}

// validate checks the form of an update; the record decides.
func (r *run) validate(_ workflow.Context, _ lifecycle.DeliveryAction, in lifecycle.DeliveryInput) error {
	if err := lifecycle.CheckActor(in.Actor); err != nil {
		return temporalio.Refusal(fault.As(err))
	}
	return nil
}

// update cancels the job for a person, and answers with its end.
func (r *run) update(
	ctx workflow.Context, action lifecycle.DeliveryAction, in lifecycle.DeliveryInput,
) (lifecycle.DeliveryOutcome, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	request := lifecycle.DeliveryCancel{JobID: r.id, Actor: in.Actor, RequestID: workflow.GetCurrentUpdateInfo(ctx).ID}
	if _, err := record.Do(ctx, string(action), records.CancelJob, request); err != nil {
		return lifecycle.DeliveryOutcome{}, err
	}

	r.cancel()
	if err := workflow.Await(ctx, func() bool { return r.outcome != nil }); err != nil {
		return lifecycle.DeliveryOutcome{}, err
	}
	return *r.outcome, nil
}

// goOn shows the progress of the attempts.
func (r *run) goOn(ctx workflow.Context, attempt lifecycle.Attempt) {
	r.attempt = attempt
	r.enter(ctx, attempt.State)
	r.show(ctx)
}

// show lets operators find the workflow by its state.
func (r *run) show(ctx workflow.Context) {
	record.Show(ctx, record.Shown{
		Stage: r.view.State, WaitsFor: r.view.WaitsFor, DeadlineAt: r.view.DeadlineAt,
		Attention: r.view.LastError == fault.OutcomeUnknown,
	})
}

// finish records the end of the last execution, unless the activity has done so. QUEUED: the job has not ended.
func (r *run) finish(ctx workflow.Context, err error) (lifecycle.DeliveryOutcome, error) {
	if err == nil && r.receipt.State == lifecycle.DeliveryDelivered {
		return lifecycle.DeliveryOutcome{State: r.receipt.State}, nil
	}

	end := lifecycle.DeliveryEnd{JobID: r.id, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkerLost}
	timeout, timedOut := errors.AsType[*temporal.TimeoutError](err)
	code := temporalio.CodeIn(err)
	switch {
	case timedOut && receiptIn(timeout) != 0: // its worker was lost after Telegram's answer, in the last attempt
		end.Action, end.Reason, end.Message = lifecycle.DeliveryActionAcknowledge, "", receiptIn(timeout)
	case r.cancelled || ctx.Err() != nil: // whatever the last attempt failed with
		end.Action, end.Reason = lifecycle.DeliveryActionCancel, fault.CancelledByUser
	case timedOut && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START,
		code == fault.NotClaimedInTime:
		end.Action, end.Reason = lifecycle.DeliveryActionExpire, fault.NotClaimedInTime
	case timedOut && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_START_TO_CLOSE:
		end.Reason = fault.JobTimeout
	case code != "":
		end.Reason = code
	case err != nil: // a timeout, or an attempt that ended without a reason
		end.Lost = true
	}

	return record.Do(ctx, "write the end", records.FinishJob, end)
}

// receiptIn returns Telegram's receipt from a lost worker's last heartbeat; 0: none.
func receiptIn(timeout *temporal.TimeoutError) int64 {
	var last lifecycle.DeliveryHeartbeat
	if !timeout.HasLastHeartbeatDetails() || timeout.LastHeartbeatDetails(&last) != nil {
		return 0
	}
	return last.MessageID
}
