// Package tasks has the tools for tasks.
package tasks

import (
	"context"
	"net/url"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// Part returns the tools for tasks.
func Part() tool.Part {
	return tool.Part{
		Workload: lifecycle.WorkloadTask, Options: options, Status: tool.NewStatus("tasks", standing),
		Tools: []tool.Tool{find(), get(), create(), claim(), heartbeat(), update()},
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

// words are a task's texts by people.
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

// full is a task with the caller's current options.
type full struct {
	brief
	CreatorID       tool.ID                `json:"creator_id"`
	Visibility      visibility             `json:"visibility"`
	LeaseExpiresAt  *time.Time             `json:"lease_expires_at,omitempty" jsonschema:"becomes STUCK then without a heartbeat"`
	FencingToken    int64                  `json:"fencing_token,omitempty" jsonschema:"of your claim"`
	Submission      int64                  `json:"submission,omitempty" jsonschema:"the assignee's latest"`
	Approved        bool                   `json:"approved,omitempty" jsonschema:"that submission is approved"`
	ReviewRequired  bool                   `json:"review_required,omitempty" jsonschema:"DONE needs an approval"`
	OpenBlockers    []string               `json:"open_blockers,omitempty" jsonschema:"not DONE yet"`
	AllowedActions  []lifecycle.TaskAction `json:"allowed_actions"`
	AllowedStatuses []lifecycle.TaskState  `json:"allowed_statuses" jsonschema:"that the action status may set"`
	UpdatedAt       time.Time              `json:"updated_at"`
}

func fullOf(t shape.Task) full {
	f := full{
		brief: briefOf(t), CreatorID: tool.ID(t.CreatorID), Visibility: visibility(t.Visibility),
		AllowedActions: t.AllowedActions, AllowedStatuses: t.AllowedStatuses, UpdatedAt: t.UpdatedAt,
		LeaseExpiresAt: t.LeaseExpiresAt, FencingToken: shape.Value(t.FencingToken),
		Submission: shape.Value(t.Submission), Approved: t.Approved, ReviewRequired: t.ReviewRequired,
	}

	f.Others.Description = tool.Text(t.Description)
	for _, blocker := range t.Blockers {
		if blocker.Status != lifecycle.TaskDone {
			f.OpenBlockers = append(f.OpenBlockers, blocker.ID)
		}
	}
	return f
}

// taskPath is the path of a task, or of one of its subresources.
func taskPath(id tool.ID, of string) string { return "/v1/tasks/" + url.PathEscape(string(id)) + of }

// stand is the tasks' part of the tool status.
type stand struct {
	Workspaces []place `json:"workspaces"`
	Assigned   []brief `json:"assigned" jsonschema:"yours, nearest deadline first"`
	Ready      []brief `json:"ready" jsonschema:"some claimable now"`
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

// options returns the possible actions on a task now.
func options(ctx context.Context, c *tool.Call, id string) ([]tool.Option, error) {
	all, err := tool.Get[shape.TaskOptions](ctx, c, "/v1/tasks/"+url.PathEscape(id)+"/actions", nil)
	return shape.List(all.Items, func(o shape.TaskOption) tool.Option {
		return tool.Option{
			Action: string(o.Action), To: string(o.To), Allowed: o.Allowed, Code: string(shape.Value(o.Code)), Reason: o.Reason,
			Details: o.Details,
		}
	}), err
}

// allowed returns the possible actions after one was refused, without reasons: those are in explain.
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
