// Package delivery is the first workload: a file goes from the storage to a Telegram chat.
//
// A job is one workflow. The Deliver activity waits in its task queue (QUEUED), is taken by one worker (CLAIMED), opens
// the file (DOWNLOADING), lets bytes flow to Telegram (STREAMING) and ends when Telegram acknowledges (DELIVERED). The
// activity's retry policy counts the tries and puts a failed one that may be repeated back into the queue. A missing
// heartbeat reveals a worker that died. An attempt that was interrupted without having failed ends its execution, and the
// workflow executes the activity again with the tries that are left. The schedule-to-start time-out ends a job that no worker takes. A cancel reaches the stream through
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
	JobTimeout       time.Duration // of one attempt
	HeartbeatTimeout time.Duration
	RetryInterval    time.Duration // before the second try; doubled for the third
}

// freeInterruptions is how often an attempt may be interrupted without having failed: each later time counts as a try.
const freeInterruptions = 10

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
	outcome, err := w.deliver(ctx, delivering, job)
	if err != nil {
		return outcome, err
	}

	job.close(ctx, outcome)
	return outcome, ending(outcome)
}

// deliver executes the activity until the job has ended.
func (w *Workflow) deliver(ctx, delivering workflow.Context, job *run) (lifecycle.DeliveryOutcome, error) {
	options := w.firstOptions(ctx)
	for interruptions, used := 1, 0; ; interruptions++ {
		failed, interrupted, err := job.execute(delivering, options, used)
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

// execute executes the activity with the tries that are left. failed is how many tries have failed when it was interrupted
// without having failed.
func (r *run) execute(
	ctx workflow.Context, options workflow.ActivityOptions, used int,
) (failed int, interrupted bool, err error) {
	options.RetryPolicy.MaximumAttempts = int32(lifecycle.DeliveryTries - used)
	in := lifecycle.DeliveryExecution{JobID: r.id, Used: used}
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), deliveries.Deliver, in).Get(ctx, &r.receipt)
	failed, interrupted = temporalio.InterruptedIn(err)
	return failed, interrupted, err
}

// firstOptions queue the job for what is left of its TTL, because the workflow may have waited long for a worker.
// Temporal ends the wait of a job that no worker takes, and the activity refuses a first claim that comes too late. A job
// whose time is up is queued too: a setting must never decide between commands, or a change of it would break running
// workflows.
func (w *Workflow) firstOptions(ctx workflow.Context) workflow.ActivityOptions {
	options := w.deliverOptions()
	waited := workflow.Now(ctx).Sub(workflow.GetInfo(ctx).WorkflowStartTime)
	options.ScheduleToStartTimeout = max(w.Settings.TTL-waited, time.Second)
	return options
}

// deliverOptions leave the queue, the retries and the watchdog to Temporal: users take turns by the fairness key that
// the workflow was started with, a missing heartbeat reveals a lost worker, and tries are counted.
func (w *Workflow) deliverOptions() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           lifecycle.DeliveryQueue,
		StartToCloseTimeout: w.Settings.JobTimeout + time.Minute, // only for an attempt that hangs
		HeartbeatTimeout:    w.Settings.HeartbeatTimeout,
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: w.Settings.RetryInterval, BackoffCoefficient: 2,
			MaximumInterval: max(time.Minute, w.Settings.RetryInterval),
		},
		Summary: "storage → Telegram",
	}
}

// run is what the workflow knows of its job.
type run struct {
	id        int64
	settings  Settings
	attempt   lifecycle.Attempt // as last reported
	receipt   activities.Receipt
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
}

// goOn shows the progress of the attempts.
func (r *run) goOn(ctx workflow.Context, attempt lifecycle.Attempt) {
	shown := r.view.State
	r.attempt = attempt
	r.enter(ctx, attempt.State)
	if shown != r.view.State {
		r.show(ctx)
	}
}

// show lets operators find the workflow by its state.
func (r *run) show(ctx workflow.Context) {
	now := record.Shown{
		Stage: r.view.State, WaitsFor: waits[lifecycle.DeliveryState(r.view.State)], DeadlineAt: r.view.DeadlineAt,
		Attention: r.view.LastError == fault.OutcomeUnknown,
	}
	if r.paused() {
		now.WaitsFor = lifecycle.WaitsForOperator
	}
	record.Show(ctx, now)
}

// finish writes the end of the last execution, unless the activity has written it. QUEUED: the job has not ended.
func (r *run) finish(ctx workflow.Context, err error) (lifecycle.DeliveryOutcome, error) {
	if err == nil && r.receipt.State == lifecycle.DeliveryDelivered {
		return lifecycle.DeliveryOutcome{State: r.receipt.State}, nil
	}

	end := lifecycle.DeliveryEnd{JobID: r.id, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkerLost}
	timeout, timedOut := errors.AsType[*temporal.TimeoutError](err)
	failure, failed := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case timedOut && receiptIn(timeout) != 0: // its worker was lost after Telegram's answer, in the last try
		end.Action, end.Reason, end.Message = lifecycle.DeliveryActionAcknowledge, "", receiptIn(timeout)
	case r.cancelled || ctx.Err() != nil: // whatever the last attempt failed with
		end.Action, end.Reason = lifecycle.DeliveryActionCancel, fault.CancelledByUser
	case timedOut && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START,
		failed && failure.Type() == string(fault.NotClaimedInTime):
		end.Action, end.Reason = lifecycle.DeliveryActionExpire, fault.NotClaimedInTime
	case timedOut && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_START_TO_CLOSE:
		end.Reason = fault.JobTimeout
	case timedOut:
		end.Lost = true
	case failed:
		end.Reason = fault.Code(failure.Type())
	}

	return record.Do(ctx, "write the end", records.FinishJob, end)
}

// receiptIn returns Telegram's receipt from the last heartbeat of a lost worker; 0: there is none.
func receiptIn(timeout *temporal.TimeoutError) int64 {
	var last lifecycle.DeliveryHeartbeat
	if !timeout.HasLastHeartbeatDetails() || timeout.LastHeartbeatDetails(&last) != nil {
		return 0
	}
	return last.MessageID
}

// close shows the end to operators.
func (r *run) close(ctx workflow.Context, outcome lifecycle.DeliveryOutcome) {
	r.attempt.Reason = outcome.Reason
	r.enter(ctx, outcome.State)
	r.show(ctx)
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
