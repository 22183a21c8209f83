// Package tasks has the tools of tasks.
package tasks

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// Part gives the tools of tasks.
func Part() tool.Part {
	return tool.Part{
		Workload: lifecycle.WorkloadTask, Options: options, Status: tool.NewStatus("tasks", standing),
		Tools: []tool.Tool{find(), get(), create(), claim(), update()},
	}
}

var (
	reads   = []account.Scope{account.ScopeRead}
	changes = []account.Scope{lifecycle.TaskScope}
)

type (
	priority   string
	visibility string
)

var _ = tool.Enum[priority]("low", "normal", "high", "critical") && tool.Enum[visibility]("public", "private") &&
	tool.Enum(lifecycle.TaskStates...)

// brief is a task in a list.
type brief struct {
	ID          tool.ID             `json:"id"`
	WorkspaceID tool.ID             `json:"workspace_id"`
	Status      lifecycle.TaskState `json:"status"`
	Priority    priority            `json:"priority"`
	Ready       bool                `json:"ready,omitempty" jsonschema:"can be claimed now"`
	AssigneeID  string              `json:"assignee_id,omitempty"`
	BlockedBy   []string            `json:"blocked_by,omitempty"`
	DeadlineAt  *time.Time          `json:"status_deadline_at,omitempty"`
	Others      words               `json:"written_by_others"`
}

// words are what people have written into a task.
type words struct {
	Title       tool.Text   `json:"title"`
	Labels      []tool.Text `json:"labels,omitempty"`
	Description tool.Text   `json:"description,omitempty"`
}

func briefOf(t shape.Task) brief {
	return brief{
		ID: tool.ID(t.ID), WorkspaceID: tool.ID(t.WorkspaceID), Status: t.Status, Priority: priority(t.Priority),
		Ready: t.Ready, AssigneeID: shape.Value(t.AssigneeID), BlockedBy: t.BlockedBy, DeadlineAt: t.StatusDeadlineAt,
		Others: words{Title: tool.Text(t.Title), Labels: tool.Texts(t.Labels)},
	}
}

// full is a task with what the caller may do with it now.
type full struct {
	brief
	CreatorID       tool.ID                `json:"creator_id"`
	Visibility      visibility             `json:"visibility"`
	OpenBlockers    []string               `json:"open_blockers,omitempty" jsonschema:"not DONE yet"`
	AllowedActions  []lifecycle.TaskAction `json:"allowed_actions"`
	AllowedStatuses []lifecycle.TaskState  `json:"allowed_statuses" jsonschema:"that the action status may lead to"`
	UpdatedAt       time.Time              `json:"updated_at"`
}

func fullOf(t shape.Task) full {
	f := full{
		brief: briefOf(t), CreatorID: tool.ID(t.CreatorID), Visibility: visibility(t.Visibility),
		AllowedActions: t.AllowedActions, AllowedStatuses: t.AllowedStatuses, UpdatedAt: t.UpdatedAt,
	}

	f.Others.Description = tool.Text(t.Description)
	for _, blocker := range t.Blockers {
		if blocker.Status != lifecycle.TaskDone {
			f.OpenBlockers = append(f.OpenBlockers, blocker.ID)
		}
	}
	return f
}

// taskPath is the path of a task, or of something of it.
func taskPath(id tool.ID, of string) string { return "/v1/tasks/" + url.PathEscape(string(id)) + of }

// stand is what the tool status shows of tasks.
type stand struct {
	Workspaces []place `json:"workspaces"`
	Assigned   []brief `json:"assigned" jsonschema:"yours, the nearest deadline first"`
	Ready      []brief `json:"ready" jsonschema:"some that you can claim now"`
}

type place struct {
	ID      tool.ID `json:"id"`
	OwnerID tool.ID `json:"owner_id"`
	Others  struct {
		Name tool.Text `json:"name"`
	} `json:"written_by_others"`
}

func standing(ctx context.Context, c *tool.Call) (s stand, err error) {
	workspaces, err := tool.Get[shape.Page[shape.Workspace]](ctx, c, "/v1/workspaces", url.Values{"limit": {"20"}})
	if err != nil {
		return s, err
	}

	mine, err := tool.Get[shape.MyTasks](ctx, c, "/v1/tasks/mine", url.Values{"limit": {"5"}})

	s.Assigned, s.Ready = shape.List(mine.Assigned, briefOf), shape.List(mine.Ready, briefOf)
	s.Workspaces = shape.List(workspaces.Items, func(w shape.Workspace) place {
		p := place{ID: tool.ID(w.ID), OwnerID: tool.ID(w.OwnerID)}
		p.Others.Name = tool.Text(w.Name)
		return p
	})

	return s, err
}

// options gives what may be done to a task now.
func options(ctx context.Context, c *tool.Call, id string) ([]tool.Option, error) {
	all, err := tool.Get[shape.TaskOptions](ctx, c, "/v1/tasks/"+url.PathEscape(id)+"/actions", nil)
	return shape.List(all.Items, func(o shape.TaskOption) tool.Option {
		return tool.Option{
			Action: string(o.Action), To: string(o.To), Allowed: o.Allowed, Code: string(shape.Value(o.Code)), Reason: o.Reason,
			Details: o.Details,
		}
	}), err
}

// allowed gives what is possible in place of an action that was refused: no reasons, which explain gives.
func allowed(ctx context.Context, c *tool.Call, id tool.ID) any {
	if id == "" || !c.Grants(account.ScopeRead) {
		return nil
	}

	all, err := options(ctx, c, string(id))
	if err != nil {
		return nil
	}

	instead := []map[string]string{}
	for _, o := range all {
		if o.Allowed {
			instead = append(instead, map[string]string{"action": o.Action, "to": o.To})
		}
	}
	return instead
}

// changed is a task after a change.
type changed struct {
	Task *full `json:"task,omitempty"`
}

func changedTo(t shape.Task, err error) (answer tool.Answer[changed], _ error) {
	if err != nil {
		return answer, err
	}
	f := fullOf(t)
	return tool.Answer[changed]{Value: changed{&f}, Summary: fmt.Sprintf("Task %s is %s.", t.ID, t.Status)}, nil
}

type wanted struct {
	WorkspaceID tool.ID             `json:"workspace_id,omitempty"`
	Status      lifecycle.TaskState `json:"status,omitempty"`
	Assignee    string              `json:"assignee,omitempty" jsonschema:"the id of a user, or me"`
	Ready       bool                `json:"ready,omitempty" jsonschema:"only those that can be claimed now"`
	Limit       tool.Limit          `json:"limit,omitempty" jsonschema:"20 unless told"`
	Cursor      string              `json:"cursor,omitempty"`
}

type found struct {
	Tasks      []brief `json:"tasks"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

func find() tool.Tool {
	return tool.New(tool.About{
		Name: "tasks_find", Title: "Find tasks", Scopes: reads, Reads: true,
		Description: "Lists the tasks that you may see, the newest first.",
	}, func(ctx context.Context, c *tool.Call, in wanted) (answer tool.Answer[found], err error) {
		query := tool.Query{
			"workspace_id": string(in.WorkspaceID), "status": string(in.Status), "assignee": in.Assignee, "cursor": in.Cursor,
		}.Page(in.Limit)

		if in.Ready {
			query.Set("ready", "true")
		}

		page, err := tool.Get[shape.Page[shape.Task]](ctx, c, "/v1/tasks", query)
		return tool.Answer[found]{
			Value:   found{shape.List(page.Items, briefOf), shape.Value(page.NextCursor)},
			Summary: fmt.Sprintf("%d tasks.", len(page.Items)),
		}, err
	})
}

type one struct {
	TaskID tool.ID `json:"task_id"`
}

type whole struct {
	full
	Events []event `json:"events" jsonschema:"what happened, the first 100"`
}

type event struct {
	Type    string              `json:"type"`
	From    lifecycle.TaskState `json:"from,omitempty"`
	To      lifecycle.TaskState `json:"to,omitempty"`
	ActorID string              `json:"actor_id,omitempty"`
	At      time.Time           `json:"at"`
	Others  remark              `json:"written_by_others,omitzero"`
}

type remark struct {
	Comment tool.Text `json:"comment,omitempty"`
}

func get() tool.Tool {
	return tool.New(tool.About{
		Name: "task_get", Title: "Read a task", Scopes: reads, Reads: true,
		Description: "A task with its events and comments, and what you may do with it now.",
	}, func(ctx context.Context, c *tool.Call, in one) (answer tool.Answer[whole], err error) {
		t, err := tool.Get[shape.Task](ctx, c, taskPath(in.TaskID, ""), nil)
		if err != nil {
			return answer, err
		}

		events, err := tool.Get[shape.Page[shape.History]](
			ctx, c, taskPath(in.TaskID, "/events"), url.Values{"limit": {"100"}},
		)
		if err != nil {
			return answer, err
		}

		return tool.Answer[whole]{Summary: fmt.Sprintf("Task %s is %s.", t.ID, t.Status), Value: whole{
			full: fullOf(t), Events: shape.List(events.Items, func(e shape.History) event {
				return event{
					Type: e.Type, From: lifecycle.TaskState(e.From), To: lifecycle.TaskState(e.To), At: e.CreatedAt,
					ActorID: shape.Value(e.ActorID), Others: remark{tool.Text(e.Comment)},
				}
			}),
		}}, nil
	})
}

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

func claim() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_claim", Title: "Take a task", Scopes: changes, Repeatable: true,
		Description: "Takes a task that is ready: then it is yours and IN_PROGRESS. Of many who try, one gets it.",
	}, func(ctx context.Context, c *tool.Call, in claiming) (tool.Answer[changed], error) {
		return changedTo(tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/claim"), comment(in.Comment), in.Key))
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
