package tasks

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

type taskActionInput struct {
	server.Keyed
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"I know this part" doc:"Why; it is required, and stands in the task's events"`
	} `nameHint:"TaskComment"`
}

type taskStatusInput struct {
	server.Keyed
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		To      string `json:"to" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" example:"DONE" doc:"One of the task's allowed_statuses"`
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"The notes are online" doc:"Why; it is required, and stands in the task's events"`
	} `nameHint:"TaskStatusRequest"`
}

// actionFaults are those of all actions, in addition to their own.
var actionFaults = []fault.Code{
	fault.TaskNotFound, fault.InvalidTransition, fault.InsufficientAccess, fault.CommentRequired,
	fault.TemporalUnavailable,
}

// registerActions adds the operations that act on a task.
func (h *handlers) registerActions(tasks server.Group) {
	server.Register(tasks, server.Operation{
		Id: "claim-task", Route: "POST /v1/tasks/{id}/claim",
		Summary:     "Take a task that is ready",
		Description: "Of many who try, one gets it. A task that is assigned to you begins; to claim what you work on already changes nothing.",
		Faults:      append([]fault.Code{fault.TaskAlreadyClaimed, fault.UnresolvedBlockers}, actionFaults...),
	}, h.action(h.tasks.Claim))

	server.Register(tasks, server.Operation{
		Id: "escalate-task", Route: "POST /v1/tasks/{id}/escalate",
		Summary: "Block a task that somebody else works on",
		Faults:  append([]fault.Code{fault.CannotEscalateOwn}, actionFaults...),
	}, h.action(h.tasks.Escalate))

	server.Register(tasks, server.Operation{
		Id: "take-over-task", Route: "POST /v1/tasks/{id}/takeover",
		Summary: "Take a STUCK task and work on it",
		Faults:  append([]fault.Code{fault.CannotTakeover, fault.UnresolvedBlockers}, actionFaults...),
	}, h.action(h.tasks.Takeover))

	server.Register(tasks, server.Operation{
		Id: "change-task-status", Route: "POST /v1/tasks/{id}/status",
		Summary: "Give a task another status", Faults: append([]fault.Code{fault.UnresolvedBlockers}, actionFaults...),
	}, h.changeTaskStatus)

	server.Register(tasks, server.Operation{
		Id: "comment-task", Route: "POST /v1/tasks/{id}/comments", Status: http.StatusCreated,
		Summary: "Say something about a task, in whatever status it is",
		Faults:  []fault.Code{fault.TaskNotFound, fault.CommentRequired},
	}, h.commentTask)
}

// taskAction is what a caller does to a task.
type taskAction func(ctx context.Context, user account.User, id int64, comment, key string) (task.Task, error)

// action makes the handler of an action.
func (h *handlers) action(act taskAction) func(context.Context, *taskActionInput) (shape.Task, error) {
	return func(ctx context.Context, in *taskActionInput) (shape.Task, error) {
		task, err := byRight(ctx, h, in.ID, func(user account.User, id int64) (task.Task, error) {
			return act(ctx, user, id, in.Body.Comment, in.Key)
		})
		return server.Shown(task, explained(err), taskFor(server.Caller(ctx)))
	}
}

func (h *handlers) changeTaskStatus(ctx context.Context, in *taskStatusInput) (shape.Task, error) {
	asked := taskActionInput{Keyed: in.Keyed, ID: in.ID}
	asked.Body.Comment = in.Body.Comment
	to := func(ctx context.Context, user account.User, id int64, comment, key string) (task.Task, error) {
		return h.tasks.Status(ctx, user, id, lifecycle.TaskState(in.Body.To), comment, key)
	}
	return h.action(to)(ctx, &asked)
}

func (h *handlers) commentTask(ctx context.Context, in *taskActionInput) (shape.History, error) {
	event, err := byRight(ctx, h, in.ID, func(user account.User, id int64) (core.StreamedEvent, error) {
		return h.tasks.Comment(ctx, user, id, in.Body.Comment, in.Key)
	})
	return server.Shown(event, err, server.HistoryFrom)
}

// byRight does something to a task that the caller may see, and audits what only an administrator's right allows.
func byRight[T any](
	ctx context.Context, h *handlers, text string, do func(user account.User, id int64) (T, error),
) (done T, err error) {
	id, user := server.PathID(text), server.Caller(ctx)
	audited, err := h.tasks.ByRight(ctx, user, id)
	if err != nil {
		return done, err
	}

	if done, err = do(user, id); err != nil {
		return done, h.Refusal(ctx, text, err)
	}

	if audited {
		h.Done(ctx, text)
	}
	return done, nil
}

// explained makes a workflow's refusal one of the API: it adds the field at fault and writes ids as text. They come as
// numbers, in Go's own types or as JSON has them.
func explained(err error) error {
	refusal := fault.As(err)
	if refusal == nil {
		return err
	}

	for _, name := range []string{"holder", "blockers"} {
		if value, there := refusal.Details[name]; there {
			refusal = refusal.With(name, idAsText(value))
		}
	}

	if refusal.Code == fault.CommentRequired {
		refusal = refusal.WithField("comment")
	}
	return refusal
}

func idAsText(value any) any {
	switch v := value.(type) {
	case int64:
		return shape.ID(v)
	case float64:
		return shape.ID(int64(v))
	case []int64:
		return shape.List(v, func(id int64) any { return shape.ID(id) })
	case []any:
		return shape.List(v, idAsText)
	default:
		return value
	}
}
