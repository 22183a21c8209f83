package tasks

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

const (
	membersCursor     = "members"
	invitationsCursor = "invitations"
)

func memberFrom(m task.Member) shape.Member {
	return shape.Member{UserID: shape.ID(m.UserID), Name: m.Name, OwnerName: m.Owner, JoinedAt: m.JoinedAt.UTC()}
}

func invitationFrom(i task.Invitation) shape.Invitation {
	return shape.Invitation{
		ID: shape.ID(i.ID), WorkspaceID: shape.ID(i.WorkspaceID), WorkspaceName: i.WorkspaceName,
		InvitedBy: shape.ID(i.InvitedBy), InvitedByName: i.InvitedByName, InvitedAt: i.InvitedAt.UTC(),
	}
}

type membersInput struct {
	server.Paging
	ID string `path:"id" example:"2" doc:"The id of a workspace"`
}

type memberInput struct {
	ID   string `path:"id" example:"2" doc:"The id of a workspace"`
	User string `path:"user" example:"3" doc:"The id of a user"`
}

// registerMembers adds the operations of members, and of people who are asked to become members.
func (h *handlers) registerMembers(workspaces server.Group) {
	server.Register(workspaces, server.Operation{
		Id: "list-workspace-members", Route: "GET /v1/workspaces/{id}/members", Scope: account.ScopeRead,
		Summary:     "List the members of a workspace",
		Description: "For its members: these may be given tasks.",
		Faults:      []fault.Code{fault.WorkspaceNotFound},
	}, h.listMembers)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "add-workspace-member", Route: "PUT /v1/workspaces/{id}/members/{user}",
		Summary: "Ask a person to join a workspace, or add an agent of yours",
		Description: "Its owner and administrators ask people. Nothing of the workspace is visible to them, given to them or told to them, or to their agents, until they agree. The answer is the same " +
			"for an id of nobody, for who was asked before, and for who has refused; at most 50 people are asked a day. Each member adds agents of their own, an administrator any agent and themselves: these are members at once.",
		Faults: []fault.Code{fault.WorkspaceNotFound, fault.UserNotFound, fault.InsufficientAccess, fault.QuotaExceeded},
	}, h.changeMember(h.tasks.AddMember))

	server.Register(workspaces, server.Operation{
		Id: "list-invitations", Route: "GET /v1/invitations", Scope: account.ScopeRead,
		Summary:     "List the workspaces that you are asked to join, the newest first",
		Description: "Until you agree this is all that you see of them. A bot tells you of one a day at most.",
	}, h.listInvitations)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "agree-to-workspace", Route: "POST /v1/workspaces/{id}/agree",
		Summary:     "Agree to join a workspace that you are asked to join",
		Description: "You are a member then: named to the others, and told of your tasks. Once is enough; who leaves may be asked again.",
		Faults:      []fault.Code{fault.WorkspaceNotFound, fault.QuotaExceeded},
	}, h.agreeToWorkspace)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "refuse-workspace", Route: "POST /v1/workspaces/{id}/refuse",
		Summary:     "Refuse to join a workspace that you are asked to join",
		Description: "For good: nobody can ask you again to join it, and you cannot agree any more. Who has asked is not told. A member leaves instead.",
		Faults:      []fault.Code{fault.WorkspaceNotFound, fault.InvalidTransition},
	}, h.refuseWorkspace)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "remove-workspace-member", Route: "DELETE /v1/workspaces/{id}/members/{user}",
		Summary: "Take a user out of a workspace, or leave it",
		Description: "For its owner and administrators, and for who leaves; their agents leave too. An agent alone is taken out by its owner and by administrators. The owner stays. It takes back too what " +
			"asks a person to join. Who has made a task or works on it goes on with it.",
		Faults: []fault.Code{fault.WorkspaceNotFound, fault.UserNotFound, fault.InsufficientAccess},
	}, h.changeMember(h.tasks.RemoveMember))
}

func (h *handlers) listMembers(ctx context.Context, in *membersInput) (shape.Page[shape.Member], error) {
	id := server.PathID(in.ID)
	return server.ListOf(in.Paging, membersCursor, func(after int64, limit int) ([]task.Member, error) {
		members, err := h.tasks.Members(ctx, server.Caller(ctx), id, after, limit)
		return members, h.Refusal(ctx, in.ID, err)
	}, func(m task.Member) int64 { return m.UserID }, memberFrom)
}

// changeMember lets a user in, or out.
func (h *handlers) changeMember(
	change func(ctx context.Context, user account.User, workspace, member int64) (task.Workspace, error),
) func(context.Context, *memberInput) error {
	return func(ctx context.Context, in *memberInput) error {
		member, err := server.UserID(in.User)
		if err != nil {
			return err
		}

		w, err := change(ctx, server.Caller(ctx), server.PathID(in.ID), member)
		if err != nil {
			return h.Refusal(ctx, in.ID, err)
		}

		h.auditChange(ctx, w)
		return nil
	}
}

func (h *handlers) listInvitations(
	ctx context.Context, in *server.Paging,
) (shape.Page[shape.Invitation], error) {
	return server.ListOf(*in, invitationsCursor, func(before int64, limit int) ([]task.Invitation, error) {
		return h.tasks.Invitations(ctx, server.Caller(ctx), before, limit)
	}, func(i task.Invitation) int64 { return i.ID }, invitationFrom)
}

func (h *handlers) agreeToWorkspace(ctx context.Context, in *workspaceInput) error {
	_, err := h.tasks.Agree(ctx, server.Caller(ctx), server.PathID(in.ID))
	return h.Refusal(ctx, in.ID, err)
}

func (h *handlers) refuseWorkspace(ctx context.Context, in *workspaceInput) error {
	err := h.tasks.Refuse(ctx, server.Caller(ctx), server.PathID(in.ID))
	return h.Refusal(ctx, in.ID, err)
}
