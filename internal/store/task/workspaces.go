package task

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Workspace is where agents share tasks.
type Workspace struct {
	ID      int64  `db:"id"`
	Name    string `db:"name"`
	OwnerID int64  `db:"owner_id"` // may change it and add members
	// StatusDeadlines is how many minutes a task may stay NEW, IN_PROGRESS or BLOCKED; 0: unlimited. Fractions are
	// allowed.
	StatusDeadlines map[lifecycle.TaskState]float64 `db:"status_deadlines"`
	// StuckReleaseAfter is how many minutes a task stays STUCK before it is NEW again; 0: until a user acts.
	StuckReleaseAfter float64 `db:"stuck_release_after"`
	// NewDeadlineWaitsForBlockers starts the deadline of a NEW task only when its last blocker is DONE.
	NewDeadlineWaitsForBlockers bool `db:"new_deadline_waits_for_blockers"`
	// ReviewRequired lets a task become DONE only after another user has approved its newest submission.
	ReviewRequired bool      `db:"review_required"`
	CreatedAt      time.Time `db:"created_at"`
	UpdatedAt      time.Time `db:"updated_at"`
}

// DefaultStatusDeadlines are the deadlines, in minutes, of a workspace that sets none.
func DefaultStatusDeadlines() map[lifecycle.TaskState]float64 {
	return map[lifecycle.TaskState]float64{
		lifecycle.TaskNew: 120, lifecycle.TaskInProgress: 1440, lifecycle.TaskBlocked: 2880,
	}
}

const workspaceColumns = `id, name, owner_id, status_deadlines, stuck_release_after, new_deadline_waits_for_blockers, review_required, created_at, updated_at`

var noWorkspace = fault.New(fault.WorkspaceNotFound, "there is no such workspace")

// CreateWorkspace adds a workspace; its owner is its first member. A repeated request returns the first one's
// workspace. QUOTA_EXCEEDED: the owner has too many.
func (s *Store) CreateWorkspace(ctx context.Context, w Workspace, r core.Request) (Workspace, error) {
	return core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) (Workspace, error) {
		if err := s.db.Quotas.Of(workspaceQuota).Check(ctx, tx, w.OwnerID, 1); err != nil {
			return Workspace{}, err
		}

		created, err := core.One[Workspace](ctx, tx, noWorkspace, `INSERT INTO workspaces (name, owner_id, status_deadlines, stuck_release_after, new_deadline_waits_for_blockers, review_required)
			VALUES ($1, $2, $3, $4, $5, $6) RETURNING `+workspaceColumns,
			w.Name, w.OwnerID, w.StatusDeadlines, w.StuckReleaseAfter, w.NewDeadlineWaitsForBlockers, w.ReviewRequired)
		if err != nil {
			return Workspace{}, err
		}

		_, err = tx.Exec(ctx, `INSERT INTO workspace_members (workspace_id, user_id) VALUES ($1, $2)`, created.ID, w.OwnerID)
		return created, err
	})
}

// ChangeWorkspace lets change edit a workspace's name and settings under a lock. Running deadlines keep their times. A
// repeated request returns the first result and changes nothing.
func (s *Store) ChangeWorkspace(
	ctx context.Context, id int64, r core.Request, change func(*Workspace) error,
) (Workspace, error) {
	return core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) (Workspace, error) {
		w, err := core.One[Workspace](
			ctx, tx, noWorkspace, `SELECT `+workspaceColumns+` FROM workspaces WHERE id = $1 FOR UPDATE`, id,
		)
		if err == nil {
			err = change(&w)
		}

		if err != nil {
			return Workspace{}, err
		}
		return core.One[Workspace](ctx, tx, noWorkspace, `UPDATE workspaces SET name = $2, status_deadlines = $3, stuck_release_after = $4,
			new_deadline_waits_for_blockers = $5, review_required = $6, updated_at = now() WHERE id = $1 RETURNING `+workspaceColumns,
			id, w.Name, w.StatusDeadlines, w.StuckReleaseAfter, w.NewDeadlineWaitsForBlockers, w.ReviewRequired)
	})
}

// visibleWorkspace is true of a workspace w that user $1 (0: an administrator) may see.
const visibleWorkspace = `($1::bigint = 0 OR EXISTS (SELECT 1 FROM workspace_members m WHERE m.workspace_id = w.id AND m.user_id = $1))`

// WorkspaceByID returns a workspace visible to a viewer; viewer 0 sees all.
func (s *Store) WorkspaceByID(ctx context.Context, viewer, id int64) (Workspace, error) {
	return core.One[Workspace](ctx, s.db, noWorkspace, `SELECT `+workspaceColumns+` FROM workspaces w
		WHERE `+visibleWorkspace+` AND id = $2`, viewer, id)
}

// Workspaces lists the workspaces of a member (0: all), with ids above after, ascending.
func (s *Store) Workspaces(ctx context.Context, userID, after int64, limit int) ([]Workspace, error) {
	return core.Chosen[Workspace](ctx, s.db, `SELECT `+workspaceColumns+` FROM workspaces w WHERE id > $2
		AND `+visibleWorkspace+` ORDER BY id LIMIT $3`, userID, after, limit)
}

// AddMember makes a user a member of a workspace at once, at another user's request; an existing member stays one.
// People invited by others become members by Agree. QUOTA_EXCEEDED: the workspace has too many members.
func (s *Store) AddMember(ctx context.Context, byID, workspaceID, userID int64) error {
	return s.addMember(ctx, s.db, byID, workspaceID, userID)
}

func (s *Store) addMember(ctx context.Context, db core.Session, byID, workspaceID, userID int64) error {
	members, batch, added := s.db.Quotas.Of(memberQuota), &pgx.Batch{}, false
	members.QueueLock(batch, workspaceID)
	batch.Queue(`INSERT INTO workspace_members (workspace_id, user_id) SELECT $1, $2
		WHERE $3::bigint > 0 AND `+members.Room(3, 1, 1)+` ON CONFLICT DO NOTHING`, workspaceID, userID, byID).Exec(func(tag pgconn.CommandTag) error {
		added = tag.RowsAffected() == 1
		return nil
	})

	if err := db.SendBatch(ctx, batch).Close(); err != nil || added {
		return core.Unavailable(err)
	}

	member, err := isMember(ctx, db, workspaceID, userID)
	if err == nil && !member {
		err = members.Exceeded()
	}
	return err
}

func (s *Store) IsMember(ctx context.Context, workspaceID, userID int64) (bool, error) {
	return isMember(ctx, s.db, workspaceID, userID)
}

func isMember(ctx context.Context, db core.Session, workspaceID, userID int64) (bool, error) {
	return core.Value[bool](ctx, db, `SELECT EXISTS (SELECT 1 FROM workspace_members WHERE workspace_id = $1 AND user_id = $2)`,
		workspaceID, userID)
}

// RemoveMember removes a user and the user's agents from a workspace, but not its owner. Also withdraws a pending
// invitation. Does nothing without a membership.
func (s *Store) RemoveMember(ctx context.Context, workspaceID, userID int64) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM workspace_members m USING workspaces w WHERE m.workspace_id = $1 AND w.id = $1 AND m.user_id <> w.owner_id
		AND (m.user_id = $2 OR m.user_id IN (SELECT id FROM users WHERE owner_id = $2))`, workspaceID, userID)
	batch.Queue(`DELETE FROM workspace_invitations WHERE workspace_id = $1 AND user_id = $2 AND refused_at IS NULL`, workspaceID, userID)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// Member is a user in a workspace.
type Member struct {
	UserID   int64     `db:"user_id"`
	Name     string    `db:"name"`
	Owner    string    `db:"owner"` // an agent's owner's name; empty: a person
	JoinedAt time.Time `db:"joined_at"`
}

// Members lists a workspace's members with ids above after, ascending, to a member or an administrator; others see
// none.
func (s *Store) Members(
	ctx context.Context, viewer account.User, workspaceID, after int64, limit int,
) ([]Member, error) {
	return core.List[Member](ctx, s.db, `SELECT user_id, name, `+ownerName+` AS owner, joined_at FROM workspace_members m JOIN users u ON u.id = m.user_id
		WHERE workspace_id = $1 AND user_id > $2 AND ($5 OR EXISTS (
			SELECT 1 FROM workspace_members own WHERE own.workspace_id = $1 AND own.user_id = $4)) ORDER BY user_id LIMIT $3`, workspaceID, after, limit, viewer.ID, viewer.IsAdmin())
}

// ownerName is the name of the owner of an agent u.
const ownerName = `coalesce((SELECT o.name FROM users o WHERE o.id = u.owner_id), '')`

// NameIn returns the name of a user active in a workspace's tasks, and of an agent's owner; empty: hidden from the
// viewer. Named are members, and administrators who act without being members.
func (s *Store) NameIn(ctx context.Context, viewer account.User, workspaceID, userID int64) (name, owner string, err error) {
	named, err := core.One[struct {
		Name  string `db:"name"`
		Owner string `db:"owner"`
	}](ctx, s.db, account.NoUser, `SELECT CASE WHEN known THEN name ELSE '' END AS name, CASE WHEN known THEN owner ELSE '' END AS owner
		FROM (SELECT name, `+ownerName+` AS owner, m.user_id IS NOT NULL OR u.role = 'ADMIN' OR u.id = $3 OR $4 AS known
		FROM users u LEFT JOIN workspace_members m ON m.user_id = u.id AND m.workspace_id = $1 WHERE u.id = $2) found`,
		workspaceID, userID, viewer.ID, viewer.IsAdmin())
	return named.Name, named.Owner, err
}
