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

// actInput asks for an action on a task.
type actInput[Body asking] struct {
	server.Keyed
	server.Tried
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body Body
}

// asking is the body of an action. The name of its type is that of its schema.
type asking interface {
	asked() lifecycle.TaskInput
}

type taskClaim struct {
	ActionBody
	LeaseSeconds int64 `json:"lease_seconds,omitempty" minimum:"60" maximum:"86400" example:"300" doc:"For how long you may be silent: send heartbeats more often, or the task becomes STUCK; left out: for ever"`
}

func (b taskClaim) asked() lifecycle.TaskInput {
	asked := b.ActionBody.asked()
	asked.LeaseSeconds = b.LeaseSeconds
	return asked
}

type taskStatusRequest struct {
	ActionBody
	To string `json:"to" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" example:"DONE" doc:"One of the task's allowed_statuses"`
}

func (b taskStatusRequest) asked() lifecycle.TaskInput {
	asked := b.ActionBody.asked()
	asked.To = lifecycle.TaskState(b.To)
	return asked
}

type taskCommentInput struct {
	server.Keyed
	ID   string      `path:"id" example:"12" doc:"The id of a task"`
	Body CommentBody `nameHint:"TaskComment"`
}

type taskHeartbeatInput struct {
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		ClaimName
	} `nameHint:"TaskHeartbeat"`
}

// ActionBody is what every action on a task may say. It is exported, as all embedded types here, for huma to see its
// fields.
type ActionBody struct {
	ClaimName
	CommentBody
}

// CommentBody says why.
type CommentBody struct {
	Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"I know this part" doc:"Why; it is required, and stands in the task's events"`
}

// ClaimName names the claim by which a caller acts.
type ClaimName struct {
	FencingToken int64 `json:"fencing_token,omitempty" minimum:"1" example:"1772366400000" doc:"The fencing_token of the claim that you act by: LEASE_LOST when it has ended. Left out: the rules of the task alone decide"`
}

// actionFaults are those of all actions, in addition to their own.
var actionFaults = []fault.Code{
	fault.TaskNotFound, fault.LeaseLost, fault.InvalidTransition, fault.InsufficientAccess, fault.CommentRequired,
	fault.TemporalUnavailable, fault.WorkflowPaused,
}

// registerActions adds the operations that act on a task.
func (h *handlers) registerActions(tasks server.Group) {
	registerAct[taskClaim](h, tasks, lifecycle.TaskActionClaim, server.Operation{
		Id: "claim-task", Route: "POST /v1/tasks/{id}/claim",
		Summary:     "Take a task that is ready",
		Description: "Of many who try, one gets it. A task that is assigned to you begins; to claim what you work on already changes nothing.",
		Faults:      []fault.Code{fault.TaskAlreadyClaimed, fault.UnresolvedBlockers},
	})

	registerAct[ActionBody](h, tasks, lifecycle.TaskActionEscalate, server.Operation{
		Id: "escalate-task", Route: "POST /v1/tasks/{id}/escalate",
		Summary: "Block a task that somebody else works on",
		Faults:  []fault.Code{fault.CannotEscalateOwn},
	})

	registerAct[taskClaim](h, tasks, lifecycle.TaskActionTakeover, server.Operation{
		Id: "take-over-task", Route: "POST /v1/tasks/{id}/takeover",
		Summary: "Take a STUCK task and work on it",
		Faults:  []fault.Code{fault.CannotTakeover, fault.UnresolvedBlockers},
	})

	registerAct[taskStatusRequest](h, tasks, lifecycle.TaskActionStatus, server.Operation{
		Id: "change-task-status", Route: "POST /v1/tasks/{id}/status",
		Summary: "Give a task another status",
		Faults:  []fault.Code{fault.UnresolvedBlockers, fault.ReviewRequired},
	})

	server.Register(tasks, server.Operation{
		Id: "send-task-heartbeat", Route: "POST /v1/tasks/{id}/heartbeat",
		Summary:     "Hold a task for another lease, counted from now",
		Description: "For tasks that you claimed with `lease_seconds`. `LEASE_LOST`: the claim has ended, or has no lease.",
		Faults:      []fault.Code{fault.TaskNotFound, fault.LeaseLost},
	}, h.sendHeartbeat)

	server.Register(tasks, server.Operation{
		Id: "comment-task", Route: "POST /v1/tasks/{id}/comments", Status: http.StatusCreated,
		Summary: "Say something about a task, in whatever status it is",
		Faults:  []fault.Code{fault.TaskNotFound, fault.CommentRequired},
	}, h.commentTask)
}

// registerAct adds the operation of an action on a task. It has the faults of all actions besides its own.
func registerAct[Body asking](h *handlers, g server.Group, action lifecycle.TaskAction, op server.Operation) {
	op.Faults = append(op.Faults, actionFaults...)
	server.RegisterTried(g, op, func(ctx context.Context, in *actInput[Body]) (shape.Task, error) {
		return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
			return h.tasks.Act(ctx, user, id, action, in.Body.asked(), in.Key)
		})
	}, func(ctx context.Context, in *actInput[Body]) (shape.DryRun, error) {
		asked := in.Body.asked()
		return h.try(ctx, in.ID, lifecycle.TaskAsk{
			Action: action, To: asked.To, Comment: asked.Comment, FencingToken: asked.FencingToken,
		})
	})
}

func (b ActionBody) asked() lifecycle.TaskInput {
	return lifecycle.TaskInput{Comment: b.Comment, FencingToken: b.FencingToken}
}

func (h *handlers) sendHeartbeat(ctx context.Context, in *taskHeartbeatInput) (shape.Task, error) {
	task, err := h.tasks.Heartbeat(ctx, server.Caller(ctx), server.PathID(in.ID), in.Body.FencingToken)
	return server.Shown(task, h.Refusal(ctx, in.ID, err), taskFor(server.Caller(ctx)))
}

func (h *handlers) commentTask(ctx context.Context, in *taskCommentInput) (shape.History, error) {
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
