package delivery

import (
	"context"
	"math"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
)

// tellTimeout bounds a signal to the job's workflow: the reconciler shows it later what was not told.
const tellTimeout = 3 * time.Second

// tellAttempt tells the workflow at once how the record stands.
func (r *attempt) tellAttempt(ctx context.Context) {
	r.telling.Lock()
	defer r.telling.Unlock()
	job := r.job()
	r.told = job.State
	r.signal(ctx, lifecycle.DeliveryAttemptSignal, service.AttemptOf(job))
}

// tellStage tells the workflow of a stage that lasts, unless it was told, or the job has left it meanwhile.
func (r *attempt) tellStage(ctx context.Context, stage lifecycle.DeliveryState) {
	r.telling.Lock()
	defer r.telling.Unlock()
	if r.told == stage || r.job().State != stage {
		return
	}
	r.told = stage
	r.signal(ctx, lifecycle.DeliveryStageSignal, stage)
}

func (r *attempt) signal(ctx context.Context, name string, value any) {
	run := activity.GetInfo(ctx).WorkflowExecution
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	if err := r.Temporal.SignalWorkflow(ctx, run.ID, run.RunID, name, value); err != nil {
		r.Log.Debug("the workflow was not told", "job", r.jobID, "signal", name, "error", err)
	}
}

// nextAttempt is when Temporal begins the next attempt after one that fails now: after the pause that the failure asks
// for, else after the one of the retry policy. Temporal alone decides; this is what the record shows meanwhile.
func nextAttempt(ctx context.Context, now time.Time, asked time.Duration) *time.Time {
	info := activity.GetInfo(ctx)
	pause := asked
	if policy := info.RetryPolicy; pause == 0 && policy != nil {
		grown := float64(policy.InitialInterval) * math.Pow(policy.BackoffCoefficient, float64(info.Attempt-1))
		pause = time.Duration(min(grown, float64(policy.MaximumInterval)))
	}
	next := now.Add(pause)
	return &next
}
