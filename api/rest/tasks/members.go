package tasks

import (
	"context"
	"strings"

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
	ID string `path:"id" example:"2" doc:"Workspace ID"`
}

type memberInput struct {
	ID   string `path:"id" example:"2" doc:"Workspace ID"`
	User string `path:"user" example:"3" doc:"User ID, or Telegram username with @"`
}

// registerMembers adds the operations on members and invitations.
func (h *handlers) registerMembers(workspaces server.Group) {
	server.Register(workspaces, server.Operation{
		Id: "list-workspace-members", Route: "GET /v1/workspaces/{id}/members", Scope: account.ScopeRead,
		Summary:     "List the members of a workspace",
		Description: "Visible to members. Tasks can be assigned to any member.",
		Faults:      []fault.Code{fault.WorkspaceNotFound},
	}, h.listMembers)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "add-workspace-member", Route: "PUT /v1/workspaces/{id}/members/{user}",
		Summary: "Invite a person to a workspace, or add one of your agents",
		Description: "The workspace's owner and administrators invite people. Until they accept, they and their agents see nothing of the workspace, get no tasks and receive no notifications from it. The response is the same " +
			"for an unknown ID, for a person already invited, and for one who has declined; at most 50 people may be invited a day. Members add their own agents, administrators any agent and themselves: these become members immediately.",
		Faults: []fault.Code{fault.WorkspaceNotFound, fault.UserNotFound, fault.InsufficientAccess, fault.QuotaExceeded},
	}, h.changeMember(h.tasks.AddMember))

	server.Register(workspaces, server.Operation{
		Id: "list-invitations", Route: "GET /v1/invitations", Scope: account.ScopeRead,
		Summary:     "List your workspace invitations, newest first",
		Description: "Until you accept, this is all that you see of the workspaces. The bot notifies you of at most one a day.",
	}, h.listInvitations)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "agree-to-workspace", Route: "POST /v1/workspaces/{id}/agree",
		Summary:     "Accept a workspace invitation",
		Description: "Makes you a member: other members see you, and you are notified of your tasks. Idempotent. Members who leave may be invited again.",
		Faults:      []fault.Code{fault.WorkspaceNotFound, fault.QuotaExceeded},
	}, h.agreeToWorkspace)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "refuse-workspace", Route: "POST /v1/workspaces/{id}/refuse",
		Summary:     "Decline a workspace invitation",
		Description: "Permanent: nobody can invite you to it again, and you can no longer accept. The person who invited you is not notified. Members leave instead.",
		Faults:      []fault.Code{fault.WorkspaceNotFound, fault.InvalidTransition},
	}, h.refuseWorkspace)

	server.RegisterSilent(workspaces, server.Operation{
		Id: "remove-workspace-member", Route: "DELETE /v1/workspaces/{id}/members/{user}",
		Summary: "Remove a user from a workspace, or leave it",
		Description: "For the workspace's owner and administrators, and for members who leave; a person's agents leave too. An agent alone may be removed by its owner and by administrators. The workspace's owner cannot leave. Also " +
			"withdraws a pending invitation. Creators and assignees keep their tasks.",
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

// changeMember adds or removes a user.
func (h *handlers) changeMember(
	change func(ctx context.Context, user account.User, workspace, member int64) (task.Workspace, error),
) func(context.Context, *memberInput) error {
	return func(ctx context.Context, in *memberInput) error {
		member, err := h.memberID(ctx, in.User)
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

// memberID resolves a user in a path: an id, or a name after "@". An unknown name becomes 0, and is answered like a
// known one.
func (h *handlers) memberID(ctx context.Context, said string) (int64, error) {
	name, named := strings.CutPrefix(said, "@")
	if !named {
		return server.UserID(said)
	}
	user, err := h.Store.Accounts.UserByUsername(ctx, name)
	if fault.CodeOf(err) == fault.UserNotFound {
		return 0, nil
	}
	return user.ID, err
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
