package tasks

import (
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/tasks"
)

// longestWait is the maximum of wait_seconds.
const longestWait = 50 * time.Second

type claimNextInput struct {
	server.Keyed
	Body struct {
		CommentBody
		WorkspaceID  string   `json:"workspace_id,omitempty" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2" doc:"Only tasks of this workspace; omitted: of all workspaces that you are a member of"`
		Labels       []string `json:"labels,omitempty" maxItems:"20" minLength:"1" maxLength:"50" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"docs\"]" doc:"Only a task with all of these labels"`
		Priority     string   `json:"priority,omitempty" enum:"low,normal,high,critical" example:"normal" doc:"Only a task of this priority or higher"`
		WaitSeconds  int      `json:"wait_seconds,omitempty" minimum:"0" maximum:"50" default:"0" example:"50" doc:"How long to wait while no task is ready"`
		LeaseSeconds int64    `json:"lease_seconds,omitempty" minimum:"60" maximum:"86400" example:"300" doc:"Length of the lease: without a heartbeat for this long the task becomes STUCK; omitted: no lease"`
	} `nameHint:"NextTaskRequest"`
}

// registerNext adds the operation that claims the next task.
func (h *handlers) registerNext(tasks server.Group) {
	server.Register(tasks, server.Operation{
		Id: "claim-next-task", Route: "POST /v1/tasks/claim", Subject: "workspace", Waits: longestWait,
		Summary: "Claim the best ready task, waiting for one if there is none",
		Description: "Claims the most urgent task, then the oldest, for exactly one caller. With `wait_seconds` the response comes as soon as a task " +
			"becomes ready: the caller that has waited longest gets it. `task` is null when none became ready in time: repeat the request. " +
			"Repeating an `Idempotency-Key` returns the same task; a response without a task is not stored. A task claimed for a caller that disconnects " +
			"is released, unless the request has a key.",
		Faults: []fault.Code{
			fault.WorkspaceNotFound, fault.CommentRequired, fault.QuotaExceeded, fault.TemporalUnavailable,
		},
	}, h.claimNext)
}

func (h *handlers) claimNext(ctx context.Context, in *claimNextInput) (none shape.NextTask, err error) {
	want := tasks.Next{
		Labels: in.Body.Labels, Priority: in.Body.Priority, Comment: in.Body.Comment,
		LeaseSeconds: in.Body.LeaseSeconds, Wait: time.Duration(in.Body.WaitSeconds) * time.Second,
	}
	if want.WorkspaceID, err = server.OptionalID(in.Body.WorkspaceID, "workspace_id"); err != nil {
		return none, err
	}

	user := server.Caller(ctx)
	found, err := h.tasks.ClaimNext(ctx, user, want, in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.Body.WorkspaceID, explained(err))
	}
	if found == nil {
		return none, nil
	}

	h.auditGuest(ctx, found.WorkspaceID)
	body := taskFor(user)(*found)
	return shape.NextTask{Task: &body}, nil
}
