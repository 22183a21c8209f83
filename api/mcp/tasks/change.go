package tasks

import (
	"context"
	"fmt"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

type graph struct {
	WorkspaceID tool.ID   `json:"workspace_id"`
	Tasks       []planned `json:"tasks" jsonschema:"1 to 500; all are made, or none"`
	Key         tool.Key  `json:"idempotency_key,omitempty"`
}

type planned struct {
	Ref         string     `json:"ref,omitempty" jsonschema:"how blocked_by of others here names it"`
	Title       string     `json:"title" jsonschema:"5 to 200 characters"`
	Description string     `json:"description,omitempty"`
	Visibility  visibility `json:"visibility,omitempty"`
	Priority    priority   `json:"priority,omitempty"`
	Labels      []string   `json:"labels,omitempty"`
	AssigneeID  tool.ID    `json:"assignee_id,omitempty" jsonschema:"then only they begin it"`
	BlockedBy   []string   `json:"blocked_by,omitempty" jsonschema:"refs or ids of what has to be DONE before"`
}

type made struct {
	Tasks []madeTask `json:"tasks" jsonschema:"in the order asked"`
}

type madeTask struct {
	Ref    string              `json:"ref,omitempty"`
	ID     tool.ID             `json:"id"`
	Status lifecycle.TaskState `json:"status"`
	Ready  bool                `json:"ready"`
}

func create() tool.Tool {
	return tool.New(tool.About{
		Name: "task_create", Scopes: changes, Repeatable: true,
		Description: "Makes one task or a whole graph. Blockers never change later.",
	}, func(ctx context.Context, c *tool.Call, in graph) (answer tool.Answer[made], err error) {
		body := tool.Body{"workspace_id": in.WorkspaceID, "tasks": in.Tasks}
		batch, err := tool.Post[shape.TaskBatch](ctx, c, "/v1/tasks/batch", body, in.Key)
		return tool.Answer[made]{
			Value: made{shape.List(batch.Items, func(t shape.BatchTask) madeTask {
				return madeTask{t.Ref, tool.ID(t.ID), t.Status, t.Ready}
			})},
			Summary: fmt.Sprintf("%d tasks are made.", len(batch.Items)),
		}, err
	})
}

type claiming struct {
	TaskID       tool.ID  `json:"task_id"`
	Comment      string   `json:"comment" jsonschema:"why you take it"`
	LeaseSeconds int64    `json:"lease_seconds,omitempty" jsonschema:"60 to 86400: then it is yours only as long as heartbeats come"`
	Key          tool.Key `json:"idempotency_key,omitempty"`
}

type taken struct {
	Task *mine `json:"task,omitempty"`
}

// mine is a task that the caller is to work on.
type mine struct {
	ID             tool.ID             `json:"id"`
	WorkspaceID    tool.ID             `json:"workspace_id"`
	Status         lifecycle.TaskState `json:"status"`
	Priority       priority            `json:"priority"`
	DeadlineAt     *time.Time          `json:"status_deadline_at,omitempty"`
	LeaseExpiresAt *time.Time          `json:"lease_expires_at,omitempty" jsonschema:"STUCK then, unless a heartbeat comes"`
	FencingToken   int64               `json:"fencing_token,omitempty"`
	BlockedBy      []string            `json:"blocked_by,omitempty" jsonschema:"DONE; task_get gives their results"`
	Others         words               `json:"written_by_others"`
}

func takenOf(t shape.Task) tool.Answer[taken] {
	f := fullOf(t)
	return tool.Answer[taken]{Summary: fmt.Sprintf("Task %s is yours.", t.ID), Value: taken{&mine{
		ID: f.ID, WorkspaceID: f.WorkspaceID, Status: f.Status, Priority: f.Priority, DeadlineAt: f.DeadlineAt,
		LeaseExpiresAt: f.LeaseExpiresAt, FencingToken: f.FencingToken, BlockedBy: f.BlockedBy, Others: f.Others,
	}}}
}

func claim() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_claim", Scopes: changes, Repeatable: true,
		Description: "Takes a task that is ready: then it is yours and IN_PROGRESS. Of many who try, one gets it.",
	}, func(ctx context.Context, c *tool.Call, in claiming) (answer tool.Answer[taken], err error) {
		body := tool.Body{"comment": in.Comment, "lease_seconds": in.LeaseSeconds}
		t, err := tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/claim"), body, in.Key)
		if err != nil {
			return answer, err
		}
		return takenOf(t), nil
	})

	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in claiming) any { return allowed(ctx, c, in.TaskID) })
}

type beat struct {
	TaskID       tool.ID `json:"task_id"`
	FencingToken int64   `json:"fencing_token,omitempty"`
}

func heartbeat() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_heartbeat", Scopes: changes, Repeatable: true,
		Description: "Renews the lease of a task that you claimed with lease_seconds. LEASE_LOST: it is not yours any more, stop.",
	}, func(ctx context.Context, c *tool.Call, in beat) (tool.Answer[changed], error) {
		body := tool.Body{"fencing_token": in.FencingToken}
		return changedTo(tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/heartbeat"), body, ""))
	})
	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in beat) any { return allowed(ctx, c, in.TaskID) })
}

type action string

var _ = tool.Enum[action]("status", "escalate", "takeover", "comment")

type change struct {
	TaskID       tool.ID             `json:"task_id"`
	Action       action              `json:"action" jsonschema:"escalate: block a task of somebody else; takeover: take a STUCK one"`
	To           lifecycle.TaskState `json:"to,omitempty" jsonschema:"for status; NEW gives it back"`
	Comment      string              `json:"comment" jsonschema:"why; it stands in the events"`
	FencingToken int64               `json:"fencing_token,omitempty" jsonschema:"of your claim: refused once that has ended"`
	LeaseSeconds int64               `json:"lease_seconds,omitempty" jsonschema:"for takeover"`
	Key          tool.Key            `json:"idempotency_key,omitempty"`
}

func update() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_update", Scopes: changes, Destroys: true, Repeatable: true,
		Description: "Finish a task (status, to DONE), give it another status, escalate, take over, or comment.",
	}, perform)
	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in change) any { return allowed(ctx, c, in.TaskID) })
}

func perform(ctx context.Context, c *tool.Call, in change) (answer tool.Answer[changed], err error) {
	body := tool.Body{
		"comment": in.Comment, "to": in.To, "fencing_token": in.FencingToken, "lease_seconds": in.LeaseSeconds,
	}

	if in.Action != "comment" {
		return changedTo(tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/"+string(in.Action)), body, in.Key))
	}

	if _, err := tool.Post[shape.History](ctx, c, taskPath(in.TaskID, "/comments"), tool.Body{"comment": in.Comment}, in.Key); err != nil {
		return answer, err
	}
	if !c.Grants(account.ScopeRead) {
		return tool.Answer[changed]{Summary: "The comment is in the task's events."}, nil
	}

	return changedTo(tool.Get[shape.Task](ctx, c, taskPath(in.TaskID, ""), nil))
}

// changed is a task after a change: what of it can differ.
type changed struct {
	Task *current `json:"task,omitempty"`
}

type current struct {
	ID              tool.ID                `json:"id"`
	Status          lifecycle.TaskState    `json:"status"`
	AssigneeID      string                 `json:"assignee_id,omitempty"`
	DeadlineAt      *time.Time             `json:"status_deadline_at,omitempty"`
	LeaseExpiresAt  *time.Time             `json:"lease_expires_at,omitempty"`
	FencingToken    int64                  `json:"fencing_token,omitempty"`
	AllowedActions  []lifecycle.TaskAction `json:"allowed_actions"`
	AllowedStatuses []lifecycle.TaskState  `json:"allowed_statuses"`
}

func changedTo(t shape.Task, err error) (answer tool.Answer[changed], _ error) {
	if err != nil {
		return answer, err
	}
	return tool.Answer[changed]{Summary: fmt.Sprintf("Task %s is %s.", t.ID, t.Status), Value: changed{&current{
		ID: tool.ID(t.ID), Status: t.Status, AssigneeID: shape.Value(t.AssigneeID), DeadlineAt: t.StatusDeadlineAt,
		LeaseExpiresAt: t.LeaseExpiresAt, FencingToken: shape.Value(t.FencingToken),
		AllowedActions: t.AllowedActions, AllowedStatuses: t.AllowedStatuses,
	}}}, nil
}
