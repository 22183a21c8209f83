package bot

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// taskWorkflows does what task workflows would do, in the record only. No other workflow runs.
type taskWorkflows struct{ store *store.Store }

// taskOutcome is the result of an update.
type taskOutcome struct {
	client.WorkflowUpdateHandle
	err error
}

func (o taskOutcome) Get(context.Context, any) error { return o.err }

// update is an update of a workflow.
func (w *rig) update(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if w.away.Add(-1) >= 0 {
		return nil, errors.New("connection refused")
	}
	if w.stuck != "" && strings.HasPrefix(o.WorkflowID, "download/") {
		return w.cancelInVain(ctx, o)
	}
	return (&taskWorkflows{store: w.store}).update(ctx, o)
}

func (w *taskWorkflows) update(
	ctx context.Context, o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	key, isTask := strings.CutPrefix(o.WorkflowID, "task/")
	if !isTask {
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	id, _ := strconv.ParseInt(key, 10, 64)
	_, err := w.store.Tasks.Act(ctx, task.Act{
		TaskID: id, RequestID: o.UpdateID, Action: lifecycle.TaskAction(o.UpdateName), Input: o.Args[0].(lifecycle.TaskInput),
		At: time.Now(),
	})
	if refusal := fault.As(err); refusal != nil {
		err = temporalio.Refusal(refusal)
	}
	return taskOutcome{err: err}, nil
}

// space creates a workspace of the owner with members, without invitations; all of them have written to the bot.
func (w *rig) space(owner int64, members ...int64) task.Workspace {
	w.t.Helper()
	made := w.spaceOf(owner)
	for _, member := range members {
		if err := w.store.Tasks.AddMember(w.t.Context(), made.OwnerID, made.ID, w.user(member).ID); err != nil {
			w.t.Fatal(err)
		}
	}
	return made
}

// spaceOf creates a workspace with only its owner.
func (w *rig) spaceOf(owner int64) task.Workspace {
	w.t.Helper()
	name := "Space of " + number64(owner)
	made, err := w.services.Tasks.CreateWorkspace(w.t.Context(), w.user(owner), tasks.WorkspaceChange{Name: &name}, "")
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

// does performs a person's step on a task through the API. A status there is a step here.
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

// expires makes the deadline of a task pass, as its workflow would see it.
func (w *rig) expires(t task.Task) {
	w.t.Helper()
	_, err := w.store.Tasks.Act(w.t.Context(), task.Act{
		TaskID: t.ID, Action: lifecycle.TaskActionExpire, At: time.Now().AddDate(1, 0, 0),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rig) reload(t task.Task) task.Task {
	w.t.Helper()
	now, err := w.store.Tasks.ByID(w.t.Context(), 0, t.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return now
}

// events lists the types of a task's events.
func (w *rig) events(t task.Task) (types []string) {
	w.t.Helper()
	events, err := w.store.Tasks.EventsOf(w.t.Context(), 0, t.ID, 0, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, event := range events {
		types = append(types, event.Type)
	}
	return types
}

// taskNotices returns the notifications in a chat.
func (w *rig) taskNotices(person int64) (found []telegramsim.Message) {
	for _, m := range w.messages(person) {
		if findButton(m, "tn:") != "" {
			found = append(found, m)
		}
	}
	return found
}

// notified waits until no notification is pending or being sent, and returns the notifications in a chat that contain a
// word.
func (w *rig) notified(person int64, word string) (found []telegramsim.Message) {
	w.t.Helper()
	w.eventually("rest", func() bool {
		cursor, err := w.store.Notices.Cursor(w.t.Context())
		if err != nil {
			return false
		}
		events, err := w.store.Notices.EventsAfter(w.t.Context(), cursor, 1)
		if err != nil || len(events) > 0 {
			return false
		}

		sending := 0
		for _, state := range w.noticeStates() {
			switch state {
			case notice.NoticeDue:
				return false
			case notice.NoticeSending:
				sending++
			}
		}
		return sending == w.taken
	})

	for _, m := range w.taskNotices(person) {
		if strings.Contains(m.Text, word) {
			found = append(found, m)
		}
	}
	return found
}
