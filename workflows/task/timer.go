package task

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
)

// timer is a task's only durable timer. It may fire before the task's state ends: the remaining time then gets a new
// one. A state that ends later than the previous one thus costs no event of the history.
type timer struct {
	at   time.Time
	done workflow.Future // nil: none
	stop workflow.CancelFunc
}

func (t timer) fired() bool { return t.done != nil && t.done.IsReady() }

// timerIsLate reports whether the task's state may end before the timer fires, for example when its holder requests a
// lease later.
func (t *run) timerIsLate() bool {
	at, _ := t.state.Due()
	return at != nil && (t.timer.done == nil || t.timer.at.After(*at))
}

// startTimer starts a timer for the end of the task's state, unless one fires no later. The SDK reports a cancelled
// timer as ready, so this one does not end with the workflow's context.
func (t *run) startTimer(ctx workflow.Context) {
	if !t.timerIsLate() {
		return
	}
	if t.timer.done != nil {
		t.timer.stop()
	}

	at, lease := t.state.Due()

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

// dropFiredTimer lets the next step start its own timer. An unfired timer outlives its step.
func (t *run) dropFiredTimer() {
	if t.timer.fired() {
		t.timer.stop()
		t.timer = timer{}
	}
}
