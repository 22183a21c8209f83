// Package task is the second workload: work shared by agents.
//
// A task is one workflow that lives until the task is DONE or CANCELLED. People and programs act by updates. A
// validator rejects an update without a trace in the history, as far as the workflow's own state is sufficient to
// decide. Everything else is decided once, by the activity ActOnTask, under the lock of the task's row: it consults the
// table, writes, and stores the answer to the request. One mutex admits one action at a time. A durable timer ends a
// status that lasts too long, and a claim whose lease was not renewed: heartbeats are written only to the record, so
// the action started by the timer checks there whether the lease was renewed.
package task

import (
	"time"

	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/task"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
	"stagecoach/workflows/record"
)

// tasks serves only to name the activities; the worker has the real ones.
var tasks *activities.Activities

// run is the workflow's knowledge of its task. The state changes only to the recorded one.
type run struct {
	id       int64
	state    task.Snapshot // Version 0: not yet read
	waitedOn bool          // by other tasks

	timer     timer
	mutex     workflow.Mutex
	signals   workflow.ReceiveChannel
	refreshes workflow.ReceiveChannel
}

// Run drives one task until it is DONE or CANCELLED. known is the task as the previous run or the service knew it; nil:
// the record must be read, for example because an operator started the workflow with only the id.
func Run(ctx workflow.Context, taskID int64, known *task.Snapshot) (lifecycle.TaskView, error) {
	t := &run{
		id: taskID, mutex: workflow.NewMutex(ctx),
		signals:   workflow.GetSignalChannel(ctx, lifecycle.TaskUnblockedSignal),
		refreshes: workflow.GetSignalChannel(ctx, lifecycle.TaskRefreshSignal),
	}

	if known != nil {
		t.state = *known
	}

	if err := t.listen(ctx); err != nil {
		return lifecycle.TaskView{}, err
	}
	if t.state.Version > 0 {
		t.describe(ctx)
	} else if err := t.refresh(ctx); err != nil {
		return lifecycle.TaskView{}, err
	}

	for !lifecycle.Task.Terminal(t.state.State) {
		if t.mayContinue(ctx) {
			return lifecycle.TaskView{}, workflow.NewContinueAsNewError(ctx, lifecycle.TaskType, t.id, &t.state)
		}
		if err := t.step(ctx); err != nil {
			return lifecycle.TaskView{}, err
		}
	}

	return t.finish(ctx)
}

// step waits for the next signal, timer or transition, and does the workflow's own part: it times out a status, begins
// a deadline, or cancels a task whose workflow was cancelled. Updates are handled concurrently.
func (t *run) step(ctx workflow.Context) error {
	version := t.state.Version
	t.startTimer(ctx)
	defer t.dropFiredTimer()

	err := workflow.Await(ctx, func() bool {
		return t.state.Version != version || t.signals.Len() > 0 || t.refreshes.Len() > 0 || t.mayContinue(ctx) || t.timer.fired() ||
			t.timerIsLate()
	})

	switch {
	case ctx.Err() != nil:
		return t.act(ctx, task.Act{
			Action: lifecycle.TaskActionCancel, Input: lifecycle.TaskInput{Comment: "The workflow was cancelled by an operator."},
		})
	case err != nil:
		return err
	case t.signals.Len() > 0:
		record.Drain(t.signals)
		return t.unblock(ctx)
	case t.refreshes.Len() > 0:
		record.Drain(t.refreshes)
		return t.refresh(ctx)
	case t.timer.fired():
		if at, _ := t.state.Due(); at == nil || at.After(t.timer.at) { // it has left the timer's state
			return nil
		}
		return t.act(ctx, task.Act{Action: lifecycle.TaskActionExpire})
	default:
		return nil
	}
}

// refresh adopts the recorded state: a reset may have rewound the workflow, or a restore the record. The last blocker
// may have ended before there was a workflow to notify.
func (t *run) refresh(ctx workflow.Context) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	if t.state, err = record.Do(ctx, "read the task", tasks.LoadTask, t.id); err != nil {
		return err
	}
	if t.state.ClockWaits {
		return t.readClock(ctx)
	}
	t.waitedOn = true // the record may have ended it, and does not say here which tasks wait for that
	t.show(ctx)
	return nil
}

// unblock records that the last blocker is DONE, and begins a deadline that waited for that.
func (t *run) unblock(ctx workflow.Context) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	if !t.state.Blocked {
		return nil
	}
	return t.readClock(ctx)
}

func (t *run) readClock(ctx workflow.Context) (err error) {
	t.state, err = record.Do(
		ctx, "start the clock", tasks.StartTaskClock, activities.Clock{TaskID: t.id, At: workflow.Now(ctx).UTC()},
	)
	if err == nil {
		t.show(ctx)
	}
	return err
}

// mayContinue reports whether this run should hand over to the next: its history is long and nothing is in flight. A
// cancelled run does not hand over, because the next run would not receive the cancellation.
func (t *run) mayContinue(ctx workflow.Context) bool {
	return ctx.Err() == nil && workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) &&
		t.signals.Len() == 0 && t.refreshes.Len() == 0
}

// finish notifies the dependents, and waits until the last callers have their answers.
func (t *run) finish(ctx workflow.Context) (lifecycle.TaskView, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if t.waitedOn && t.state.State == lifecycle.TaskDone {
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

// lock takes the mutex: one action at a time, even while the workflow is being cancelled.
func (t *run) lock(ctx workflow.Context) (unlock func(), err error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return t.mutex.Unlock, t.mutex.Lock(ctx)
}
