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
		Name: "task_create", Title: "Make tasks", Scopes: changes, Repeatable: true,
		Description: "Makes one task or a whole graph. Blockers never change later.",
	}, func(ctx context.Context, c *tool.Call, in graph) (answer tool.Answer[made], err error) {
		body := map[string]any{"workspace_id": in.WorkspaceID, "tasks": in.Tasks}
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
	TaskID  tool.ID  `json:"task_id"`
	Comment string   `json:"comment" jsonschema:"why you take it"`
	Key     tool.Key `json:"idempotency_key,omitempty"`
}

type taken struct {
	Task *full `json:"task,omitempty"`
}

func claim() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_claim", Title: "Take a task", Scopes: changes, Repeatable: true,
		Description: "Takes a task that is ready: then it is yours and IN_PROGRESS. Of many who try, one gets it.",
	}, func(ctx context.Context, c *tool.Call, in claiming) (answer tool.Answer[taken], err error) {
		t, err := tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/claim"), comment(in.Comment), in.Key)
		if err != nil {
			return answer, err
		}
		f := fullOf(t)
		return tool.Answer[taken]{Value: taken{&f}, Summary: fmt.Sprintf("Task %s is yours.", t.ID)}, nil
	})

	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in claiming) any { return allowed(ctx, c, in.TaskID) })
}

func comment(text string) map[string]any { return map[string]any{"comment": text} }

type action string

var _ = tool.Enum[action]("status", "escalate", "takeover", "comment")

type change struct {
	TaskID  tool.ID             `json:"task_id"`
	Action  action              `json:"action" jsonschema:"escalate: block a task of somebody else; takeover: take a STUCK one"`
	To      lifecycle.TaskState `json:"to,omitempty" jsonschema:"for status; NEW gives it back"`
	Comment string              `json:"comment" jsonschema:"why; it stands in the events"`
	Key     tool.Key            `json:"idempotency_key,omitempty"`
}

func update() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_update", Title: "Change a task", Scopes: changes, Destroys: true, Repeatable: true,
		Description: "Finish a task (status, to DONE), give it another status, escalate, take over, or comment.",
	}, func(ctx context.Context, c *tool.Call, in change) (tool.Answer[changed], error) {
		switch in.Action {
		case "status":
			body := map[string]any{"to": in.To, "comment": in.Comment}
			return changedTo(tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/status"), body, in.Key))
		case "comment":
			_, err := tool.Post[shape.History](ctx, c, taskPath(in.TaskID, "/comments"), comment(in.Comment), in.Key)
			if err != nil || !c.Grants(account.ScopeRead) {
				return tool.Answer[changed]{Summary: "The comment is in the task's events."}, err
			}
			return changedTo(tool.Get[shape.Task](ctx, c, taskPath(in.TaskID, ""), nil))
		default:
			return changedTo(tool.Post[shape.Task](
				ctx, c, taskPath(in.TaskID, "/"+string(in.Action)), comment(in.Comment), in.Key,
			))
		}
	})

	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in change) any { return allowed(ctx, c, in.TaskID) })
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
	AllowedActions  []lifecycle.TaskAction `json:"allowed_actions"`
	AllowedStatuses []lifecycle.TaskState  `json:"allowed_statuses"`
}

func changedTo(t shape.Task, err error) (answer tool.Answer[changed], _ error) {
	if err != nil {
		return answer, err
	}
	return tool.Answer[changed]{Summary: fmt.Sprintf("Task %s is %s.", t.ID, t.Status), Value: changed{&current{
		ID: tool.ID(t.ID), Status: t.Status, AssigneeID: shape.Value(t.AssigneeID), DeadlineAt: t.StatusDeadlineAt,
		AllowedActions: t.AllowedActions, AllowedStatuses: t.AllowedStatuses,
	}}}, nil
}
