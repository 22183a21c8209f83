package delivery_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/delivery"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
)

// awayStore is a record that is unavailable when a job is claimed, or when it is queried for a file sent before.
type awayStore struct {
	activities.Store
	claims bool
}

func (s awayStore) Claim(
	ctx context.Context, id int64, decide func(*delivery.JobWalk) error,
) (job delivery.Job, sent delivery.SentFile, err error) {
	if s.claims {
		return job, sent, fault.New(fault.StoreUnavailable, "away").Retry()
	}
	job, _, err = s.Store.Claim(ctx, id, decide)
	return job, sent, err
}

func (s awayStore) SentFile(context.Context, string, int64) (fileID, name string, err error) {
	return "", "", fault.New(fault.StoreUnavailable, "away").Retry()
}

// TestInterruptedAttempt interrupts an attempt: the job waits for the next one, without a failed attempt.
func TestInterruptedAttempt(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(r *rig, stop chan struct{}, shutDown context.CancelCauseFunc){
		"the worker stops":       func(_ *rig, stop chan struct{}, _ context.CancelCauseFunc) { close(stop) },
		"the worker has stopped": func(_ *rig, _ chan struct{}, shutDown context.CancelCauseFunc) { shutDown(worker.ErrWorkerShutdown) },
		"Temporal accepts no heartbeat": func(_ *rig, _ chan struct{}, shutDown context.CancelCauseFunc) {
			shutDown(serviceerror.NewDeadlineExceeded("context deadline exceeded"))
		},
		"the record is away for the claim": func(r *rig, _ chan struct{}, _ context.CancelCauseFunc) {
			r.activities.Store = awayStore{r.activities.Store, true}
		},
		"the record is away for a question": func(r *rig, _ chan struct{}, _ context.CancelCauseFunc) {
			r.activities.Store = awayStore{r.activities.Store, false}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, stop := newRig(t), make(chan struct{})
			r.activities.Settings.HandOverAfter = 0
			r.telegram.hangs = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
			job, _, err := r.deliveries.Request(t.Context(), r.user, r.file("content").ID, "key", delivery.SourceAPI)
			r.must(err)

			env := testtemporal.Environment()
			env.SetTestTimeout(time.Minute)
			env.SetWorkerStopChannel(stop)
			env.RegisterActivityWithOptions(func(ctx context.Context) error {
				ctx, shutDown := context.WithCancelCause(ctx)
				defer shutDown(nil)
				interrupt(r, stop, shutDown)
				_, err := r.activities.Deliver(ctx, lifecycle.DeliveryExecution{JobID: job.ID})
				return err
			}, activity.RegisterOptions{Name: "deliver"})
			env.ExecuteWorkflow(func(ctx workflow.Context) error {
				return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
					StartToCloseTimeout: 16 * time.Second, RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 1},
				}), "deliver").Get(ctx, nil)
			})

			if used, interrupted := temporalio.InterruptedIn(env.GetWorkflowError()); !interrupted || used != 0 {
				t.Errorf("%d failed tries, interrupted %t: %v", used, interrupted, env.GetWorkflowError())
			}
			if after, err := r.store.Deliveries.ByID(t.Context(), job.ID); err != nil || after.State != lifecycle.DeliveryQueued {
				t.Errorf("the job is %s: %v", after.State, err)
			}
		})
	}
}

// pausedTemporal has an activity that an operator has paused.
type pausedTemporal struct{ temporal }

func (pausedTemporal) DescribeWorkflowExecution(
	ctx context.Context, _, _ string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflowpb.PendingActivityInfo{
		{ActivityId: activity.GetInfo(ctx).ActivityID, Attempt: 1, Paused: true},
	}}, nil
}

// TestPausedUnheard pauses an activity none of whose heartbeats is answered: the job waits for the operator.
func TestPausedUnheard(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{
		"Temporal accepts no heartbeat":  serviceerror.NewUnavailable("away"),
		"Temporal has ended the attempt": serviceerror.NewNotFound("activity not found"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.activities.Temporal = pausedTemporal{}
			job, _, err := r.deliveries.Request(t.Context(), r.user, r.file("content").ID, "key", delivery.SourceAPI)
			r.must(err)

			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivityWithOptions(func(ctx context.Context) error {
				ctx, end := context.WithCancelCause(ctx)
				r.telegram.hangs = func(ctx context.Context) error {
					end(cause)
					<-ctx.Done()
					return ctx.Err()
				}
				_, err := r.activities.Deliver(ctx, lifecycle.DeliveryExecution{JobID: job.ID})
				return err
			}, activity.RegisterOptions{Name: "deliver"})

			_, err = env.ExecuteActivity("deliver")
			if failure := new(sdk.ApplicationError); !errors.As(err, &failure) || failure.NonRetryable() {
				t.Errorf("the activity ended with %v", err)
			}
			after, err := r.store.Deliveries.ByID(t.Context(), job.ID)
			if err != nil || after.State != lifecycle.DeliveryQueued || after.LastError != string(fault.PausedByOperator) || after.Attempt != 0 {
				t.Errorf("the job is %+v: %v", after, err)
			}
		})
	}
}

// stoppedFinisher is a record whose answer is cut off by the end of the worker.
type stoppedFinisher struct{ activities.Finisher }

func (stoppedFinisher) Finish(ctx context.Context, _ lifecycle.DeliveryEnd) (out lifecycle.DeliveryOutcome, err error) {
	return out, ctx.Err()
}

// TestStoppedWhileTheEndIsWritten writes the end of a job again on the next worker.
func TestStoppedWhileTheEndIsWritten(t *testing.T) {
	t.Parallel()
	records := &activities.Records{Deliveries: stoppedFinisher{}}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		ctx, shutDown := context.WithCancelCause(ctx)
		shutDown(worker.ErrWorkerShutdown)
		_, err := records.FinishJob(ctx, lifecycle.DeliveryEnd{JobID: 1, Action: lifecycle.DeliveryActionCancel})
		return err
	}, activity.RegisterOptions{Name: "finish"})

	_, err := env.ExecuteActivity("finish")
	if failure := new(sdk.ApplicationError); !errors.As(err, &failure) || failure.NonRetryable() {
		t.Errorf("the activity ended with %v", err)
	}
}
