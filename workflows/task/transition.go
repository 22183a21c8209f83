package task

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/workflow"

	"stagecoach/activities"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// Input is what an update brings. To is for the update status only.
type Input struct {
	Actor   int64            `json:"actor"`
	Comment string           `json:"comment"`
	To      store.TaskStatus `json:"to,omitempty"`
}

// MaxComment is how many characters a comment may have.
const MaxComment = 4000

// Updates lists the actions that come as updates.
var Updates = []store.TaskAction{store.TaskActionClaim, store.TaskActionEscalate, store.TaskActionTakeover, store.TaskActionStatus}

// remembered is how many answers a run hands to the next: a caller who asks again does so soon.
const remembered = 50

// answer remembers what a request has led to.
type answer struct {
	RequestID string `json:"request_id"`
	View      View   `json:"view"`
}

// listen sets the handlers of all updates and of the query. An update that comes before the task is read waits for that.
func (t *task) listen(ctx workflow.Context) error {
	for _, action := range Updates {
		err := workflow.SetUpdateHandlerWithOptions(ctx, string(action),
			func(ctx workflow.Context, in Input) (View, error) { return t.update(ctx, action, in) },
			workflow.UpdateHandlerOptions{
				Validator:   func(ctx workflow.Context, in Input) error { return t.validate(ctx, action, in) },
				Description: fmt.Sprintf("%s the task: actor (a user id), comment, and for status to", action),
			})
		if err != nil {
			return err
		}
	}
	return workflow.SetQueryHandler(ctx, StateQuery, func() (View, error) { return t.view(), nil })
}

// validate refuses without a trace what cannot be let through. It knows neither who is a member nor the blockers, and
// leaves to the handler what depends on them.
func (t *task) validate(ctx workflow.Context, action store.TaskAction, in Input) error {
	if err := checkInput(action, in); err != nil {
		return lifecycle.Refusal(err)
	}
	asked := Caller{ID: in.Actor, Member: true} // the handler looks whether that is so
	_, before := t.answerTo(workflow.GetCurrentUpdateInfo(ctx).ID)
	if before || t.state.Version == 0 || !sees(t.state, asked) {
		return nil // answered already, not read yet, or private: an administrator may see it
	}
	if _, _, err := Decide(t.state, askOf(action, in, asked), nil); err != nil {
		return lifecycle.Refusal(fault.As(err))
	}
	return nil
}

func checkInput(action store.TaskAction, in Input) *fault.Error {
	switch {
	case in.Actor <= 0:
		return fault.New(fault.Validation, "an actor is required").WithField("actor")
	case action == store.TaskActionStatus && !slices.Contains(store.TaskStatuses, in.To):
		return fault.New(fault.Validation, "to must be one of %v", store.TaskStatuses).WithField("to")
	default:
		return checkComment(in.Comment)
	}
}

func checkComment(comment string) *fault.Error {
	switch {
	case utf8.RuneCountInString(comment) > MaxComment:
		return fault.New(fault.Validation, "a comment has at most %d characters", MaxComment).WithField("comment")
	case !isText(comment):
		return notText("comment")
	default:
		return nil
	}
}

// isText says whether the record can hold a text: PostgreSQL takes no NUL.
func isText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func notText(field string) *fault.Error {
	return fault.New(fault.Validation, "this is not text: it holds a NUL, or is not UTF-8").WithField(field)
}

// update is one request by a person or a program: at most one transition, whatever it meets and however often it comes.
func (t *task) update(ctx workflow.Context, action store.TaskAction, in Input) (View, error) {
	if err := workflow.Await(ctx, func() bool { return t.state.Version > 0 }); err != nil {
		return View{}, err
	}
	unlock, err := t.lock(ctx)
	if err != nil {
		return View{}, err
	}
	defer unlock()
	requestID := workflow.GetCurrentUpdateInfo(ctx).ID
	for {
		if view, before := t.answerTo(requestID); before {
			return view, nil
		}
		ask := askOf(action, in, Caller{ID: in.Actor})
		openBlockers, err := t.look(ctx, &ask)
		if err != nil {
			return View{}, err
		}
		if t.keepsByOldRule(ctx, ask) {
			return t.view(), nil
		}
		step, held, err := Decide(t.state, ask, openBlockers)
		if err != nil {
			return View{}, lifecycle.Refusal(fault.As(err))
		}
		if held {
			return t.view(), nil
		}
		if err := t.write(ctx, step, ask, requestID); err != nil {
			return View{}, err
		}
		// Either the record has our write now, or one that this workflow had forgotten: then decide again.
	}
}

// keepsByOldRule says whether a claim changes nothing because its caller holds the task and the claim came when that was the rule for
// all of its live statuses. In IN_PROGRESS it is the rule still.
func (t *task) keepsByOldRule(ctx workflow.Context, ask Ask) bool {
	if ask.Action != store.TaskActionClaim || !t.state.HeldBy(ask.Caller.ID) || t.state.Status == store.TaskInProgress || Rules.Terminal(t.state.Status) {
		return false
	}
	return workflow.GetVersion(ctx, "claim-by-assignee", workflow.DefaultVersion, 1) == workflow.DefaultVersion
}

// moveItself makes a transition of the program's own, unless the task has left the version that it was meant for.
func (t *task) moveItself(ctx workflow.Context, action store.TaskAction, to store.TaskStatus, comment string, version int64) error {
	unlock, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if t.state.Version != version && action != store.TaskActionCancel {
		return nil
	}
	ask := Ask{Action: action, To: to, Comment: comment, Caller: Caller{System: true}}
	for !Rules.Terminal(t.state.Status) {
		step, _, err := Decide(t.state, ask, nil)
		if err != nil {
			return lifecycle.Refusal(fault.As(err))
		}
		requestID := itsOwn(action, t.state.Version+1)
		err = t.write(ctx, step, ask, requestID)
		if err != nil || t.state.RequestID == requestID || action != store.TaskActionCancel {
			return err
		}
	}
	return nil
}

// look asks the record what this workflow does not know: the standing of a caller who is neither creator nor assignee,
// and, for one who wants to begin work, which blockers are not DONE. What can never change again it does not ask twice.
func (t *task) look(ctx workflow.Context, ask *Ask) (openBlockers []int64, err error) {
	c := &ask.Caller
	known := c.System || c.ID == t.state.CreatorID || t.state.HeldBy(c.ID)
	begins := ask.Action != store.TaskActionEscalate && (ask.Action != store.TaskActionStatus || ask.To == store.TaskInProgress)
	if known && (t.unblocked || !begins) {
		return nil, nil
	}
	facts, err := lifecycle.Do(ctx, tasks.TaskFacts, activities.TaskQuestion{TaskID: t.id, UserID: c.ID})
	if err != nil {
		return nil, err
	}
	c.Member, c.Admin = facts.Member, facts.Admin
	t.unblocked = len(facts.OpenBlockers) == 0
	return facts.OpenBlockers, nil
}

// write makes a transition: the record first, then the workflow takes over what the record has.
func (t *task) write(ctx workflow.Context, step rule, ask Ask, requestID string) error {
	written, err := lifecycle.Do(ctx, tasks.WriteTask, transitionOf(t.id, t.state, step, ask, requestID, workflow.Now(ctx)))
	if err != nil {
		return err
	}
	t.take(ctx, written)
	return nil
}

// transitionOf is what the record is to have after a step.
func transitionOf(taskID int64, state store.TaskState, step rule, ask Ask, requestID string, at time.Time) store.TaskWrite {
	event := store.Event{Type: step.Event, From: string(state.Status), To: string(step.To), Comment: ask.Comment}
	if !ask.Caller.System {
		event.ActorID = &ask.Caller.ID
	}
	return store.TaskWrite{
		TaskID: taskID, Version: state.Version + 1, RequestID: requestID, Action: step.Action, Status: step.To,
		AssigneeID: assigneeAfter(state, step, ask.Caller.ID), At: at.UTC(), Event: event,
	}
}

// take makes the record's state the workflow's, remembers whose request made it, and shows it to operators.
func (t *task) take(ctx workflow.Context, written activities.TaskWritten) {
	t.state, t.tell = written.State, written.Tell
	t.answered = append(t.answered, answer{t.state.RequestID, t.view()})
	t.answered = t.answered[max(0, len(t.answered)-remembered):]
	t.show(ctx)
}

// answerTo finds what a request has led to.
func (t *task) answerTo(requestID string) (View, bool) {
	for _, a := range t.answered {
		if a.RequestID == requestID {
			return a.View, true
		}
	}
	return View{}, false
}

// itsOwn names a request of the program's own: the same for the same version, whoever repeats it.
func itsOwn[A ~string](action A, version int64) string {
	return fmt.Sprintf("system-%s-%d", action, version)
}

func askOf(action store.TaskAction, in Input, caller Caller) Ask {
	ask := Ask{Action: action, Comment: in.Comment, Caller: caller}
	if action == store.TaskActionStatus {
		ask.To = in.To
	}
	return ask
}
