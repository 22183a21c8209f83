package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

type taskActionInput struct {
	Keyed
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"I know this part" doc:"Why; it is required, and stands in the task's events"`
	} `nameHint:"TaskComment"`
}

type taskStatusInput struct {
	Keyed
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		To      string `json:"to" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" example:"DONE" doc:"One of the task's allowed_statuses"`
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"The notes are online" doc:"Why; it is required, and stands in the task's events"`
	} `nameHint:"TaskStatusRequest"`
}

var (
	claimTask = operation{
		id: "claim-task", method: http.MethodPost, path: "/v1/tasks/{id}/claim", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "task",
		summary:     "Take a task that is ready",
		description: "Of many who try, one gets it. A task that is assigned to you begins; to claim what you work on already changes nothing.",
		faults:      append([]fault.Code{fault.TaskAlreadyClaimed, fault.UnresolvedBlockers}, actionFaults...),
	}
	escalateTask = operation{
		id: "escalate-task", method: http.MethodPost, path: "/v1/tasks/{id}/escalate", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "task",
		summary: "Block a task that somebody else works on",
		faults:  append([]fault.Code{fault.CannotEscalateOwn}, actionFaults...),
	}
	takeOverTask = operation{
		id: "take-over-task", method: http.MethodPost, path: "/v1/tasks/{id}/takeover", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "task",
		summary: "Take a STUCK task and work on it",
		faults:  append([]fault.Code{fault.CannotTakeover, fault.UnresolvedBlockers}, actionFaults...),
	}
	changeTaskStatus = operation{
		id: "change-task-status", method: http.MethodPost, path: "/v1/tasks/{id}/status", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "task",
		summary: "Give a task another status", faults: append([]fault.Code{fault.UnresolvedBlockers}, actionFaults...),
	}
	commentTask = operation{
		id: "comment-task", method: http.MethodPost, path: "/v1/tasks/{id}/comments", tag: "Tasks", access: forUsers,
		scope: store.ScopeTasks, subject: "task",
		summary: "Say something about a task, in whatever status it is", status: http.StatusCreated,
		faults: []fault.Code{fault.TaskNotFound, fault.CommentRequired},
	}

	// actionFaults are those of all actions, in addition to their own.
	actionFaults = []fault.Code{
		fault.TaskNotFound, fault.InvalidTransition, fault.InsufficientAccess, fault.CommentRequired,
		fault.TemporalUnavailable,
	}
)

func (s *server) registerTaskActions() {
	register(s, claimTask, s.actOnTask(claimTask, s.o.Tasks.Claim))
	register(s, escalateTask, s.actOnTask(escalateTask, s.o.Tasks.Escalate))
	register(s, takeOverTask, s.actOnTask(takeOverTask, s.o.Tasks.Takeover))
	register(s, changeTaskStatus, func(ctx context.Context, in *taskStatusInput) (*answer[shape.Task], error) {
		to := func(ctx context.Context, user store.User, id int64, comment, key string) (store.Task, error) {
			return s.o.Tasks.Status(ctx, user, id, lifecycle.TaskState(in.Body.To), comment, key)
		}
		return s.acted(ctx, changeTaskStatus, in.ID, in.Body.Comment, in.Key, to)
	})
	register(s, commentTask, s.commentTask)
}

// taskAction is what a caller does to a task.
type taskAction func(ctx context.Context, user store.User, id int64, comment, key string) (store.Task, error)

func (s *server) actOnTask(
	op operation, act taskAction,
) func(context.Context, *taskActionInput) (*answer[shape.Task], error) {
	return func(ctx context.Context, in *taskActionInput) (*answer[shape.Task], error) {
		return s.acted(ctx, op, in.ID, in.Body.Comment, in.Key, act)
	}
}

func (s *server) acted(
	ctx context.Context, op operation, text, comment, key string, act taskAction,
) (*answer[shape.Task], error) {
	id, err := parseTask(text)
	if err != nil {
		return nil, err
	}

	user := caller(ctx)
	byRight, err := s.o.Tasks.ByRight(ctx, user, id)
	if err != nil {
		return nil, err
	}

	task, err := act(ctx, user, id, comment, key)
	if err != nil {
		return nil, explained(s.refusal(ctx, op, text, err))
	}

	if byRight {
		s.audit(ctx, user, op, text, store.OutcomeDone)
	}
	return answered(taskFrom(user, task)), nil
}

func (s *server) commentTask(ctx context.Context, in *taskActionInput) (*answer[shape.History], error) {
	id, err := parseTask(in.ID)
	if err != nil {
		return nil, err
	}

	user := caller(ctx)
	byRight, err := s.o.Tasks.ByRight(ctx, user, id)
	if err != nil {
		return nil, err
	}

	event, err := s.o.Tasks.Comment(ctx, user, id, in.Body.Comment, in.Key)
	if err != nil {
		return nil, s.refusal(ctx, commentTask, in.ID, err)
	}

	if byRight {
		s.audit(ctx, user, commentTask, in.ID, store.OutcomeDone)
	}
	return answered(historyFrom(event)), nil
}

// explained makes a workflow's refusal as clients know them: with the field at fault, which it does not tell, and with
// ids as text. Those come as numbers, in Go's own types or as they were read from JSON.
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
		return formatID(v)
	case float64:
		return formatID(int64(v))
	case []int64:
		return mapped(v, func(id int64) any { return formatID(id) })
	case []any:
		return mapped(v, idAsText)
	default:
		return value
	}
}

func mapped[From, To any](all []From, each func(From) To) []To {
	made := make([]To, len(all))
	for i, one := range all {
		made[i] = each(one)
	}
	return made
}
