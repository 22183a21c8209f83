package task

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Invitation invites a user to a workspace. It is all that the user may know of the workspace.
type Invitation struct {
	ID            int64     `db:"id"`
	WorkspaceID   int64     `db:"workspace_id"`
	WorkspaceName string    `db:"workspace_name"`
	InvitedBy     int64     `db:"invited_by"`
	InvitedByName string    `db:"invited_by_name"`
	InvitedAt     time.Time `db:"invited_at"`
}

// NoticesOfInvitations is the workload under which the notification of an invitation is stored: one row per person,
// whose time is when the person was last notified.
const NoticesOfInvitations = "invitation"

// invitationPause is the minimum time between a person's notifications of invitations.
const invitationPause = `interval '1 day'`

var (
	// askingUser is true of an invitation i whose sender may use the service.
	askingUser = `EXISTS (SELECT 1 FROM users u WHERE u.id = i.invited_by AND ` + core.ActiveUser + `)`
	// openInvitation is true of an unanswered invitation i.
	openInvitation = `i.refused_at IS NULL AND ` + askingUser
)

// Invite invites a user to a workspace, and plans the notification. Nothing changes for ids that cannot be invited, for
// users who were invited before or have declined, or above the limit of open invitations: the caller cannot tell these
// apart. QUOTA_EXCEEDED: the workspace has too many members.
func (s *Store) Invite(ctx context.Context, byID, workspaceID, userID int64) error {
	members, invitations := s.db.Quotas.Of(memberQuota), s.db.Quotas.Of(invitationQuota)
	batch, room := &pgx.Batch{}, false
	members.QueueLock(batch, workspaceID)
	batch.Queue(`SELECT $1::bigint > 0 AND $2::bigint > 0 AND `+members.Room(2, 1, 1), workspaceID, byID).QueryRow(func(row pgx.Row) error {
		return row.Scan(&room)
	})

	batch.Queue(`WITH asked AS (
			INSERT INTO workspace_invitations AS i (workspace_id, user_id, invited_by)
			SELECT $1, u.id, $3 FROM users u WHERE u.id = $2 AND u.owner_id IS NULL AND `+core.ActiveUser+`
				AND NOT EXISTS (SELECT 1 FROM workspace_members WHERE workspace_id = $1 AND user_id = u.id)
				AND `+members.Room(3, 1, 1)+` AND `+invitations.Room(3, 1, 1)+`
			ON CONFLICT (workspace_id, user_id) DO UPDATE SET invited_by = $3, invited_at = now()
				WHERE i.refused_at IS NULL AND NOT `+askingUser+`
			RETURNING user_id
		) INSERT INTO news (user_id, workload, entity_id, seq, due_at)
		SELECT u.id, $4, '', 0, now() FROM asked JOIN users u ON u.id = asked.user_id WHERE u.telegram_id IS NOT NULL
		ON CONFLICT (user_id, workload, entity_id, seq) DO UPDATE SET state = 'due',
			due_at = CASE news.state WHEN 'lost' THEN now() ELSE greatest(now(), news.due_at + `+invitationPause+`) END
			WHERE news.state <> 'due'`, workspaceID, userID, byID, NoticesOfInvitations)

	if err := s.db.SendBatch(ctx, batch).Close(); err != nil {
		return core.Unavailable(err)
	}
	if !room {
		return members.Exceeded()
	}
	return nil
}

// Invitations lists a user's open invitations with ids below before (0: all), newest first. Served by the index
// workspace_invitations_user.
func (s *Store) Invitations(ctx context.Context, userID, before int64, limit int) ([]Invitation, error) {
	return core.Chosen[Invitation](ctx, s.db, `SELECT i.id, i.workspace_id, w.name AS workspace_name, i.invited_by, b.name AS invited_by_name, i.invited_at
		FROM workspace_invitations i JOIN workspaces w ON w.id = i.workspace_id JOIN users b ON b.id = i.invited_by
		WHERE i.user_id = $1 AND ($2::bigint = 0 OR i.id < $2) AND `+openInvitation+` ORDER BY i.id DESC LIMIT $3`, userID, before, limit)
}

// Agree makes an invited user a member of the workspace; an existing member stays one. QUOTA_EXCEEDED: the workspace
// has too many members.
func (s *Store) Agree(ctx context.Context, workspaceID, userID int64) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		invited, err := tx.Exec(ctx, `DELETE FROM workspace_invitations i WHERE workspace_id = $1 AND user_id = $2 AND `+openInvitation,
			workspaceID, userID)
		if err != nil {
			return err
		}
		if invited.RowsAffected() == 1 {
			return s.addMember(ctx, tx, userID, workspaceID, userID)
		}

		member, err := isMember(ctx, tx, workspaceID, userID)
		if err == nil && !member {
			err = noWorkspace
		}
		return err
	})
}

// Refuse declines an invitation for good. Idempotent. INVALID_TRANSITION: the user is a member.
func (s *Store) Refuse(ctx context.Context, workspaceID, userID int64) error {
	tag, err := s.db.Exec(ctx, `UPDATE workspace_invitations SET refused_at = coalesce(refused_at, now())
		WHERE workspace_id = $1 AND user_id = $2`, workspaceID, userID)
	if err != nil || tag.RowsAffected() == 1 {
		return core.Unavailable(err)
	}

	member, err := s.IsMember(ctx, workspaceID, userID)
	switch {
	case err != nil:
		return err
	case member:
		return fault.New(fault.InvalidTransition, "you are a member: leave the workspace instead")
	default:
		return noWorkspace
	}
}
