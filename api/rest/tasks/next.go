package tasks

import (
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/service"
)

// longestWait is the highest wait_seconds.
const longestWait = 50 * time.Second

type claimNextInput struct {
	server.Keyed
	Body struct {
		CommentBody
		WorkspaceID  string   `json:"workspace_id,omitempty" pattern:"^[1-9][0-9]{0,18}$" patternDescription:"the id of a workspace" example:"2" doc:"Only of this workspace; without it of all that you are a member of"`
		Labels       []string `json:"labels,omitempty" maxItems:"20" minLength:"1" maxLength:"50" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"[\"docs\"]" doc:"Only a task that has all of them"`
		Priority     string   `json:"priority,omitempty" enum:"low,normal,high,critical" example:"normal" doc:"Only a task of this priority or a more urgent one"`
		WaitSeconds  int      `json:"wait_seconds,omitempty" minimum:"0" maximum:"50" default:"0" example:"50" doc:"How long to wait while no task is ready"`
		LeaseSeconds int64    `json:"lease_seconds,omitempty" minimum:"60" maximum:"86400" example:"300" doc:"For how long you may be silent: send heartbeats more often, or the task becomes STUCK; left out: for ever"`
	} `nameHint:"NextTaskRequest"`
}

// registerNext adds the operation that claims whatever task is next.
func (h *handlers) registerNext(tasks server.Group) {
	server.Register(tasks, server.Operation{
		Id: "claim-next-task", Route: "POST /v1/tasks/claim", Subject: "workspace", Waits: longestWait,
		Summary: "Take the best task that is ready, and wait for one while there is none",
		Description: "The most urgent task, and of these the oldest, for exactly one of all who ask. With `wait_seconds` the answer comes as soon as a task " +
			"becomes ready: of those who wait for such a task, the first one gets it. `task` is null when none became ready in time: ask again. " +
			"The same `Idempotency-Key` gives the same task again; an answer without a task is not kept. A task that was claimed for a caller who hangs up " +
			"is given back, unless there is a key.",
		Faults: []fault.Code{
			fault.WorkspaceNotFound, fault.CommentRequired, fault.QuotaExceeded, fault.TemporalUnavailable,
		},
	}, h.claimNext)
}

func (h *handlers) claimNext(ctx context.Context, in *claimNextInput) (none shape.NextTask, err error) {
	want := service.NextTask{
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
