package delivery

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/delivery"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

var settings = Settings{
	TTL: time.Hour, JobTimeout: 15 * time.Minute, HeartbeatTimeout: 10 * time.Second, RetryInterval: 2 * time.Second,
}

const jobID = int64(42)

// newRun returns an environment with skipped time in which the delivery activity is deliver.
func newRun(t *testing.T, deliver any) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := testtemporal.Environment()
	env.RegisterWorkflowWithOptions(
		(&Workflow{Settings: settings}).Run, workflow.RegisterOptions{Name: lifecycle.DeliveryType},
	)
	env.RegisterActivity(&activities.Activities{})
	env.RegisterActivity(&activities.Records{})
	env.OnActivity(deliveries.Deliver, mock.Anything, mock.Anything).Return(deliver).Maybe() // on a busy machine a cancel may precede it
	env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	return env
}

// wantEnd expects the workflow to write exactly this end, which the record accepts.
func wantEnd(
	env *testsuite.TestWorkflowEnvironment, action lifecycle.DeliveryAction, reason fault.Code,
	state lifecycle.DeliveryState,
) {
	isEnd := func(end lifecycle.DeliveryEnd) bool {
		return end.JobID == jobID && end.Action == action && end.Reason == reason
	}
	env.OnActivity(records.FinishJob, mock.Anything, mock.MatchedBy(isEnd)).
		Return(lifecycle.DeliveryOutcome{State: state, Reason: reason}, nil).Once()
}

// TestEnds has a case for each failure of an attempt, and the end that the workflow gives the job.
func TestEnds(t *testing.T) {
	t.Parallel()
	timeout := func(kind enumspb.TimeoutType) error { return temporal.NewTimeoutError(kind, nil) }
	for name, c := range map[string]struct {
		ride   error
		action lifecycle.DeliveryAction
		reason fault.Code
		state  lifecycle.DeliveryState
	}{
		"nobody took it":                    {timeout(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START), lifecycle.DeliveryActionExpire, fault.NotClaimedInTime, lifecycle.DeliveryExpired},
		"it waited too long for any worker": {temporal.NewApplicationError("x", string(fault.NotClaimedInTime)), lifecycle.DeliveryActionExpire, fault.NotClaimedInTime, lifecycle.DeliveryExpired},
		"its time is up":                    {timeout(enumspb.TIMEOUT_TYPE_START_TO_CLOSE), lifecycle.DeliveryActionFail, fault.JobTimeout, lifecycle.DeliveryFailed},
		"worker lost":                       {timeout(enumspb.TIMEOUT_TYPE_HEARTBEAT), lifecycle.DeliveryActionFail, fault.WorkerLost, lifecycle.DeliveryFailed},
		"a reason": {
			temporal.NewNonRetryableApplicationError("x", string(fault.FileNotFound), nil),
			lifecycle.DeliveryActionFail, fault.FileNotFound, lifecycle.DeliveryFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := newRun(t, func(context.Context, lifecycle.DeliveryExecution) (activities.Receipt, error) {
				return activities.Receipt{}, c.ride
			})
			wantEnd(env, c.action, c.reason, c.state)
			env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
			failure, ok := errors.AsType[*temporal.ApplicationError](env.GetWorkflowError())
			if !ok || failure.Type() != string(c.reason) || !failure.NonRetryable() {
				t.Errorf("the workflow ended with %v", env.GetWorkflowError())
			}
			env.AssertExpectations(t)
		})
	}
}

// TestCancelledByAnOperator cancels the workflow while its last attempt fails or is interrupted: Temporal makes no
// other, and the job is cancelled, whatever that attempt failed with.
func TestCancelledByAnOperator(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"it stops":           temporal.NewCanceledError(),
		"its worker stops":   temporalio.Interrupted(0),
		"Telegram is away":   temporal.NewApplicationError("x", string(fault.TelegramUnavailable)),
		"its worker is lost": temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testtemporal.Environment()
			env.RegisterActivity(&activities.Records{})
			// The test environment would not wait for the attempt.
			env.RegisterWorkflowWithOptions(func(ctx workflow.Context) (lifecycle.DeliveryOutcome, error) {
				ctx.Done().Receive(ctx, nil)
				return (&run{id: jobID}).finish(ctx, failure)
			}, workflow.RegisterOptions{Name: "the end"})

			wantEnd(env, lifecycle.DeliveryActionCancel, fault.CancelledByUser, lifecycle.DeliveryCancelled)
			env.RegisterDelayedCallback(env.CancelWorkflow, 0)
			env.ExecuteWorkflow("the end")
			var outcome lifecycle.DeliveryOutcome
			if err := env.GetWorkflowResult(&outcome); err != nil || outcome.State != lifecycle.DeliveryCancelled {
				t.Errorf("the job ended with %+v, %v", outcome, err)
			}
		})
	}
}

// TestPauses checks the delays between attempts: growing, or as requested by the other side. The policy gives up after
// the third attempt.
func TestPauses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked time.Duration
		want  time.Duration
	}{
		"backoff":     {0, 2 * settings.RetryInterval},
		"retry_after": {10 * time.Minute, 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			env := newRun(t, func(context.Context, lifecycle.DeliveryExecution) (activities.Receipt, error) {
				tries++
				return activities.Receipt{}, temporal.NewApplicationErrorWithOptions("x", string(fault.TelegramRateLimited),
					temporal.ApplicationErrorOptions{NextRetryDelay: c.asked})
			})

			wantEnd(env, lifecycle.DeliveryActionFail, fault.TelegramRateLimited, lifecycle.DeliveryFailed)
			start := env.Now()
			env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
			if took := env.Now().Sub(start); tries != lifecycle.DeliveryTries || took < c.want || took > c.want+time.Minute {
				t.Errorf("%d tries in %s, want 3 in %s", tries, took, c.want)
			}

			env.AssertExpectations(t)
		})
	}
}

// TestInterrupted interrupts attempts that have not failed: each is followed by another execution with the remaining
// attempts, and by none if it happens too often.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interruptions, used int
		executions          []int // how many attempts had failed before each
		reason              fault.Code
	}{
		"once":                 {1, 0, []int{0, 0}, ""},
		"after a failed try":   {2, 1, []int{0, 1, 1}, ""},
		"more often than free": {freeInterruptions + 2, 0, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}, ""},
		"too often":            {freeInterruptions + 3, 0, []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}, fault.WorkerLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var executions []int
			env := newRun(t, func(ctx context.Context, in lifecycle.DeliveryExecution) (activities.Receipt, error) {
				executions = append(executions, in.Used)
				if len(executions) <= c.interruptions {
					return activities.Receipt{}, temporalio.Interrupted(c.used)
				}
				return activities.Receipt{State: lifecycle.DeliveryDelivered}, nil
			})
			if c.reason != "" {
				wantEnd(env, lifecycle.DeliveryActionFail, c.reason, lifecycle.DeliveryFailed)
			}

			env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
			if !slices.Equal(executions, c.executions) || (env.GetWorkflowError() == nil) != (c.reason == "") {
				t.Errorf("executions with %v failed tries, %v", executions, env.GetWorkflowError())
			}
			env.AssertExpectations(t)
		})
	}
}

// TestFrozenWorker has attempts that never began: the record has fewer attempts, and the job continues with the
// remaining ones.
func TestFrozenWorker(t *testing.T) {
	t.Parallel()
	var executions []int
	env := newRun(t, func(_ context.Context, in lifecycle.DeliveryExecution) (activities.Receipt, error) {
		if executions = append(executions, in.Used); in.Used == 0 {
			return activities.Receipt{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil)
		}
		return activities.Receipt{State: lifecycle.DeliveryDelivered}, nil
	})
	end := lifecycle.DeliveryEnd{JobID: jobID, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkerLost, Lost: true}
	env.OnActivity(records.FinishJob, mock.Anything, end).
		Return(lifecycle.DeliveryOutcome{State: lifecycle.DeliveryQueued, Failed: 1}, nil).Once()

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if err := env.GetWorkflowError(); err != nil || !slices.Equal(slices.Compact(executions), []int{0, 1}) {
		t.Errorf("executions with %v failed tries, %v", executions, err)
	}
	env.AssertExpectations(t)
}

// TestEndedWithoutAReason has attempts that end without a fault, as the SDK lets them: the record decides whether the job
// continues, as for a lost worker.
func TestEndedWithoutAReason(t *testing.T) {
	t.Parallel()
	var executions []int
	env := newRun(t, func(_ context.Context, in lifecycle.DeliveryExecution) (activities.Receipt, error) {
		if executions = append(executions, in.Used); in.Used < 2 {
			return activities.Receipt{}, context.Canceled
		}
		return activities.Receipt{State: lifecycle.DeliveryDelivered}, nil
	})
	end := lifecycle.DeliveryEnd{JobID: jobID, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkerLost, Lost: true}
	env.OnActivity(records.FinishJob, mock.Anything, end).
		Return(lifecycle.DeliveryOutcome{State: lifecycle.DeliveryQueued, Failed: 2}, nil).Once()

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if err := env.GetWorkflowError(); err != nil || !slices.Equal(slices.Compact(executions), []int{0, 2}) {
		t.Errorf("executions with %v failed tries, %v", executions, err)
	}
	env.AssertExpectations(t)
}

// TestAClaimedJobDoesNotExpire lets no worker claim a retry in time: the job is executed again, with the remaining
// attempts and without a limit.
func TestAClaimedJobDoesNotExpire(t *testing.T) {
	t.Parallel()
	var executions []int
	env := newRun(t, func(_ context.Context, in lifecycle.DeliveryExecution) (activities.Receipt, error) {
		if executions = append(executions, in.Used); in.Used == 0 {
			return activities.Receipt{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
		}
		return activities.Receipt{State: lifecycle.DeliveryDelivered}, nil
	})
	end := lifecycle.DeliveryEnd{JobID: jobID, Action: lifecycle.DeliveryActionExpire, Reason: fault.NotClaimedInTime}
	env.OnActivity(records.FinishJob, mock.Anything, end).
		Return(lifecycle.DeliveryOutcome{State: lifecycle.DeliveryQueued, Failed: 1}, nil).Once()

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if err := env.GetWorkflowError(); err != nil || !slices.Equal(slices.Compact(executions), []int{0, 1}) {
		t.Errorf("executions with %v failed tries, %v", executions, err)
	}
	env.AssertExpectations(t)
}

// TestReceiptOfALostWorker ends as delivered if the last attempt's last heartbeat has Telegram's receipt.
func TestReceiptOfALostWorker(t *testing.T) {
	t.Parallel()
	env := newRun(t, func(context.Context, lifecycle.DeliveryExecution) (activities.Receipt, error) {
		return activities.Receipt{}, temporal.NewTimeoutError(
			enumspb.TIMEOUT_TYPE_HEARTBEAT, nil, lifecycle.DeliveryHeartbeat{Stage: lifecycle.DeliveryStreaming, MessageID: 7},
		)
	})
	end := lifecycle.DeliveryEnd{JobID: jobID, Action: lifecycle.DeliveryActionAcknowledge, Message: 7}
	env.OnActivity(records.FinishJob, mock.Anything, end).
		Return(lifecycle.DeliveryOutcome{State: lifecycle.DeliveryDelivered}, nil).Once()

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if err := env.GetWorkflowError(); err != nil {
		t.Errorf("the workflow ended with %v", err)
	}
	env.AssertExpectations(t)
}

// TestAttemptsAreShown follows attempts that fail, are paused and continue.
func TestAttemptsAreShown(t *testing.T) {
	t.Parallel()
	env := newRun(t, func(ctx context.Context, _ lifecycle.DeliveryExecution) (activities.Receipt, error) {
		<-ctx.Done()
		return activities.Receipt{}, temporal.NewCanceledError()
	})

	wantEnd(env, lifecycle.DeliveryActionCancel, fault.CancelledByUser, lifecycle.DeliveryCancelled)
	state := func() (view lifecycle.DeliveryView) {
		value, err := env.QueryWorkflow(lifecycle.StateQuery)
		if err == nil {
			err = value.Get(&view)
		}
		if err != nil {
			t.Error(err)
		}
		return view
	}

	next := env.Now().Add(time.Minute).UTC().Truncate(time.Second)

	env.RegisterDelayedCallback(func() {
		if got := state(); got.DeadlineAt == nil || got.Attempt != 0 {
			t.Errorf("at first: %+v", got)
		}
		env.SignalWorkflow(lifecycle.DeliveryAttemptSignal, lifecycle.Attempt{
			State: lifecycle.DeliveryQueued, Failed: 1, Reason: fault.TelegramUnavailable, NextAt: &next,
		})
	}, time.Second)

	env.RegisterDelayedCallback(func() {
		got := state()
		if got.State != "QUEUED" || got.Attempt != 1 || got.LastError != fault.TelegramUnavailable || !got.NextAttemptAt.Equal(next) || got.DeadlineAt != nil {
			t.Errorf("after a failure: %+v", got)
		}
		env.SignalWorkflow(lifecycle.DeliveryStageSignal, lifecycle.DeliveryStreaming)
	}, 2*time.Second)

	env.RegisterDelayedCallback(func() {
		got := state()
		if left := got.DeadlineAt.Sub(got.Since); got.State != "STREAMING" || got.Attempt != 1 || got.NextAttemptAt != nil || left != settings.JobTimeout {
			t.Errorf("in the second attempt: %+v", got)
		}
		env.SignalWorkflow(
			lifecycle.DeliveryAttemptSignal,
			lifecycle.Attempt{State: lifecycle.DeliveryQueued, Failed: 1, Reason: fault.PausedByOperator},
		)
	}, 3*time.Second)

	env.RegisterDelayedCallback(func() {
		if got := state(); got.State != "QUEUED" || got.DeadlineAt != nil || got.WaitsFor != lifecycle.WaitsForOperator {
			t.Errorf("paused: %+v", got)
		}
		env.SignalWorkflow(lifecycle.CancelSignal, nil)
	}, 4*time.Second)

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
}
