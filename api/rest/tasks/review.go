package tasks

import (
	"context"
	"encoding/json"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

const submissionsCursor = "submissions"

type submitTaskInput struct {
	server.Keyed
	server.Tried
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		ActionBody
		Result json.RawMessage `json:"result" example:"{\"pull_request\":42}" doc:"Any JSON, 64 KiB at most"`
	} `nameHint:"TaskSubmissionRequest"`
}

type reviewTaskInput struct {
	server.Keyed
	server.Tried
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		ActionBody
		Submission int64 `json:"submission" minimum:"1" example:"5" doc:"The number of the submission that you have seen: the task's submission"`
	} `nameHint:"TaskReviewRequest"`
}

type editTaskInput struct {
	server.Keyed
	server.Tried
	ID   string `path:"id" example:"12" doc:"The id of a task"`
	Body struct {
		ClaimName
		Title       *string   `json:"title,omitempty" minLength:"5" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Write the release notes"`
		Description *string   `json:"description,omitempty" maxLength:"20000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"What has changed since 1.3"`
		Priority    *string   `json:"priority,omitempty" enum:"low,normal,high,critical"`
		Labels      *[]string `json:"labels,omitempty" maxItems:"20" minLength:"1" maxLength:"50" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"docs\"]" doc:"All labels that it has then"`
		Comment     string    `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"It is urgent now" doc:"Why; it may be left out"`
	} `nameHint:"TaskEdit"`
}

// registerReview adds the operations that leave a task's status as it is.
func (h *handlers) registerReview(tasks server.Group) {
	server.RegisterTried(tasks, server.Operation{
		Id: "submit-task", Route: "POST /v1/tasks/{id}/submit", Body: server.TextBody,
		Summary: "Submit the result of your work",
		Description: "The status stays. Where the workspace asks for a review, somebody else must approve the task's newest submission before it can be DONE. " +
			"An earlier approval ends.",
		Faults: actionFaults,
	}, h.submitTask, h.trySubmit)

	server.Register(tasks, server.Operation{
		Id: "list-task-submissions", Route: "GET /v1/tasks/{id}/submissions", Scope: account.ScopeRead,
		Summary:     "List the results that were submitted, the newest first",
		Description: "The 20 newest are kept, also those of earlier assignees.",
		Faults:      []fault.Code{fault.TaskNotFound},
	}, h.listSubmissions)

	server.RegisterTried(tasks, server.Operation{
		Id: "approve-task", Route: "POST /v1/tasks/{id}/approve",
		Summary: "Approve the submission of a task that somebody else works on",
		Description: "The status stays. The approval lasts until the next submission, a rejection, or until the task gets another assignee or none. " +
			"A submission that is not the task's current one is refused.",
		Faults: append([]fault.Code{fault.SubmissionNotCurrent}, actionFaults...),
	}, h.review(lifecycle.TaskActionApprove), h.tryReview(lifecycle.TaskActionApprove))

	server.RegisterTried(tasks, server.Operation{
		Id: "reject-task", Route: "POST /v1/tasks/{id}/reject",
		Summary:     "Reject the submission of a task that somebody else works on",
		Description: "The status stays, and an approval ends. A submission that is not the task's current one is refused.",
		Faults:      append([]fault.Code{fault.SubmissionNotCurrent}, actionFaults...),
	}, h.review(lifecycle.TaskActionReject), h.tryReview(lifecycle.TaskActionReject))

	server.RegisterTried(tasks, server.Operation{
		Id: "edit-task", Route: "PATCH /v1/tasks/{id}", Body: server.TextBody,
		Summary: "Change title, description, priority or labels of a task that you have created",
		Description: "What is left out stays. The event names the fields that changed; without one there is no event. " +
			"Of two edits at once, the later one decides about the fields that both change. What the task waits for never changes.",
		Faults: []fault.Code{fault.TaskNotFound, fault.LeaseLost, fault.InvalidTransition, fault.InsufficientAccess},
	}, h.editTask, h.tryEdit)
}

func (h *handlers) submitTask(ctx context.Context, in *submitTaskInput) (shape.Task, error) {
	return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
		return h.tasks.Submit(ctx, user, id, in.Body.Result, in.Body.said(in.Key))
	})
}

// review makes the handler of approve and reject.
func (h *handlers) review(action lifecycle.TaskAction) func(context.Context, *reviewTaskInput) (shape.Task, error) {
	return func(ctx context.Context, in *reviewTaskInput) (shape.Task, error) {
		return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
			return h.tasks.Review(ctx, user, id, action, in.Body.Submission, in.Body.said(in.Key))
		})
	}
}

func (h *handlers) editTask(ctx context.Context, in *editTaskInput) (shape.Task, error) {
	said := service.TaskSaid{Comment: in.Body.Comment, FencingToken: in.Body.FencingToken, Key: in.Key}
	return h.changed(ctx, in.ID, func(user account.User, id int64) (task.Task, error) {
		return h.tasks.Edit(ctx, user, id, in.edit(), said)
	})
}

func (b ActionBody) said(key string) service.TaskSaid {
	return service.TaskSaid{Comment: b.Comment, FencingToken: b.FencingToken, Key: key}
}

func (in *editTaskInput) edit() task.Edit {
	return task.Edit{
		Title: in.Body.Title, Description: in.Body.Description, Priority: in.Body.Priority, Labels: in.Body.Labels,
	}
}

// changed does something to a task and shows it.
func (h *handlers) changed(
	ctx context.Context, id string, do func(user account.User, id int64) (task.Task, error),
) (shape.Task, error) {
	task, err := byRight(ctx, h, id, do)
	return server.Shown(task, explained(err), taskFor(server.Caller(ctx)))
}

func (h *handlers) listSubmissions(ctx context.Context, in *taskEventsInput) (shape.Page[shape.Submission], error) {
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
