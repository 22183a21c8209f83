package task

import (
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/task"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// remembered is how many answers a run hands to the next. That is enough, because a caller repeats a request soon.
const remembered = 50

// answer is the outcome of a request.
type answer struct {
	RequestID string             `json:"request_id"`
	View      lifecycle.TaskView `json:"view"`
}

// listen sets the handlers of all updates and of the query. An update that arrives before the task is read waits for
// it.
func (t *run) listen(ctx workflow.Context) error {
	err := record.Updates(
		ctx, lifecycle.TaskUpdates, "the task: actor (a user id), comment, and for status to", t.validate, t.update,
	)
	if err != nil {
		return err
	}
	return record.Answer(ctx, t.view)
}

// validate refuses an update without a trace in the history. It knows neither the members, the blockers nor the newest
// approval, and leaves what depends on them to the handler.
func (t *run) validate(ctx workflow.Context, action lifecycle.TaskAction, in lifecycle.TaskInput) error {
	if err := lifecycle.CheckTaskInput(action, in); err != nil {
		return temporalio.Refusal(err)
	}

	asked := lifecycle.TaskCaller{ID: in.Actor, Member: true} // the handler checks the membership
	_, before := t.answerTo(workflow.GetCurrentUpdateInfo(ctx).ID)
	if before || t.state.Version == 0 || !t.state.Facts(nil).VisibleTo(asked) {
		return nil // answered already, not read yet, or private: an administrator may see it
	}
	_, _, err := lifecycle.DecideTask(t.state.Facts(nil), lifecycle.TaskAskOf(action, in, asked))
	if err != nil && fault.CodeOf(err) != fault.ReviewRequired { // the record may have an approval
		return temporalio.Refusal(fault.As(err))
	}

	return nil
}

// update handles one request of a person or a program. It makes at most one transition, also when the request repeats.
func (t *run) update(
	ctx workflow.Context, action lifecycle.TaskAction, in lifecycle.TaskInput,
) (lifecycle.TaskView, error) {
	if err := workflow.Await(ctx, func() bool { return t.state.Version > 0 }); err != nil {
		return lifecycle.TaskView{}, err
	}

	unlock, err := t.lock(ctx)
	if err != nil {
		return lifecycle.TaskView{}, err
	}
	defer unlock()

	requestID := workflow.GetCurrentUpdateInfo(ctx).ID
	for {
		if view, before := t.answerTo(requestID); before {
			view.Kept = true
			return view, nil
		}

		ask := lifecycle.TaskAskOf(action, in, lifecycle.TaskCaller{ID: in.Actor})
		facts, err := t.loadContext(ctx, &ask, t.assumed(ctx, ask, requestID))
		if err != nil {
			return lifecycle.TaskView{}, err
		}
		if facts.Written != nil {
			t.take(ctx, *facts.Written)
			continue
		}
		if err := t.loadReview(ctx, ask); err != nil {
			return lifecycle.TaskView{}, err
		}

		step, held, err := lifecycle.DecideTask(t.state.Facts(facts.OpenBlockers), ask)
		if err != nil {
			return lifecycle.TaskView{}, temporalio.Refusal(fault.As(err))
		}
		if held {
			return t.view(), nil
		}
		if err := t.write(ctx, step, ask, requestID); err != nil {
			return lifecycle.TaskView{}, err
		}
		// Either the record has our write now, or it had one that this workflow did not know: then decide again.
	}
}

// moveItself makes a transition by the program, unless the task has left the version that the transition was meant for,
// or the lease that it ends has been renewed.
func (t *run) moveItself(ctx workflow.Context, ask lifecycle.TaskAsk, version int64) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()

	if t.state.Version != version && ask.Action != lifecycle.TaskActionCancel {
		return nil
	}

	ask.Caller = lifecycle.TaskCaller{System: true}
	for !lifecycle.Task.Terminal(t.state.State) {
		step, _, err := lifecycle.DecideTask(t.state.Facts(nil), ask)
		if err != nil {
			return temporalio.Refusal(fault.As(err))
		}
		requestID := service.SystemRequestID(ask.Action, t.state.Version+1)
		err = t.write(ctx, step, ask, requestID)
		if err != nil || t.state.RequestID == requestID || ask.Action != lifecycle.TaskActionCancel {
			return err
		}
	}

	return nil
}

// loadContext reads from the record what this workflow does not know: whether a caller who is neither creator nor
// assignee belongs to the workspace, and which blockers are not DONE when the caller wants to begin work. Once all
// blockers are DONE it does not read them again. What is assumed (nil: nothing) is written instead if it is so.
func (t *run) loadContext(
	ctx workflow.Context, ask *lifecycle.TaskAsk, assumed *task.Write,
) (facts activities.Facts, err error) {
	known, begins := t.knows(*ask)
	if known && (t.unblocked || !begins) {
		return facts, nil
	}

	facts, err = record.Do(ctx, "gather the facts", tasks.TaskFacts, activities.Question{TaskID: t.id, UserID: ask.Caller.ID, Write: assumed})
	switch {
	case err != nil:
		return facts, err
	case facts.Written != nil:
		t.unblocked = t.unblocked || assumed.Guard.Unblocked && facts.Written.State.RequestID == assumed.RequestID
	default:
		ask.Caller.Member, ask.Caller.Admin = facts.Member, facts.Admin
		t.unblocked = len(facts.OpenBlockers) == 0
	}
	return facts, nil
}

// assumed is the write that the table allows if the facts are as they mostly are: the caller belongs to the workspace,
// and no blocker is open. nil: the table refuses even so, or changes nothing.
func (t *run) assumed(ctx workflow.Context, ask lifecycle.TaskAsk, requestID string) *task.Write {
	known, begins := t.knows(ask)
	guard := task.Guard{Unblocked: begins && !t.unblocked}
	if !known {
		guard.MemberID, ask.Caller.Member = ask.Caller.ID, true
	}

	step, held, err := lifecycle.DecideTask(t.state.Facts(nil), ask)
	if held || err != nil {
		return nil
	}

	write := service.TaskTransition(t.id, t.state, step, ask, requestID, workflow.Now(ctx))
	write.Guard = guard
	return &write
}

// knows says whether the workflow itself knows that the caller may see the task, and whether the ask begins work, for
// which all blockers must be DONE.
func (t *run) knows(ask lifecycle.TaskAsk) (caller, begins bool) {
	c := ask.Caller
	caller = c.System || c.ID == t.state.CreatorID || t.state.HeldBy(c.ID)
	begins = ask.Action != lifecycle.TaskActionEscalate &&
		(ask.Action != lifecycle.TaskActionStatus || ask.To == lifecycle.TaskInProgress)
	return caller, begins
}

// loadReview reads from the record whether the review that this workflow misses has been made meanwhile: approvals do not
// reach the workflow.
func (t *run) loadReview(ctx workflow.Context, ask lifecycle.TaskAsk) error {
	if !t.state.ReviewMissing || ask.To != lifecycle.TaskDone {
		return nil
	}

	loaded, err := record.Do(ctx, "read the task", tasks.LoadTask, t.id)
	t.state.ReviewMissing = loaded.State.ReviewMissing
	return err
}

// write makes a transition: the record first, then the workflow takes over what the record has.
func (t *run) write(ctx workflow.Context, step lifecycle.TaskRule, ask lifecycle.TaskAsk, requestID string) error {
	written, err := record.Do(
		ctx, string(step.Event), tasks.WriteTask, service.TaskTransition(t.id, t.state, step, ask, requestID, workflow.Now(ctx)),
	)
	if err != nil {
		return err
	}

	if ask.Reason == lifecycle.TaskReasonLease && written.State.Version == t.state.Version {
		t.state = written.State // its holder has renewed the lease
		return nil
	}
	t.take(ctx, written)
	return nil
}

// take makes the record's state the workflow's, remembers whose request made it, and shows it to operators.
func (t *run) take(ctx workflow.Context, written activities.Written) {
	t.state, t.notify = written.State, written.Tell
	t.answered = append(t.answered, answer{t.state.RequestID, t.view()})
	t.answered = t.answered[max(0, len(t.answered)-remembered):]
	t.show(ctx)
}

// answerTo finds the outcome of an earlier request.
func (t *run) answerTo(requestID string) (lifecycle.TaskView, bool) {
	for _, a := range t.answered {
		if a.RequestID == requestID {
			return a.View, true
		}
	}
	return lifecycle.TaskView{}, false
}
