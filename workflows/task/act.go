package task

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// listen sets the handlers of all updates and of the query.
func (t *run) listen(ctx workflow.Context) error {
	err := record.Updates(
		ctx, lifecycle.TaskUpdates, "the task: actor (a user id), comment, and for status to", t.validate, t.update,
	)
	if err != nil {
		return err
	}
	return record.Answer(ctx, t.view)
}

// validate refuses an update without a trace in the history. It knows neither the members, the blockers nor the setting
// of the workspace, and leaves what depends on them to the handler.
func (t *run) validate(_ workflow.Context, action lifecycle.TaskAction, in lifecycle.TaskInput) error {
	if err := lifecycle.CheckTaskInput(action, in); err != nil {
		return temporalio.Refusal(err)
	}

	caller := lifecycle.TaskCaller{ID: in.Actor, Member: true}
	if t.state.Version == 0 || !t.state.Facts(nil).VisibleTo(caller) {
		return nil // not read yet, or private: an administrator may see it
	}

	_, _, err := lifecycle.DecideTask(t.state.Facts(nil), lifecycle.TaskAskOf(action, in, caller))
	if err != nil && fault.CodeOf(err) != fault.ReviewRequired {
		return temporalio.Refusal(fault.As(err))
	}
	return nil
}

// update handles one request of a person or a program. It makes at most one transition, also when the request repeats.
func (t *run) update(
	ctx workflow.Context, action lifecycle.TaskAction, in lifecycle.TaskInput,
) (lifecycle.TaskView, error) {
	err := t.act(ctx, task.Act{RequestID: workflow.GetCurrentUpdateInfo(ctx).ID, Action: action, Input: in})
	if refusal := temporalio.RefusalIn(err); refusal != nil {
		err = temporalio.Refusal(refusal)
	}
	return t.view(), err
}

// act lets the record decide about an act, and takes over what the record has then.
func (t *run) act(ctx workflow.Context, a task.Act) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	a.TaskID, a.At = t.id, workflow.Now(ctx).UTC()
	acted, err := record.Do(ctx, string(a.Action), tasks.ActOnTask, a)
	if err != nil {
		return err
	}

	if acted.State.Version >= t.state.Version { // an attempt that was given up may have left a later one
		t.state, t.waitedOn = acted.State, acted.WaitedOn
		t.show(ctx)
	}
	return nil
}

// timeIsUp ends the state whose timer has fired, unless the task has left it meanwhile or the timer was one of an
// earlier state.
func (t *run) timeIsUp(ctx workflow.Context) error {
	if at, _ := t.state.Due(); at == nil || at.After(t.timer.at) {
		return nil
	}
	return t.act(ctx, task.Act{Action: lifecycle.TaskActionExpire})
}
