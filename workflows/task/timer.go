package task

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
)

// timer is the one durable timer of a task. It may fire before the task's state ends: then the time that is left gets a
// new one. So a state that ends later than the one before costs no event of the history.
type timer struct {
	at   time.Time
	done workflow.Future // nil: there is no timer
	stop workflow.CancelFunc
}

func (t timer) fired() bool { return t.done != nil && t.done.IsReady() }

// startTimer starts a timer for the end of the task's state, unless there is one that fires no later. The SDK reports a
// cancelled timer as ready, so this one does not end with the workflow's context.
func (t *run) startTimer(ctx workflow.Context) {
	at, what := t.due()
	switch {
	case at == nil, t.timer.done != nil && !t.timer.at.After(*at):
		return
	case t.timer.done != nil:
		t.timer.stop()
	}

	ctx, stop := workflow.NewDisconnectedContext(ctx)
	t.timer = timer{*at, workflow.NewTimerWithOptions(ctx, at.Sub(workflow.Now(ctx)), workflow.TimerOptions{
		Summary: fmt.Sprintf("%s %s", t.state.State, what),
	}), stop}
}

// dropFiredTimer lets the next step start a timer of its own. A timer that has not fired outlives its step.
func (t *run) dropFiredTimer() {
	if t.timer.fired() {
		t.timer.stop()
		t.timer = timer{}
	}
}

// due is when the task's state ends by itself, and by what; nil: it does not.
func (t *run) due() (at *time.Time, what string) {
	switch {
	case t.state.State == lifecycle.TaskStuck:
		return t.state.ReleaseAt, "release"
	case t.leaseFirst():
		return t.state.LeaseExpiresAt, "lease"
	default:
		return t.state.DeadlineAt, "deadline"
	}
}

// leaseFirst reports whether the lease ends before the status's deadline, as far as this workflow knows.
func (t *run) leaseFirst() bool {
	lease := t.state.LeaseExpiresAt
	return lease != nil && (t.state.DeadlineAt == nil || lease.Before(*t.state.DeadlineAt))
}

// timeIsUp ends the state whose timer has fired, unless the task has left it meanwhile or the timer was one of an
// earlier state.
func (t *run) timeIsUp(ctx workflow.Context, version int64) error {
	if at, _ := t.due(); at == nil || at.After(t.timer.at) {
		return nil
	}

	spent := int(workflow.Now(ctx).Sub(t.state.Since) / time.Minute)
	if t.state.State == lifecycle.TaskStuck {
		return t.moveItself(ctx, lifecycle.TaskAsk{
			Action: lifecycle.TaskActionStatus, To: lifecycle.TaskNew,
			Comment: fmt.Sprintf("Released by itself. Was in %s for %d minutes.", t.state.State, spent),
		}, version)
	}

	expire, what := lifecycle.TaskAsk{Action: lifecycle.TaskActionExpire, To: lifecycle.TaskStuck}, "Status deadline"
	if t.leaseFirst() {
		expire.Reason, what = lifecycle.TaskReasonLease, "Lease"
	}
	expire.Comment = fmt.Sprintf("%s expired. Was in %s for %d minutes.", what, t.state.State, spent)
	return t.moveItself(ctx, expire, version)
}
