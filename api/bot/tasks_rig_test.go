package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// taskWorkflows does what the workflows of tasks would, in the record alone.
type taskWorkflows struct {
	store   *store.Store
	mu      sync.Mutex
	updates map[string]taskOutcome
}

// taskOutcome is what an update has led to.
type taskOutcome struct {
	client.WorkflowUpdateHandle
	view lifecycle.TaskView
	err  error
}

func (o taskOutcome) Get(_ context.Context, into any) error {
	if o.err == nil {
		*into.(*lifecycle.TaskView) = o.view
	}
	return o.err
}

func (w *taskWorkflows) update(
	ctx context.Context, o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if done, before := w.updates[o.UpdateID]; before {
		return done, nil
	}

	id, _ := strconv.ParseInt(strings.TrimPrefix(o.WorkflowID, "task/"), 10, 64)
	var done taskOutcome
	done.view, done.err = w.decide(
		ctx, id, o.UpdateID, lifecycle.TaskAction(o.UpdateName), o.Args[0].(lifecycle.TaskInput),
	)

	if w.updates == nil {
		w.updates = map[string]taskOutcome{}
	}

	w.updates[o.UpdateID] = done
	return done, nil
}

func (w *taskWorkflows) decide(
	ctx context.Context, id int64, request string, action lifecycle.TaskAction, in lifecycle.TaskInput,
) (lifecycle.TaskView, error) {
	now, err := w.store.TaskByID(ctx, 0, id)
	if err != nil {
		return lifecycle.TaskView{}, err
	}

	facts, err := w.store.FactsOfTask(ctx, id, in.Actor)
	if err != nil {
		return lifecycle.TaskView{}, err
	}

	ask := lifecycle.TaskAsk{
		Action: action, To: in.To, Comment: in.Comment,
		Caller: lifecycle.TaskCaller{ID: in.Actor, Member: facts.Member, Admin: facts.Admin},
	}

	step, held, err := lifecycle.DecideTask(now.Snapshot.Facts(facts.OpenBlockers), ask)
	if err != nil {
		return lifecycle.TaskView{}, temporalio.Refusal(fault.As(err))
	}

	state := now.Snapshot
	if !held {
		assignee := now.AssigneeID
		switch {
		case action == lifecycle.TaskActionClaim, action == lifecycle.TaskActionTakeover:
			assignee = &in.Actor
		case step.To == lifecycle.TaskNew:
			assignee = nil
		}

		state, err = w.store.WriteTask(ctx, task.Write{
			TaskID: id, Version: now.Version + 1, RequestID: request, Action: step.Action, State: step.To, AssigneeID: assignee,
			At: time.Now(),
			Event: core.Event{
				Type: step.Event, From: string(now.State), To: string(step.To), ActorID: &in.Actor, Comment: in.Comment,
			},
		})
	}

	return lifecycle.TaskView{
		StateView: lifecycle.StateView{State: string(state.State), Since: state.Since},
		Version:   state.Version, AssigneeID: state.AssigneeID, DeadlineAt: state.DeadlineAt,
	}, err
}

// space makes a workspace of the owner with members, whom nobody has asked; all of them have written to the bot.
func (w *rig) space(owner int64, members ...int64) task.Workspace {
	w.t.Helper()
	made := w.spaceOf(owner)
	for _, member := range members {
		if err := w.store.AddMember(w.t.Context(), made.OwnerID, made.ID, w.user(member).ID); err != nil {
			w.t.Fatal(err)
		}
	}
	return made
}

// spaceOf makes a workspace of the owner alone.
func (w *rig) spaceOf(owner int64) task.Workspace {
	w.t.Helper()
	name := "Space of " + number64(owner)
	made, err := w.services.Tasks.CreateWorkspace(w.t.Context(), w.user(owner), service.WorkspaceChange{Name: &name}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func (w *rig) task(creator int64, space task.Workspace, wanted task.NewTask) task.Task {
	w.t.Helper()
	made, err := w.services.Tasks.Create(w.t.Context(), w.user(creator), space.ID, wanted, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

// does lets a person act on a task over the API. What is a status there is one here.
func (w *rig) does(person int64, t task.Task, step, comment string) {
	w.t.Helper()
	tasks, user, ctx := w.services.Tasks, w.user(person), w.t.Context()
	var err error
	switch step {
	case "claim":
		_, err = tasks.Claim(ctx, user, t.ID, comment, "")
	case "escalate":
		_, err = tasks.Escalate(ctx, user, t.ID, comment, "")
	case "takeover":
		_, err = tasks.Takeover(ctx, user, t.ID, comment, "")
	case "comment":
		_, err = tasks.Comment(ctx, user, t.ID, comment, "")
	default:
		_, err = tasks.Status(ctx, user, t.ID, lifecycle.TaskState(step), comment, "")
	}

	if err != nil {
		w.t.Fatal(step, err, errors.Unwrap(err))
	}
}

// expires lets the deadline of a task pass, as its workflow would see it.
func (w *rig) expires(t task.Task) {
	w.t.Helper()
	now := w.reload(t)
	_, err := w.store.WriteTask(w.t.Context(), task.Write{
		TaskID: t.ID, Version: now.Version + 1, RequestID: "expiry", State: lifecycle.TaskStuck, AssigneeID: now.AssigneeID,
		At: time.Now(),
		Event: core.Event{
			Type: "deadline_expired", From: string(now.State), To: string(lifecycle.TaskStuck),
			Comment: fmt.Sprintf("Status deadline expired. Was in %s for 0 minutes.", now.State),
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rig) reload(t task.Task) task.Task {
	w.t.Helper()
	now, err := w.store.TaskByID(w.t.Context(), 0, t.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return now
}

// events lists the types of a task's events.
func (w *rig) events(t task.Task) (types []string) {
	w.t.Helper()
	events, err := w.store.EventsOfTask(w.t.Context(), 0, t.ID, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, event := range events {
		types = append(types, event.Type)
	}
	return types
}

// taskNotices gives the notices in a chat.
func (w *rig) taskNotices(person int64) (found []telegramsim.Message) {
	for _, m := range w.messages(person) {
		if findButton(m, "tn:") != "" {
			found = append(found, m)
		}
	}
	return found
}

// notified waits until no notice is pending, and gives the notices in a chat that have a word.
func (w *rig) notified(person int64, word string) (found []telegramsim.Message) {
	w.t.Helper()
	w.eventually("rest", func() bool {
		cursor, err := w.store.NoticeCursor(w.t.Context())
		if err != nil {
			return false
		}
		events, err := w.store.EventsAfter(w.t.Context(), cursor, 1)
		return err == nil && len(events) == 0 && !slices.Contains(w.noticeStates(), notice.NoticeDue)
	})

	for _, m := range w.taskNotices(person) {
		if strings.Contains(m.Text, word) {
			found = append(found, m)
		}
	}
	return found
}
