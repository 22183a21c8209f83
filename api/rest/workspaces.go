package rest

import (
	"context"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

const (
	workspacesCursor = "workspaces"
	membersCursor    = "members"
)

func workspaceFrom(w store.Workspace) shape.Workspace {
	return shape.Workspace{
		ID: formatID(w.ID), Name: w.Name, OwnerID: formatID(w.OwnerID), StatusDeadlines: w.StatusDeadlines,
		StuckReleaseAfter: w.StuckReleaseAfter, NewDeadlineWaitsForBlockers: w.NewDeadlineWaitsForBlockers,
		CreatedAt: utc(w.CreatedAt), UpdatedAt: utc(w.UpdatedAt),
	}
}

func memberFrom(m store.Member) shape.Member {
	return shape.Member{UserID: formatID(m.UserID), Name: m.Name, Agreed: m.Agreed, JoinedAt: utc(m.JoinedAt)}
}

// WorkspaceSettings are what a request may say about a workspace besides its name.
type WorkspaceSettings struct {
	StatusDeadlines             *statusDeadlines `json:"status_deadlines,omitempty" doc:"Those that are left out stay as they are"`
	StuckReleaseAfter           *float64         `json:"stuck_release_after,omitempty" minimum:"0" maximum:"5256000" example:"0" doc:"Minutes after which a STUCK task is NEW again; 0: never"`
	NewDeadlineWaitsForBlockers *bool            `json:"new_deadline_waits_for_blockers,omitempty" doc:"Let the deadline of a NEW task begin only when its last blocker is DONE"`
}

// statusDeadlines are minutes that a task may stay in a status. Parts of a minute are allowed.
type statusDeadlines struct {
	New        *float64 `json:"NEW,omitempty" minimum:"0" maximum:"5256000" example:"120" doc:"0: for ever, else a second at least, here and below"`
	InProgress *float64 `json:"IN_PROGRESS,omitempty" minimum:"0" maximum:"5256000" example:"1440"`
	Blocked    *float64 `json:"BLOCKED,omitempty" minimum:"0" maximum:"5256000" example:"2880"`
}

func (s WorkspaceSettings) change(name *string) service.WorkspaceChange {
	change := service.WorkspaceChange{
		Name: name, StuckReleaseAfter: s.StuckReleaseAfter, NewDeadlineWaitsForBlockers: s.NewDeadlineWaitsForBlockers,
		StatusDeadlines: map[lifecycle.TaskState]float64{},
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
	Keyed
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Release 1.4"`
		WorkspaceSettings
	} `nameHint:"WorkspaceRequest"`
}

type changeWorkspaceInput struct {
	Keyed
	ID   string `path:"id" example:"2" doc:"The id of a workspace"`
	Body struct {
		Name *string `json:"name,omitempty" minLength:"1" maxLength:"200" pattern:"^[^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Release 1.4"`
		WorkspaceSettings
	} `nameHint:"WorkspaceChange"`
}

type workspaceInput struct {
	ID string `path:"id" example:"2" doc:"The id of a workspace"`
}

type membersInput struct {
	Paging
	ID string `path:"id" example:"2" doc:"The id of a workspace"`
}

type memberInput struct {
	ID   string `path:"id" example:"2" doc:"The id of a workspace"`
	User string `path:"user" example:"3" doc:"The id of a user"`
}

var (
	createWorkspace = operation{
		id: "create-workspace", method: http.MethodPost, path: "/v1/workspaces", tag: "Workspaces", access: forUsers,
		scope: store.ScopeTasks, subject: "workspace",
		summary: "Make a workspace, whose first member you are", status: http.StatusCreated,
		faults:      []fault.Code{fault.QuotaExceeded},
		description: "Its usual deadlines are two hours in NEW, a day in IN_PROGRESS and two days in BLOCKED.",
	}
	listWorkspaces = operation{
		id: "list-workspaces", method: http.MethodGet, path: "/v1/workspaces", tag: "Workspaces", access: forUsers,
		scope:       store.ScopeRead,
		summary:     "List workspaces, the oldest first",
		description: "Those that you are a member of; all for an administrator.",
	}
	getWorkspace = operation{
		id: "get-workspace", method: http.MethodGet, path: "/v1/workspaces/{id}", tag: "Workspaces", access: forUsers,
		scope: store.ScopeRead, subject: "workspace",
		summary: "Look at a workspace", faults: []fault.Code{fault.WorkspaceNotFound},
	}
	changeWorkspace = operation{
		id: "change-workspace", method: http.MethodPatch, path: "/v1/workspaces/{id}", tag: "Workspaces", access: forUsers,
		scope: store.ScopeTasks, subject: "workspace",
		summary:     "Change a workspace's name and deadlines",
		faults:      []fault.Code{fault.WorkspaceNotFound, fault.InsufficientAccess},
		description: "For its owner and administrators. What is left out stays. Deadlines that run stay too: a change counts from a task's next transition.",
	}
	listMembers = operation{
		id: "list-workspace-members", method: http.MethodGet, path: "/v1/workspaces/{id}/members", tag: "Workspaces",
		access: forUsers, scope: store.ScopeRead, subject: "workspace",
		summary: "List the members of a workspace", description: "For its members: these may be given tasks.",
		faults: []fault.Code{fault.WorkspaceNotFound},
	}
	addMember = operation{
		id: "add-workspace-member", method: http.MethodPut, path: "/v1/workspaces/{id}/members/{user}", tag: "Workspaces",
		access: forUsers, scope: store.ScopeTasks, subject: "workspace",
		summary: "Let a user into a workspace", status: http.StatusNoContent, description: "For its owner and administrators. One who is a member stays one. The user may act at once; others see no name and the bot tells " +
			"of no task until the user agrees. Who adds themselves has agreed.",
		faults: []fault.Code{fault.WorkspaceNotFound, fault.UserNotFound, fault.InsufficientAccess, fault.QuotaExceeded},
	}
	agreeToWorkspace = operation{
		id: "agree-to-workspace", method: http.MethodPost, path: "/v1/workspaces/{id}/agree", tag: "Workspaces",
		access: forUsers, scope: store.ScopeTasks, subject: "workspace",
		summary: "Agree to be named to the other members, and to hear of tasks", status: http.StatusNoContent,
		description: "For a member who was let in by another. Once is enough; who leaves and is let in again is asked again.",
		faults:      []fault.Code{fault.WorkspaceNotFound},
	}
	removeMember = operation{
		id: "remove-workspace-member", method: http.MethodDelete, path: "/v1/workspaces/{id}/members/{user}",
		tag: "Workspaces", access: forUsers, scope: store.ScopeTasks, subject: "workspace",
		summary: "Take a user out of a workspace, or leave it", status: http.StatusNoContent,
		description: "For its owner and administrators, and for who leaves. The owner stays. Who has made a task or works on it goes on with it.",
		faults:      []fault.Code{fault.WorkspaceNotFound, fault.UserNotFound, fault.InsufficientAccess},
	}
)

func (s *server) registerWorkspaces() {
	register(s, createWorkspace, s.createWorkspace)
	register(s, listWorkspaces, s.listWorkspaces)
	register(s, getWorkspace, s.getWorkspace)
	register(s, changeWorkspace, s.changeWorkspace)
	register(s, listMembers, s.listMembers)
	register(s, addMember, s.changeMember(addMember, s.o.Tasks.AddMember))
	register(s, agreeToWorkspace, s.agreeToWorkspace)
	register(s, removeMember, s.changeMember(removeMember, s.o.Tasks.RemoveMember))
}

func (s *server) createWorkspace(ctx context.Context, in *createWorkspaceInput) (*answer[shape.Workspace], error) {
	w, err := s.o.Tasks.CreateWorkspace(ctx, caller(ctx), in.Body.change(&in.Body.Name), in.Key)
	return answered(workspaceFrom(w)), err
}

func (s *server) listWorkspaces(ctx context.Context, in *Paging) (*answer[shape.Page[shape.Workspace]], error) {
	return listOf(*in, workspacesCursor, func(after int64, limit int) ([]store.Workspace, error) {
		return s.o.Tasks.Workspaces(ctx, caller(ctx), after, limit)
	}, func(w store.Workspace) int64 { return w.ID }, workspaceFrom)
}

func (s *server) getWorkspace(ctx context.Context, in *workspaceInput) (*answer[shape.Workspace], error) {
	id, err := parseWorkspace(in.ID)
	if err != nil {
		return nil, err
	}
	w, err := s.o.Tasks.Workspace(ctx, caller(ctx), id)
	if err != nil {
		return nil, s.refusal(ctx, getWorkspace, in.ID, err)
	}
	return answered(workspaceFrom(w)), nil
}

func (s *server) changeWorkspace(ctx context.Context, in *changeWorkspaceInput) (*answer[shape.Workspace], error) {
	settings := in.Body.WorkspaceSettings
	if in.Body.Name == nil && settings == (WorkspaceSettings{}) {
		return nil, fault.New(fault.Validation, "say what to change").WithField("body")
	}

	id, err := parseWorkspace(in.ID)
	if err != nil {
		return nil, err
	}

	w, err := s.o.Tasks.ChangeWorkspace(ctx, caller(ctx), id, settings.change(in.Body.Name), in.Key)
	if err != nil {
		return nil, s.refusal(ctx, changeWorkspace, in.ID, err)
	}

	s.auditChange(ctx, changeWorkspace, w)
	return answered(workspaceFrom(w)), nil
}

func (s *server) listMembers(ctx context.Context, in *membersInput) (*answer[shape.Page[shape.Member]], error) {
	id, err := parseWorkspace(in.ID)
	if err != nil {
		return nil, err
	}
	return listOf(in.Paging, membersCursor, func(after int64, limit int) ([]store.Member, error) {
		members, err := s.o.Tasks.Members(ctx, caller(ctx), id, after, limit)
		return members, s.refusal(ctx, listMembers, in.ID, err)
	}, func(m store.Member) int64 { return m.UserID }, memberFrom)
}

// changeMember lets a user in, or out.
func (s *server) changeMember(
	op operation, change func(ctx context.Context, user store.User, workspace, member int64) (store.Workspace, error),
) func(context.Context, *memberInput) (*struct{}, error) {
	return func(ctx context.Context, in *memberInput) (*struct{}, error) {
		id, err := parseWorkspace(in.ID)
		if err != nil {
			return nil, err
		}

		member, err := userID(in.User)
		if err != nil {
			return nil, err
		}

		w, err := change(ctx, caller(ctx), id, member)
		if err != nil {
			return nil, s.refusal(ctx, op, in.ID, err)
		}

		s.auditChange(ctx, op, w)
		return &struct{}{}, nil
	}
}

func (s *server) agreeToWorkspace(ctx context.Context, in *workspaceInput) (*struct{}, error) {
	id, err := parseWorkspace(in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.o.Tasks.Agree(ctx, caller(ctx), id); err != nil {
		return nil, s.refusal(ctx, agreeToWorkspace, in.ID, err)
	}
	return &struct{}{}, nil
}

// auditChange writes what an administrator did to another's workspace.
func (s *server) auditChange(ctx context.Context, op operation, w store.Workspace) {
	if user := caller(ctx); user.IsAdmin() && w.OwnerID != user.ID {
		s.audit(ctx, user, op, formatID(w.ID), store.OutcomeDone)
	}
}

// auditGuest writes what an administrator did in a workspace without being its member.
func (s *server) auditGuest(ctx context.Context, op operation, workspaceID int64) {
	user := caller(ctx)
	if !user.IsAdmin() {
		return
	}
	if member, err := s.o.Store.IsMember(ctx, workspaceID, user.ID); err != nil || !member { // rather one too many
		s.audit(ctx, user, op, formatID(workspaceID), store.OutcomeDone)
	}
}

func parseWorkspace(text string) (int64, error) {
	id, ok := parseID(text)
	if !ok {
		return 0, fault.New(fault.WorkspaceNotFound, "there is no such workspace")
	}
	return id, nil
}
