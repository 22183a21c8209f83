package tasks

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
)

type wanted struct {
	WorkspaceID tool.ID             `json:"workspace_id,omitempty"`
	Status      lifecycle.TaskState `json:"status,omitempty"`
	Assignee    string              `json:"assignee,omitempty" jsonschema:"a user's id, or me"`
	Ready       bool                `json:"ready,omitempty" jsonschema:"only those claimable now"`
	Limit       tool.Limit          `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor      string              `json:"cursor,omitempty"`
}

type found struct {
	Tasks      []brief `json:"tasks"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

func find() tool.Tool {
	return tool.New(tool.About{
		Name: "tasks_find", Scopes: reads, Reads: true,
		Description: "Lists tasks visible to you, newest first.",
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
	Cursor string  `json:"events_cursor,omitempty" jsonschema:"of the last result: earlier events"`
}

type whole struct {
	full
	Submitted *submission `json:"submitted,omitempty" jsonschema:"the latest result, if any"`
	Events    []event     `json:"events" jsonschema:"newest first"`
	Cursor    string      `json:"events_cursor,omitempty" jsonschema:"there are earlier events"`
}

type submission struct {
	Submission int64     `json:"submission"`
	AuthorID   tool.ID   `json:"author_id"`
	At         time.Time `json:"at"`
	Others     work      `json:"written_by_others"`
}

// work is a submitted result, as its author describes it.
type work struct {
	Result  tool.JSON `json:"result"`
	Comment tool.Text `json:"comment,omitempty"`
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
		Name: "task_get", Scopes: reads, Reads: true,
		Description: "Returns a task with its result, events and comments, and what you may do with it now.",
	}, func(ctx context.Context, c *tool.Call, in one) (answer tool.Answer[whole], err error) {
		t, err := tool.Get[shape.Task](ctx, c, taskPath(in.TaskID, ""), nil)
		if err != nil {
			return answer, err
		}

		earlier := tool.Query{"order": "newest", "cursor": in.Cursor}.Page(50)
		events, err := tool.Get[shape.Page[shape.History]](ctx, c, taskPath(in.TaskID, "/events"), earlier)
		if err != nil {
			return answer, err
		}

		newest := url.Values{"limit": {"1"}}
		submissions, err := tool.Get[shape.Page[shape.Submission]](ctx, c, taskPath(in.TaskID, "/submissions"), newest)
		if err != nil {
			return answer, err
		}
		var submitted *submission
		for _, last := range submissions.Items {
			submitted = &submission{
				last.Seq, tool.ID(last.AuthorID), last.CreatedAt, work{tool.JSON(last.Result), tool.Text(last.Comment)},
			}
		}

		return tool.Answer[whole]{Summary: fmt.Sprintf("Task %s is %s.", t.ID, t.Status), Value: whole{
			full: fullOf(t), Submitted: submitted, Cursor: shape.Value(events.NextCursor), Events: shape.List(events.Items, func(e shape.History) event {
				return event{
					Type: e.Type, From: lifecycle.TaskState(e.From), To: lifecycle.TaskState(e.To), At: e.CreatedAt,
					ActorID: shape.Value(e.ActorID), Others: remark{tool.Text(e.Comment)},
				}
			}),
		}}, nil
	})
}
