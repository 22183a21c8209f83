package tasks

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

const workspacesCursor = "workspaces"

// workspaceFor shows workspaces to a user.
func workspaceFor(user account.User) func(task.Workspace) shape.Workspace {
	return func(w task.Workspace) shape.Workspace {
		return shape.Workspace{
			ID: shape.ID(w.ID), Name: w.Name, OwnerID: shape.ID(w.OwnerID), StatusDeadlines: w.StatusDeadlines,
			StuckReleaseAfter: w.StuckReleaseAfter, NewDeadlineWaitsForBlockers: w.NewDeadlineWaitsForBlockers,
			ReviewRequired: w.ReviewRequired,
			MayChange:      tasks.MayChange(user, w), CreatedAt: w.CreatedAt.UTC(), UpdatedAt: w.UpdatedAt.UTC(),
		}
	}
}

// WorkspaceSettings are a workspace's settings besides its name.
type WorkspaceSettings struct {
	StatusDeadlines             *statusDeadlines `json:"status_deadlines,omitempty" doc:"Omitted deadlines stay unchanged"`
	StuckReleaseAfter           *float64         `json:"stuck_release_after,omitempty" minimum:"0" maximum:"5256000" example:"0" doc:"Minutes after which a STUCK task returns to NEW; 0: never"`
	NewDeadlineWaitsForBlockers *bool            `json:"new_deadline_waits_for_blockers,omitempty" doc:"Start the deadline of a NEW task only when its last blocker is DONE"`
	ReviewRequired              *bool            `json:"review_required,omitempty" doc:"Allow DONE only after someone else has approved the task's latest submission"`
}

// statusDeadlines are the minutes that a task may stay in a status. Fractions are allowed.
type statusDeadlines struct {
	New        *float64 `json:"NEW,omitempty" minimum:"0" maximum:"5256000" example:"120" doc:"0: no limit; otherwise at least one second; here and below"`
	InProgress *float64 `json:"IN_PROGRESS,omitempty" minimum:"0" maximum:"5256000" example:"1440"`
	Blocked    *float64 `json:"BLOCKED,omitempty" minimum:"0" maximum:"5256000" example:"2880"`
}

func (s WorkspaceSettings) change(name *string) tasks.WorkspaceChange {
	change := tasks.WorkspaceChange{
		Name: name, StuckReleaseAfter: s.StuckReleaseAfter, NewDeadlineWaitsForBlockers: s.NewDeadlineWaitsForBlockers,
		StatusDeadlines: map[lifecycle.TaskState]float64{}, ReviewRequired: s.ReviewRequired,
	}

	if s.StatusDeadlines == nil {
		return change
	}

	for status, minutes := range map[lifecycle.TaskState]*float64{
		lifecycle.TaskNew: s.StatusDeadlines.New, lifecycle.TaskInProgress: s.StatusDeadlines.InProgress,
		lifecycle.TaskBlocked: s.StatusDeadlines.Blocked,
	} {
		if minutes != nil {
			change.StatusDeadlines[status] = *minutes
		}
	}

	return change
}

type createWorkspaceInput struct {
	server.Keyed
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Release 1.4"`
		WorkspaceSettings
	} `nameHint:"WorkspaceRequest"`
}

type changeWorkspaceInput struct {
	server.Keyed
	ID   string `path:"id" example:"2" doc:"Workspace ID"`
	Body struct {
		Name *string `json:"name,omitempty" minLength:"1" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Release 1.4"`
		WorkspaceSettings
	} `nameHint:"WorkspaceChange"`
}

type workspaceInput struct {
	ID string `path:"id" example:"2" doc:"Workspace ID"`
}

// registerWorkspaces adds the operations on workspaces.
func (h *handlers) registerWorkspaces() {
	workspaces := server.Group{
		Server: h.Server, Tag: "Workspaces", Access: server.ForUsers, Scope: lifecycle.TaskScope, Subject: "workspace",
	}

	server.Register(workspaces, server.Operation{
		Id: "create-workspace", Route: "POST /v1/workspaces", Status: http.StatusCreated,
		Summary:     "Create a workspace with you as its first member",
		Description: "Default deadlines: two hours in NEW, one day in IN_PROGRESS and two days in BLOCKED.",
		Faults:      []fault.Code{fault.QuotaExceeded},
	}, h.createWorkspace)

	server.Register(workspaces, server.Operation{
		Id: "list-workspaces", Route: "GET /v1/workspaces", Scope: account.ScopeRead,
		Summary:     "List workspaces, oldest first",
		Description: "Those that you are a member of; for administrators, all.",
	}, h.listWorkspaces)

	server.Register(workspaces, server.Operation{
		Id: "get-workspace", Route: "GET /v1/workspaces/{id}", Scope: account.ScopeRead,
		Summary: "Get a workspace", Faults: []fault.Code{fault.WorkspaceNotFound},
	}, h.getWorkspace)

	server.Register(workspaces, server.Operation{
		Id: "change-workspace", Route: "PATCH /v1/workspaces/{id}",
		Summary:     "Change a workspace's name and deadlines",
		Description: "For the workspace's owner and administrators. Omitted fields stay unchanged. Running deadlines stay too: a change applies from a task's next transition.",
		Faults:      []fault.Code{fault.WorkspaceNotFound, fault.InsufficientAccess},
	}, h.changeWorkspace)

	h.registerMembers(workspaces)
}

func (h *handlers) createWorkspace(ctx context.Context, in *createWorkspaceInput) (shape.Workspace, error) {
	w, err := h.tasks.CreateWorkspace(ctx, server.Caller(ctx), in.Body.change(&in.Body.Name), in.Key)
	return server.Shown(w, err, workspaceFor(server.Caller(ctx)))
}

func (h *handlers) listWorkspaces(ctx context.Context, in *server.Paging) (shape.Page[shape.Workspace], error) {
	return server.ListOf(*in, workspacesCursor, func(after int64, limit int) ([]task.Workspace, error) {
		return h.tasks.Workspaces(ctx, server.Caller(ctx), after, limit)
	}, func(w task.Workspace) int64 { return w.ID }, workspaceFor(server.Caller(ctx)))
}

func (h *handlers) getWorkspace(ctx context.Context, in *workspaceInput) (shape.Workspace, error) {
	w, err := h.tasks.Workspace(ctx, server.Caller(ctx), server.PathID(in.ID))
	return server.Shown(w, h.Refusal(ctx, in.ID, err), workspaceFor(server.Caller(ctx)))
}

func (h *handlers) changeWorkspace(ctx context.Context, in *changeWorkspaceInput) (none shape.Workspace, err error) {
	settings := in.Body.WorkspaceSettings
	if in.Body.Name == nil && settings == (WorkspaceSettings{}) {
		return none, fault.Invalid("body", "give at least one field to change")
	}

	id := server.PathID(in.ID)
	w, err := h.tasks.ChangeWorkspace(ctx, server.Caller(ctx), id, settings.change(in.Body.Name), in.Key)
	if err != nil {
		return none, h.Refusal(ctx, in.ID, err)
	}

	h.auditChange(ctx, w)
	return workspaceFor(server.Caller(ctx))(w), nil
}

// auditChange audits an administrator's change to another user's workspace.
func (h *handlers) auditChange(ctx context.Context, w task.Workspace) {
	if user := server.Caller(ctx); user.IsAdmin() && w.OwnerID != user.ID {
		h.Done(ctx, shape.ID(w.ID))
	}
}

// auditGuest audits an administrator's action in a workspace of which they are not a member.
func (h *handlers) auditGuest(ctx context.Context, workspaceID int64) {
	user := server.Caller(ctx)
	if !user.IsAdmin() {
		return
	}
	if member, err := h.Store.Tasks.IsMember(ctx, workspaceID, user.ID); err != nil || !member { // when in doubt, audit
		h.Done(ctx, shape.ID(workspaceID))
	}
}
