package delivery

import (
	"context"
	"math"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// signalTimeout bounds a signal to the job's workflow.
const signalTimeout = 3 * time.Second

// notifyAttempt notifies the workflow at once of the recorded state.
func (a *attempt) notifyAttempt(ctx context.Context) {
	a.notifying.Lock()
	defer a.notifying.Unlock()
	job := a.job()
	if a.signal(ctx, lifecycle.DeliveryAttemptSignal, lifecycle.Attempt{
		State: job.State, Failed: job.Attempt, Reason: fault.Code(job.LastError), NextAt: job.NextAttemptAt,
	}) {
		a.notified = job.State
	}
}

// notifyState notifies the workflow of a state that lasts, unless it knows already or the job has meanwhile left the
// state. A signal that Temporal has not accepted is repeated with the next heartbeat.
func (a *attempt) notifyState(ctx context.Context, state lifecycle.DeliveryState) {
	a.notifying.Lock()
	defer a.notifying.Unlock()
	if a.notified == state || a.job().State != state {
		return
	}
	if a.signal(ctx, lifecycle.DeliveryStageSignal, state) {
		a.notified = state
	}
}

func (a *attempt) signal(ctx context.Context, name string, value any) (taken bool) {
	run := activity.GetInfo(ctx).WorkflowExecution
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
	defer cancel()
	err := a.Temporal.SignalWorkflow(ctx, run.ID, run.RunID, name, value)
	if err != nil {
		a.Log.Debug("workflow not notified", "job", a.jobID, "signal", name, "error", err)
	}
	return err == nil
}

// nextAttempt is when Temporal begins the next attempt after a failure now: after the delay required by the failure,
// otherwise by the retry policy. The decision is Temporal's; the record shows this time meanwhile.
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
