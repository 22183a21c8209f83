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
	at, lease := t.state.Due()
	switch {
	case at == nil, t.timer.done != nil && !t.timer.at.After(*at):
		return
	case t.timer.done != nil:
		t.timer.stop()
	}

	limit := "deadline"
	switch {
	case lease:
		limit = "lease"
	case t.state.State == lifecycle.TaskStuck:
		limit = "release"
	}

	ctx, stop := workflow.NewDisconnectedContext(ctx)
	t.timer = timer{*at, workflow.NewTimerWithOptions(ctx, at.Sub(workflow.Now(ctx)), workflow.TimerOptions{
		Summary: fmt.Sprintf("%s %s", t.state.State, limit),
	}), stop}
}

// dropFiredTimer lets the next step start a timer of its own. A timer that has not fired outlives its step.
func (t *run) dropFiredTimer() {
	if t.timer.fired() {
		t.timer.stop()
		t.timer = timer{}
	}
}
