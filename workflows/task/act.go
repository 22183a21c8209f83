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
	var plain, written []lifecycle.TaskAction
	for _, action := range lifecycle.TaskUpdates {
		if action == lifecycle.TaskActionSubmit || action == lifecycle.TaskActionEdit {
			written = append(written, action)
		} else {
			plain = append(plain, action)
		}
	}

	err := record.Updates(ctx, plain, "the task: actor (a user id), comment, and for status to", t.validate, t.update)
	if err != nil {
		return err
	}
	err = record.Updates(ctx, written, "is for the API alone, which keeps what is written", t.validate, t.update)
	if err != nil {
		return err
	}
	return record.Answer(ctx, t.view)
}

// validate rejects an update without a trace in the history. It knows neither the members, the blockers nor the
// workspace's setting, and leaves what depends on them to the handler. It leaves everything to the handler while the
// record is being read, or will be: it may be ahead of the workflow.
func (t *run) validate(_ workflow.Context, action lifecycle.TaskAction, in lifecycle.TaskInput) error {
	if err := lifecycle.CheckTaskInput(action, in); err != nil {
		return temporalio.Refusal(err)
	}

	caller := lifecycle.TaskCaller{ID: in.Actor, Member: true}
	if t.state.Version == 0 || t.refreshes.Len() > 0 || t.mutex.IsLocked() || !t.state.Facts(nil).VisibleTo(caller) {
		return nil // unknown, or private: an administrator may see it
	}

	_, _, err := lifecycle.DecideTask(t.state.Facts(nil), lifecycle.TaskAskOf(action, in, caller))
	if err != nil && fault.CodeOf(err) != fault.ReviewRequired {
		return temporalio.Refusal(fault.As(err))
	}
	return nil
}

// update handles one request of a person or a program. It makes at most one transition, even if the request is
// repeated.
func (t *run) update(
	ctx workflow.Context, action lifecycle.TaskAction, in lifecycle.TaskInput,
) (lifecycle.TaskView, error) {
	err := t.act(ctx, task.Act{RequestID: workflow.GetCurrentUpdateInfo(ctx).ID, Action: action, Input: in})
	if refusal := temporalio.RefusalIn(err); refusal != nil {
		err = temporalio.Refusal(refusal)
	}
	return t.view(), err
}

// act lets the record decide an action, and adopts the recorded state.
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

	if acted.State.Version >= t.state.Version { // an abandoned attempt may have left a later one
		t.state, t.waitedOn = acted.State, acted.WaitedOn
		t.show(ctx)
	}
	return nil
}
