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

// actInput requests an action on a task.
type actInput[Body asking] struct {
	server.Keyed
	ID   string `path:"id" example:"12" doc:"Task ID"`
	Body Body
}

// asking is the body of an action. The name of its type is that of its schema.
type asking interface {
	asked() lifecycle.TaskInput
}

type taskClaim struct {
	ActionBody
	LeaseSeconds int64 `json:"lease_seconds,omitempty" minimum:"60" maximum:"86400" example:"300" doc:"Length of the lease: without a heartbeat for this long the task becomes STUCK; omitted: no lease"`
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
	ID   string      `path:"id" example:"12" doc:"Task ID"`
	Body CommentBody `nameHint:"TaskComment"`
}

type taskHeartbeatInput struct {
	ID   string `path:"id" example:"12" doc:"Task ID"`
	Body struct {
		ClaimName
	} `nameHint:"TaskHeartbeat"`
}

// ActionBody has the fields of every action on a task. Like all embedded types here it is exported for huma to see its
// fields.
type ActionBody struct {
	ClaimName
	CommentBody
}

// CommentBody adds a comment.
type CommentBody struct {
	Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"I know this part" doc:"Reason; required, and shown in the task's events"`
}

// ClaimName names the claim with which a caller acts.
type ClaimName struct {
	FencingToken int64 `json:"fencing_token,omitempty" minimum:"1" example:"1772366400000" doc:"fencing_token of your claim: LEASE_LOST if that claim has ended. Omitted: only the task's rules apply"`
}

// actionFaults are common to all actions.
var actionFaults = []fault.Code{
	fault.TaskNotFound, fault.LeaseLost, fault.InvalidTransition, fault.InsufficientAccess, fault.CommentRequired,
	fault.TemporalUnavailable, fault.WorkflowPaused,
}

// registerActions adds the operations that act on a task.
func (h *handlers) registerActions(tasks server.Group) {
	registerAct[taskClaim](h, tasks, lifecycle.TaskActionClaim, server.Operation{
		Id: "claim-task", Route: "POST /v1/tasks/{id}/claim",
		Summary:     "Claim a ready task",
		Description: "Only one caller gets it. Claiming a task assigned to you starts it; claiming one that you are already working on changes nothing.",
		Faults:      []fault.Code{fault.TaskAlreadyClaimed, fault.UnresolvedBlockers},
	})

	registerAct[ActionBody](h, tasks, lifecycle.TaskActionEscalate, server.Operation{
		Id: "escalate-task", Route: "POST /v1/tasks/{id}/escalate",
		Summary: "Block a task that someone else is working on",
		Faults:  []fault.Code{fault.CannotEscalateOwn},
	})

	registerAct[taskClaim](h, tasks, lifecycle.TaskActionTakeover, server.Operation{
		Id: "take-over-task", Route: "POST /v1/tasks/{id}/takeover",
		Summary: "Take over a STUCK task",
		Faults:  []fault.Code{fault.CannotTakeover, fault.UnresolvedBlockers},
	})

	registerAct[taskStatusRequest](h, tasks, lifecycle.TaskActionStatus, server.Operation{
		Id: "change-task-status", Route: "POST /v1/tasks/{id}/status",
		Summary: "Change the status of a task",
		Faults:  []fault.Code{fault.UnresolvedBlockers, fault.ReviewRequired},
	})

	server.Register(tasks, server.Operation{
		Id: "send-task-heartbeat", Route: "POST /v1/tasks/{id}/heartbeat",
		Summary:     "Renew the lease of a task from now",
		Description: "For tasks that you claimed with `lease_seconds`. `LEASE_LOST`: the claim has ended or has no lease.",
		Faults:      []fault.Code{fault.TaskNotFound, fault.LeaseLost, fault.NoLease},
	}, h.sendHeartbeat)

	server.Register(tasks, server.Operation{
		Id: "comment-task", Route: "POST /v1/tasks/{id}/comments", Status: http.StatusCreated,
		Summary: "Comment on a task in any status",
		Faults:  []fault.Code{fault.TaskNotFound, fault.CommentRequired},
	}, h.commentTask)
}

// registerAct adds the operation of an action on a task, with the faults common to all actions besides its own.
func registerAct[Body asking](h *handlers, g server.Group, action lifecycle.TaskAction, op server.Operation) {
	op.Faults = append(op.Faults, actionFaults...)
	server.Register(g, op, func(ctx context.Context, in *actInput[Body]) (shape.Task, error) {
		return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
			return h.tasks.Act(ctx, user, id, action, in.Body.asked(), in.Key)
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

// byRight performs an operation on a task that the caller may see, and audits what only the administrator role allows.
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

// explained converts a workflow's refusal into the API's: it adds the invalid field and formats ids as text. They
// arrive as numbers, in Go types or decoded from JSON.
func explained(err error) error {
	refusal := fault.As(err)
	if refusal == nil {
		return err
	}

	for _, name := range []string{"holder", "blockers", "cancelled"} {
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
