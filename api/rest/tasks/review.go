package tasks

import (
	"context"
	"encoding/json"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

const submissionsCursor = "submissions"

type submitTaskInput struct {
	server.Keyed
	ID   string `path:"id" example:"12" doc:"Task ID"`
	Body struct {
		ActionBody
		Result json.RawMessage `json:"result" example:"{\"pull_request\":42}" doc:"Any JSON, at most 64 KiB"`
	} `nameHint:"TaskSubmissionRequest"`
}

type reviewTaskInput struct {
	server.Keyed
	ID   string `path:"id" example:"12" doc:"Task ID"`
	Body struct {
		ActionBody
		Submission int64 `json:"submission" minimum:"1" example:"5" doc:"Number of the submission that you reviewed: the task's submission"`
	} `nameHint:"TaskReviewRequest"`
}

type editTaskInput struct {
	server.Keyed
	ID   string `path:"id" example:"12" doc:"Task ID"`
	Body struct {
		ClaimName
		Title       *string   `json:"title,omitempty" minLength:"1" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Write the release notes"`
		Description *string   `json:"description,omitempty" maxLength:"20000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"What has changed since 1.3"`
		Priority    *string   `json:"priority,omitempty" enum:"low,normal,high,critical"`
		Labels      *[]string `json:"labels,omitempty" maxItems:"20" minLength:"1" maxLength:"50" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"docs\"]" doc:"Replaces all labels"`
		Comment     string    `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"It is urgent now" doc:"Reason; optional"`
	} `nameHint:"TaskEdit"`
}

// registerReview adds the operations that do not change a task's status.
func (h *handlers) registerReview(tasks server.Group) {
	server.Register(tasks, server.Operation{
		Id: "submit-task", Route: "POST /v1/tasks/{id}/submit", Body: server.TextBody,
		Summary: "Submit a result",
		Description: "The status stays. If the workspace requires a review, someone else must approve the task's latest submission before it can be DONE. " +
			"Ends an earlier approval.",
		Faults: actionFaults,
	}, h.submitTask)

	server.Register(tasks, server.Operation{
		Id: "list-task-submissions", Route: "GET /v1/tasks/{id}/submissions", Scope: account.ScopeRead,
		Summary:     "List submitted results, newest first",
		Description: "Keeps the 20 newest, including those of earlier assignees.",
		Faults:      []fault.Code{fault.TaskNotFound},
	}, h.listSubmissions)

	server.Register(tasks, server.Operation{
		Id: "approve-task", Route: "POST /v1/tasks/{id}/approve",
		Summary: "Approve a submission of a task that someone else is working on",
		Description: "The status stays. The approval lasts until the next submission, a rejection or a change of assignee. " +
			"Only the task's current submission is accepted.",
		Faults: append([]fault.Code{fault.SubmissionNotCurrent}, actionFaults...),
	}, h.review(lifecycle.TaskActionApprove))

	server.Register(tasks, server.Operation{
		Id: "reject-task", Route: "POST /v1/tasks/{id}/reject",
		Summary:     "Reject a submission of a task that someone else is working on",
		Description: "The status stays. Ends any approval. Only the task's current submission is accepted.",
		Faults:      append([]fault.Code{fault.SubmissionNotCurrent}, actionFaults...),
	}, h.review(lifecycle.TaskActionReject))

	server.Register(tasks, server.Operation{
		Id: "edit-task", Route: "PATCH /v1/tasks/{id}", Body: server.TextBody,
		Summary: "Change the title, description, priority or labels of a task that you created",
		Description: "Omitted fields stay unchanged. The event names the changed fields; without a change there is no event. " +
			"If two concurrent edits change the same field, the later one wins. Blockers never change.",
		Faults: []fault.Code{fault.TaskNotFound, fault.LeaseLost, fault.InvalidTransition, fault.InsufficientAccess},
	}, h.editTask)
}

func (h *handlers) submitTask(ctx context.Context, in *submitTaskInput) (shape.Task, error) {
	return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
		return h.tasks.Submit(ctx, user, id, in.Body.Result, in.Body.said(in.Key))
	})
}

// review returns the handler of approve and reject.
func (h *handlers) review(action lifecycle.TaskAction) func(context.Context, *reviewTaskInput) (shape.Task, error) {
	return func(ctx context.Context, in *reviewTaskInput) (shape.Task, error) {
		return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
			return h.tasks.Review(ctx, user, id, action, in.Body.Submission, in.Body.said(in.Key))
		})
	}
}

func (h *handlers) editTask(ctx context.Context, in *editTaskInput) (shape.Task, error) {
	said := tasks.Said{Comment: in.Body.Comment, FencingToken: in.Body.FencingToken, Key: in.Key}
	return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
		return h.tasks.Edit(ctx, user, id, in.edit(), said)
	})
}

func (b ActionBody) said(key string) tasks.Said {
	return tasks.Said{Comment: b.Comment, FencingToken: b.FencingToken, Key: key}
}

func (in *editTaskInput) edit() task.Edit {
	return task.Edit{
		Title: in.Body.Title, Description: in.Body.Description, Priority: in.Body.Priority, Labels: in.Body.Labels,
	}
}

// changed performs an operation on a task and shows the task.
func (h *handlers) changed(
	ctx context.Context, id string, do func(user account.User, id int64) (task.Task, error),
) (shape.Task, error) {
	task, err := byRight(ctx, h, id, do)
	return server.Shown(task, explained(err), taskFor(server.Caller(ctx)))
}

func (h *handlers) listSubmissions(ctx context.Context, in *taskPagesInput) (shape.Page[shape.Submission], error) {
	return server.ListOf(in.Paging, submissionsCursor, func(before int64, limit int) ([]task.Submission, error) {
		found, err := h.tasks.Submissions(ctx, server.Caller(ctx), server.PathID(in.ID), before, limit)
		return found, h.Refusal(ctx, in.ID, err)
	}, func(s task.Submission) int64 { return s.Seq }, submissionFrom)
}

func submissionFrom(s task.Submission) shape.Submission {
	return shape.Submission{
		Seq: s.Seq, AuthorID: shape.ID(s.AuthorID), Result: s.Result, Comment: s.Comment, CreatedAt: s.CreatedAt.UTC(),
	}
}
