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
	TaskID       tool.ID      `json:"task_id,omitempty" jsonschema:"without it the best one that is ready: the most urgent, then the oldest"`
	WorkspaceID  tool.ID      `json:"workspace_id,omitempty" jsonschema:"without task_id: only here"`
	Labels       []string     `json:"labels,omitempty" jsonschema:"without task_id: only with all of these"`
	Priority     priority     `json:"priority,omitempty" jsonschema:"without task_id: this one or higher"`
	WaitSeconds  tool.Seconds `json:"wait_seconds,omitempty" jsonschema:"without task_id: wait while none is ready"`
	Comment      string       `json:"comment" jsonschema:"why you take it"`
	LeaseSeconds int64        `json:"lease_seconds,omitempty" jsonschema:"60 to 86400: then it is yours only as long as heartbeats come"`
	Key          tool.Key     `json:"idempotency_key,omitempty"`
}

// body is that of the request. What is of no use with a task's id the API refuses.
func (in claiming) body() tool.Body {
	return tool.Body{
		"comment": in.Comment, "lease_seconds": in.LeaseSeconds, "workspace_id": in.WorkspaceID, "labels": in.Labels,
		"priority": in.Priority, "wait_seconds": in.WaitSeconds,
	}
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
		Description: "Takes a task that is ready, or the next one: then it is yours and IN_PROGRESS. Of many who try, one gets it. " +
			"No task in the answer: none became ready in time.",
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

// claimNext takes whatever task is next.
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
		Description: "Renews the lease of a task that you claimed with lease_seconds. LEASE_LOST: it is not yours any more, stop.",
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
	Action       action              `json:"action" jsonschema:"escalate: block somebody else's task; takeover: take a STUCK one; edit: a task that you made"`
	To           lifecycle.TaskState `json:"to,omitempty" jsonschema:"for status; NEW gives it back"`
	Comment      string              `json:"comment,omitempty" jsonschema:"why; only edit needs none"`
	Result       tool.JSON           `json:"result,omitempty" jsonschema:"for submit: any JSON, 64 KiB at most"`
	Submission   int64               `json:"submission,omitempty" jsonschema:"for approve and reject: the one that you have seen"`
	Title        string              `json:"title,omitempty"`
	Description  string              `json:"description,omitempty"`
	Priority     priority            `json:"priority,omitempty"`
	Labels       []string            `json:"labels,omitempty"`
	FencingToken int64               `json:"fencing_token,omitempty" jsonschema:"of your claim: refused once that has ended"`
	LeaseSeconds int64               `json:"lease_seconds,omitempty" jsonschema:"for takeover"`
	Key          tool.Key            `json:"idempotency_key,omitempty"`
}

func update() tool.Tool {
	t := tool.New(tool.About{
		Name: "task_update", Scopes: changes, Destroys: true, Repeatable: true,
		Description: "Finish a task (submit your result, then status, to DONE), give it another status, escalate, take over, review, edit, comment.",
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
	case "comment":
		return say(ctx, c, in)
	default:
		return changedTo(tool.Post[shape.Task](ctx, c, taskPath(in.TaskID, "/"+string(in.Action)), body, in.Key))
	}
}

// say comments on a task, which changes nothing else of it.
func say(ctx context.Context, c *tool.Call, in change) (answer tool.Answer[changed], err error) {
	body := tool.Body{"comment": in.Comment}
	if _, err := tool.Post[shape.History](ctx, c, taskPath(in.TaskID, "/comments"), body, in.Key); err != nil {
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
