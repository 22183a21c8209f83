package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

type graph struct {
	WorkspaceID tool.ID   `json:"workspace_id"`
	Tasks       []planned `json:"tasks" jsonschema:"1 to 500; all are created, or none"`
	Key         tool.Key  `json:"idempotency_key,omitempty"`
}

type planned struct {
	Ref         string     `json:"ref,omitempty" jsonschema:"its name in blocked_by of others here"`
	Title       string     `json:"title" jsonschema:"1 to 200 characters"`
	Description string     `json:"description,omitempty"`
	Visibility  visibility `json:"visibility,omitempty"`
	Priority    priority   `json:"priority,omitempty"`
	Labels      []string   `json:"labels,omitempty"`
	AssigneeID  tool.ID    `json:"assignee_id,omitempty" jsonschema:"only they may start it"`
	BlockedBy   []string   `json:"blocked_by,omitempty" jsonschema:"refs or ids of tasks that must be DONE first"`
}

type made struct {
	Tasks []madeTask `json:"tasks" jsonschema:"in the order of the request"`
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
		Description: "Creates one task or a graph. Blockers never change later.",
	}, func(ctx context.Context, c *tool.Call, in graph) (answer tool.Answer[made], err error) {
		body := tool.Body{"workspace_id": in.WorkspaceID, "tasks": in.Tasks}
		batch, err := tool.Post[shape.TaskBatch](ctx, c, "/v1/tasks/batch", body, in.Key)
		return tool.Answer[made]{
			Value: made{shape.List(batch.Items, func(t shape.BatchTask) madeTask {
				return madeTask{t.Ref, tool.ID(t.ID), t.Status, t.Ready}
			})},
			Summary: fmt.Sprintf("Created %d tasks.", len(batch.Items)),
		}, err
	})
}

type claiming struct {
	TaskID       tool.ID      `json:"task_id,omitempty" jsonschema:"omitted: the best ready one: most urgent, then oldest"`
	WorkspaceID  tool.ID      `json:"workspace_id,omitempty" jsonschema:"without task_id: only here"`
	Labels       []string     `json:"labels,omitempty" jsonschema:"without task_id: only with all of these"`
	Priority     priority     `json:"priority,omitempty" jsonschema:"without task_id: this one or higher"`
	WaitSeconds  tool.Seconds `json:"wait_seconds,omitempty" jsonschema:"without task_id: wait while none is ready"`
	Comment      string       `json:"comment" jsonschema:"reason"`
	LeaseSeconds int64        `json:"lease_seconds,omitempty" jsonschema:"60 to 86400: yours only while heartbeats arrive"`
	Key          tool.Key     `json:"idempotency_key,omitempty"`
}

// body is the request's body. The API rejects fields that make no sense with a task id.
func (in claiming) body() tool.Body {
	return tool.Body{
		"comment": in.Comment, "lease_seconds": in.LeaseSeconds, "workspace_id": in.WorkspaceID, "labels": in.Labels,
		"priority": in.Priority, "wait_seconds": in.WaitSeconds,
	}
}

type taken struct {
	Task *mine `json:"task,omitempty"`
}

// mine is a task that the caller works on.
type mine struct {
	ID             tool.ID             `json:"id"`
	WorkspaceID    tool.ID             `json:"workspace_id"`
	Status         lifecycle.TaskState `json:"status"`
	Priority       priority            `json:"priority"`
	DeadlineAt     *time.Time          `json:"status_deadline_at,omitempty"`
	LeaseExpiresAt *time.Time          `json:"lease_expires_at,omitempty" jsonschema:"becomes STUCK then without a heartbeat"`
	FencingToken   int64               `json:"fencing_token,omitempty"`
	BlockedBy      []string            `json:"blocked_by,omitempty" jsonschema:"DONE; task_get gives their results"`
	ReviewRequired bool                `json:"review_required,omitempty" jsonschema:"submit first; DONE needs an approval"`
	Others         words               `json:"written_by_others"`
}

func takenOf(t shape.Task) tool.Answer[taken] {
	f := fullOf(t)
	return tool.Answer[taken]{Summary: fmt.Sprintf("Task %s is yours.", t.ID), Value: taken{&mine{
		ID: f.ID, WorkspaceID: f.WorkspaceID, Status: f.Status, Priority: f.Priority, DeadlineAt: f.DeadlineAt,
		LeaseExpiresAt: f.LeaseExpiresAt, FencingToken: f.FencingToken, BlockedBy: f.BlockedBy,
		ReviewRequired: f.ReviewRequired,
		Others:         f.Others,
	}}}
}

func claim() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_claim", Scopes: changes, Repeatable: true,
		Description: "Claims a ready task, or the next one: it becomes yours and IN_PROGRESS. Only one caller gets it. " +
			"No task in the result: none became ready in time.",
	}, func(ctx context.Context, c *tool.Call, in claiming) (answer tool.Answer[taken], err error) {
		if in.TaskID == "" {
			return claimNext(ctx, c, in)
		}

		t, err := tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/claim"), in.body(), in.Key)
		if err != nil {
			return answer, err
		}
		return takenOf(t), nil
	})

	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in claiming) any { return allowed(ctx, c, in.TaskID) })
}

// claimNext claims the next task.
func claimNext(ctx context.Context, c *tool.Call, in claiming) (answer tool.Answer[taken], err error) {
	next, err := tool.Post[shape.NextTask](ctx, c, "/v1/tasks/claim", in.body(), in.Key)
	switch {
	case err != nil:
		return answer, err
	case next.Task == nil:
		return tool.Answer[taken]{Summary: "No task became ready."}, nil
	default:
		return takenOf(*next.Task), nil
	}
}

type beat struct {
	TaskID       tool.ID `json:"task_id"`
	FencingToken int64   `json:"fencing_token,omitempty"`
}

type held struct {
	LeaseExpiresAt *time.Time          `json:"lease_expires_at,omitempty"`
	Status         lifecycle.TaskState `json:"status"`
}

func heartbeat() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_heartbeat", Scopes: changes, Repeatable: true,
		Description: "Renews the lease of a task that you claimed with lease_seconds. LEASE_LOST: it is no longer yours, stop. NO_LEASE: it needs no heartbeats.",
	}, func(ctx context.Context, c *tool.Call, in beat) (answer tool.Answer[held], err error) {
		body := tool.Body{"fencing_token": in.FencingToken}
		t, err := tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/heartbeat"), body, "")
		return tool.Answer[held]{Value: held{t.LeaseExpiresAt, t.Status}, Summary: "The task is still yours."}, err
	})
	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in beat) any { return allowed(ctx, c, in.TaskID) })
}

type action string

var _ = tool.Enum[action]("status", "escalate", "takeover", "submit", "approve", "reject", "edit", "comment")

type change struct {
	TaskID       tool.ID             `json:"task_id"`
	Action       action              `json:"action" jsonschema:"escalate: block someone else's task; takeover: take a STUCK one; edit: a task that you created"`
	To           lifecycle.TaskState `json:"to,omitempty" jsonschema:"for status; NEW releases it"`
	Comment      string              `json:"comment,omitempty" jsonschema:"reason; required except for edit"`
	Result       tool.JSON           `json:"result,omitempty" jsonschema:"for submit: any JSON, at most 64 KiB"`
	Submission   int64               `json:"submission,omitempty" jsonschema:"for approve and reject: the one that you reviewed"`
	Title        string              `json:"title,omitempty"`
	Description  *string             `json:"description,omitempty" jsonschema:"empty: removes it"`
	Priority     priority            `json:"priority,omitempty"`
	Labels       *[]string           `json:"labels,omitempty" jsonschema:"replaces all labels"`
	FencingToken int64               `json:"fencing_token,omitempty" jsonschema:"of your claim: refused once the claim has ended"`
	LeaseSeconds int64               `json:"lease_seconds,omitempty" jsonschema:"for takeover"`
	Key          tool.Key            `json:"idempotency_key,omitempty"`
}

func update() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_update", Scopes: changes, Destroys: true, Repeatable: true,
		Description: "Finishes a task (submit your result, then status, to DONE), changes its status, escalates, takes over, reviews, edits, comments.",
	}, perform)
	return tool.Instead(t, func(ctx context.Context, c *tool.Call, in change) any { return allowed(ctx, c, in.TaskID) })
}

func perform(ctx context.Context, c *tool.Call, in change) (answer tool.Answer[changed], err error) {
	body := tool.Body{
		"comment": in.Comment, "to": in.To, "fencing_token": in.FencingToken, "lease_seconds": in.LeaseSeconds,
		"result": json.RawMessage(in.Result), "submission": in.Submission, "title": in.Title, "description": in.Description,
		"priority": in.Priority, "labels": in.Labels,
	}

	switch in.Action {
	case "edit":
		return changedTo(tool.Send[shape.Task](ctx, c, http.MethodPatch, taskPath(in.TaskID, ""), body, in.Key))
	case "comment": // which changes nothing else
		comment := tool.Body{"comment": in.Comment}
		if _, err := tool.Post[shape.History](ctx, c, taskPath(in.TaskID, "/comments"), comment, in.Key); err != nil {
			return answer, err
		}
		if !c.Grants(account.ScopeRead) {
			return tool.Answer[changed]{Summary: "Added the comment to the task's events."}, nil
		}
		return changedTo(tool.Get[shape.Task](ctx, c, taskPath(in.TaskID, ""), nil))
	default:
		return changedTo(tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/"+string(in.Action)), body, in.Key))
	}
}

// changed is a task after a change: the fields that may differ.
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
	Submission      int64                  `json:"submission,omitempty"`
	Approved        bool                   `json:"approved,omitempty"`
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
		Submission: shape.Value(t.Submission), Approved: t.Approved,
		AllowedActions: t.AllowedActions, AllowedStatuses: t.AllowedStatuses,
	}}}, nil
}
