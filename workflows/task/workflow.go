// Package task is the second workload: work that agents share.
//
// A task is one workflow that lives until the task is DONE or CANCELLED. People and programs act by updates. A
// validator refuses an update without a trace in the history, as far as the workflow's own state is enough to decide. A
// durable timer ends a status that lasts too long, and a claim whose lease nobody has renewed: heartbeats are written to
// the record alone, so the timer finds there whether the lease goes on. One mutex lets one transition at a time through, and each transition
// decides by the state after its waits.
//
// The record decides between two writes of the same version: a transition counts once it is written, and each write
// names the version that it makes. A workflow finds its version taken when the worker that wrote it died before it
// reported the result. The workflow then takes over what the record has and decides again.
package task

import (
	"time"

	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/task"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/task"
	"stagecoach/workflows/record"
)

// tasks serves only to name the activities; the worker has the real ones.
var tasks *activities.Activities

// Carried is what a task's workflow hands to its next run.
type Carried struct {
	service.KnownTask
	Answered []answer `json:"answered,omitempty"`
}

// run is what the workflow knows of its task. The state changes only under the mutex, and only to what the record has.
type run struct {
	id        int64
	state     task.Snapshot // Version 0: not read yet
	unblocked bool          // every blocker is DONE, which is final
	answered  []answer
	notify    bool // dependents have waited for this task

	timer     timer
	mutex     workflow.Mutex
	signals   workflow.ReceiveChannel
	refreshes workflow.ReceiveChannel
}

// Run drives one task until it is DONE or CANCELLED. carried is what the previous run handed over, or what the service
// knew when it started the workflow; nil: the record has to be read, as when an operator starts it with the id alone.
func Run(ctx workflow.Context, taskID int64, carried *Carried) (lifecycle.TaskView, error) {
	t := &run{
		id: taskID, mutex: workflow.NewMutex(ctx),
		signals:   workflow.GetSignalChannel(ctx, lifecycle.TaskUnblockedSignal),
		refreshes: workflow.GetSignalChannel(ctx, lifecycle.TaskRefreshSignal),
	}

	if carried != nil {
		t.state, t.unblocked, t.answered = carried.State, carried.Unblocked, carried.Answered
	}

	if err := t.listen(ctx); err != nil {
		return lifecycle.TaskView{}, err
	}
	if err := t.load(ctx); err != nil {
		return lifecycle.TaskView{}, err
	}

	for !lifecycle.Task.Terminal(t.state.State) {
		if t.mayContinue(ctx) {
			return lifecycle.TaskView{}, workflow.NewContinueAsNewError(
				ctx, lifecycle.TaskType, t.id, &Carried{service.KnownTask{State: t.state, Unblocked: t.unblocked}, t.answered},
			)
		}
		if err := t.step(ctx); err != nil {
			return lifecycle.TaskView{}, err
		}
	}

	return t.finish(ctx)
}

// load reads the task, unless it was handed over.
func (t *run) load(ctx workflow.Context) error {
	if t.state.Version > 0 {
		t.describe(ctx)
		return nil
	}

	loaded, err := record.Do(ctx, "read the task", tasks.LoadTask, t.id)
	if err != nil {
		return err
	}

	t.state, t.unblocked = loaded.State, loaded.Unblocked
	t.describe(ctx)
	if t.state.ClockWaits { // the last blocker may have ended before there was a workflow to signal
		return t.startClock(ctx)
	}

	return nil
}

// step waits for the next signal, timer or transition, and does the workflow's own part: it ends a status whose time is
// up, begins a deadline, or cancels a task whose workflow was cancelled. Updates are handled concurrently.
func (t *run) step(ctx workflow.Context) error {
	version := t.state.Version
	t.startTimer(ctx)
	defer t.dropFiredTimer()

	err := workflow.Await(ctx, func() bool {
		return t.state.Version != version || t.signals.Len() > 0 || t.refreshes.Len() > 0 || t.mayContinue(ctx) || t.timer.fired()
	})

	switch {
	case ctx.Err() != nil:
		return t.moveItself(ctx, lifecycle.TaskAsk{
			Action: lifecycle.TaskActionCancel, To: lifecycle.TaskCancelled, Comment: "The workflow was cancelled by an operator.",
		}, version)
	case err != nil:
		return err
	case t.signals.Len() > 0:
		record.Drain(t.signals)
		return t.startClock(ctx)
	case t.refreshes.Len() > 0:
		record.Drain(t.refreshes)
		return t.refresh(ctx)
	case t.timer.fired():
		return t.timeIsUp(ctx, version)
	default:
		return nil
	}
}

// refresh takes over what the record has: a reset may have set the workflow back, or a restore the record.
func (t *run) refresh(ctx workflow.Context) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	loaded, err := record.Do(ctx, "read the task", tasks.LoadTask, t.id)
	if err != nil {
		return err
	}

	t.state, t.unblocked = loaded.State, loaded.Unblocked
	t.show(ctx)
	return nil
}

// startClock begins the deadline of a task that waits for its blockers, if none is open any more.
func (t *run) startClock(ctx workflow.Context) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	if !t.state.ClockWaits {
		return nil
	}

	ask := lifecycle.TaskAsk{
		Action: lifecycle.TaskActionStatus, To: lifecycle.TaskInProgress, Caller: lifecycle.TaskCaller{System: true},
	}
	if _, err := t.loadContext(ctx, &ask, nil); err != nil || !t.unblocked {
		return err
	}

	version := t.state.Version + 1
	written, err := record.Do(ctx, "start the clock", tasks.StartTaskClock, activities.Clock{
		TaskID: t.id, Version: version, RequestID: service.SystemRequestID("clock", version), At: workflow.Now(ctx).UTC(),
	})
	if err != nil {
		return err
	}

	t.take(ctx, written)
	return nil
}

// mayContinue says whether this run should hand over to the next: its history is long and nothing is in flight. A
// cancelled run does not hand over, because the next run would not receive the cancellation.
func (t *run) mayContinue(ctx workflow.Context) bool {
	return ctx.Err() == nil && workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) &&
		t.signals.Len() == 0 && t.refreshes.Len() == 0
}

// finish notifies the dependents, and waits until the last callers have their answers.
func (t *run) finish(ctx workflow.Context) (lifecycle.TaskView, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if t.notify {
		notifying := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			TaskQueue: lifecycle.MainQueue, StartToCloseTimeout: time.Minute, Summary: "tell waiting tasks",
		})
		if err := workflow.ExecuteActivity(notifying, tasks.TellDependents, t.id).Get(ctx, nil); err != nil {
			return lifecycle.TaskView{}, err
		}
	}

	err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
	return t.view(), err
}

// lock takes the mutex: one transition at a time, also while the workflow is being cancelled.
func (t *run) lock(ctx workflow.Context) (unlock func(), err error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return t.mutex.Unlock, t.mutex.Lock(ctx)
}
