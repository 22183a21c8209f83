// Package delivery is the first workload: a file goes from the storage to a Telegram chat.
//
// A job is one workflow. The Deliver activity waits in its task queue (QUEUED), is taken by one worker (CLAIMED), opens
// the file (DOWNLOADING), lets bytes flow to Telegram (STREAMING) and ends when Telegram acknowledges (DELIVERED). The
// activity's retry policy puts a failed try that may be repeated back into the queue. A missing heartbeat reveals a
// worker that died. The schedule-to-start time-out ends a job that no worker takes. A cancel reaches the stream through
// the heartbeat. The activity writes the states that it passes, with its claim's fencing token; the workflow writes the
// end.
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

// Settings are the limits that the workflow gives to its activity.
type Settings struct {
	TTL              time.Duration // QUEUED for no longer
	JobTimeout       time.Duration // in workers' hands
	HeartbeatTimeout time.Duration
	RetryInterval    time.Duration // before the second try; doubled for the third
}

// maximumAttempts ends a job only when the record cannot. The record counts the tries (lifecycle.DeliveryTries) and
// decides. An attempt that a frozen or disconnected worker has taken never became a try, so Temporal counts more
// attempts than the record.
const maximumAttempts = 4 * lifecycle.DeliveryTries

// Workflow drives delivery jobs.
type Workflow struct{ Settings Settings }

// These serve only to name the activities; the worker has the real ones.
var (
	deliveries *activities.Activities
	records    *activities.Records
)

// Run drives one job to its end. It completes when the file was delivered, is cancelled when a person stopped it, and
// fails with the reason's code otherwise, so that operators find each kind by its status.
func (w *Workflow) Run(ctx workflow.Context, jobID int64) (lifecycle.DeliveryOutcome, error) {
	job := &run{id: jobID, settings: w.Settings}
	if err := record.Answer(ctx, func() lifecycle.DeliveryView { return job.view }); err != nil {
		return lifecycle.DeliveryOutcome{}, err
	}

	job.enter(ctx, lifecycle.DeliveryQueued)

	delivering, cancel := workflow.WithCancel(ctx)
	job.listen(ctx, cancel)
	outcome, err := job.finish(ctx, w.deliver(delivering, jobID))
	if err != nil {
		return outcome, err
	}

	job.close(ctx, outcome)
	return outcome, ending(outcome)
}

// deliver queues the job for what is left of its TTL, because the workflow may have waited long for a worker. Temporal
// ends the wait of a job that no worker takes, and the activity refuses a first claim that comes too late. A job whose
// time is up is queued too: a setting must never decide between commands, or a change of it would break running
// workflows.
func (w *Workflow) deliver(ctx workflow.Context, jobID int64) workflow.Future {
	options := w.deliverOptions()
	waited := workflow.Now(ctx).Sub(workflow.GetInfo(ctx).WorkflowStartTime)
	options.ScheduleToStartTimeout = max(options.ScheduleToStartTimeout-waited, time.Second)
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), deliveries.Deliver, jobID)
}

// deliverOptions leave the queue, the retries and the watchdog to Temporal: the TTL bounds the wait in line, users take
// turns by the fairness key that the workflow was started with, a missing heartbeat reveals a lost worker, and tries
// are counted.
func (w *Workflow) deliverOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:              lifecycle.DeliveryQueue,
		ScheduleToStartTimeout: w.Settings.TTL,
		StartToCloseTimeout:    w.Settings.JobTimeout + time.Minute, // only for an attempt that hangs
		HeartbeatTimeout:       w.Settings.HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: w.Settings.RetryInterval, BackoffCoefficient: 2,
			MaximumInterval: max(time.Minute, w.Settings.RetryInterval), MaximumAttempts: maximumAttempts,
		},
		Summary: "storage → Telegram",
	}
}

// run is what the workflow knows of its job.
type run struct {
	id        int64
	settings  Settings
	attempt   lifecycle.Attempt // as last reported
	view      lifecycle.DeliveryView
	cancelled bool
}

// listen receives a person's cancel, and from the activity the states that last and the attempts that have not ended
// the job.
func (r *run) listen(ctx workflow.Context, cancel workflow.CancelFunc) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		workflow.GetSignalChannel(ctx, lifecycle.CancelSignal).Receive(ctx, nil)
		r.cancelled = true
		cancel()
	})

	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var stage lifecycle.DeliveryState
			workflow.GetSignalChannel(ctx, lifecycle.DeliveryStageSignal).Receive(ctx, &stage)
			if !r.cancelled && string(stage) != r.view.State {
				r.enter(ctx, stage)
				showStage(ctx, stage)
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
}

// goOn shows the progress of the attempts.
func (r *run) goOn(ctx workflow.Context, attempt lifecycle.Attempt) {
	shown := r.view.State
	r.attempt = attempt
	r.enter(ctx, attempt.State)
	if shown != r.view.State {
		showStage(ctx, attempt.State)
	}
}

// showStage lets operators find the workflow by its state. An attribute that cannot be set must not stop a delivery.
func showStage(ctx workflow.Context, stage lifecycle.DeliveryState) {
	_ = workflow.UpsertTypedSearchAttributes(ctx, temporalio.StageAttribute.ValueSet(string(stage)))
}

// finish waits for the attempt's end and writes it, unless the activity has written it.
func (r *run) finish(ctx workflow.Context, attempt workflow.Future) (lifecycle.DeliveryOutcome, error) {
	var receipt activities.Receipt
	err := attempt.Get(ctx, &receipt)
	if err == nil && receipt.State == lifecycle.DeliveryDelivered {
		return lifecycle.DeliveryOutcome{State: receipt.State}, nil
	}

	end := lifecycle.DeliveryEnd{JobID: r.id, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkerLost}
	timeout, timedOut := errors.AsType[*temporal.TimeoutError](err)
	failure, failed := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case r.cancelled || temporal.IsCanceledError(err) || ctx.Err() != nil && timedOut:
		end.Action, end.Reason = lifecycle.DeliveryActionCancel, fault.CancelledByUser
	case timedOut && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START,
		failed && failure.Type() == string(fault.NotClaimedInTime):
		end.Action, end.Reason = lifecycle.DeliveryActionExpire, fault.NotClaimedInTime
	case timedOut && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_START_TO_CLOSE:
		end.Reason = fault.JobTimeout
	case failed:
		end.Reason = fault.Code(failure.Type())
	}

	return record.Do(ctx, records.FinishJob, end)
}

// close shows the end to operators.
func (r *run) close(ctx workflow.Context, outcome lifecycle.DeliveryOutcome) {
	r.enter(ctx, outcome.State)
	updates := []temporal.SearchAttributeUpdate{temporalio.StageAttribute.ValueSet(string(outcome.State))}
	if outcome.Reason == fault.OutcomeUnknown {
		updates = append(updates, temporalio.AttentionAttribute.ValueSet(true))
	}
	_ = workflow.UpsertTypedSearchAttributes(ctx, updates...)
}

// ending is the error that the workflow closes with; nil: delivered.
func ending(outcome lifecycle.DeliveryOutcome) error {
	switch outcome.State {
	case lifecycle.DeliveryDelivered:
		return nil
	case lifecycle.DeliveryCancelled:
		return temporal.NewCanceledError()
	default:
		return temporalio.Failed(fmt.Sprintf("the job ended %s", outcome.State), string(outcome.Reason))
	}
}
