package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// Workspace is where agents share tasks.
type Workspace struct {
	ID      int64  `db:"id"`
	Name    string `db:"name"`
	OwnerID int64  `db:"owner_id"` // may change it and let others in
	// StatusDeadlines says how many minutes a task may stay NEW, IN_PROGRESS or BLOCKED; 0: for ever. Fractions are allowed.
	StatusDeadlines map[TaskStatus]float64 `db:"status_deadlines"`
	// StuckReleaseAfter is how many minutes a task stays STUCK before it is NEW again; 0: until somebody acts.
	StuckReleaseAfter float64 `db:"stuck_release_after"`
	// NewDeadlineWaitsForBlockers lets the deadline of a NEW task begin only when its last blocker is DONE.
	NewDeadlineWaitsForBlockers bool      `db:"new_deadline_waits_for_blockers"`
	CreatedAt                   time.Time `db:"created_at"`
	UpdatedAt                   time.Time `db:"updated_at"`
}

// DefaultStatusDeadlines are those of a workspace that does not say otherwise, in minutes.
func DefaultStatusDeadlines() map[TaskStatus]float64 {
	return map[TaskStatus]float64{TaskNew: 120, TaskInProgress: 1440, TaskBlocked: 2880}
}

const workspaceColumns = `id, name, owner_id, status_deadlines, stuck_release_after, new_deadline_waits_for_blockers, created_at, updated_at`

var noWorkspace = fault.New(fault.WorkspaceNotFound, "there is no such workspace")

// CreateWorkspace adds a workspace; its owner is its first member. A repeated request gives the first one's.
func (s *Store) CreateWorkspace(ctx context.Context, w Workspace, r Request) (Workspace, error) {
	return answerOnce(ctx, s, r, func(tx pgx.Tx) (Workspace, error) {
		rows, err := tx.Query(ctx, `INSERT INTO workspaces (name, owner_id, status_deadlines, stuck_release_after, new_deadline_waits_for_blockers)
			VALUES ($1, $2, $3, $4, $5) RETURNING `+workspaceColumns,
			w.Name, w.OwnerID, w.StatusDeadlines, w.StuckReleaseAfter, w.NewDeadlineWaitsForBlockers)
		if err != nil {
			return Workspace{}, err
		}
		created, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Workspace])
		if err != nil {
			return Workspace{}, err
		}
		_, err = tx.Exec(ctx, `INSERT INTO workspace_members (workspace_id, user_id) VALUES ($1, $2)`, created.ID, w.OwnerID)
		return created, err
	})
}

// SaveWorkspace writes a workspace's name and settings. Deadlines that run stay as they are. A repeated request gives what the
// first one left, and changes nothing.
func (s *Store) SaveWorkspace(ctx context.Context, w Workspace, r Request) (Workspace, error) {
	return answerOnce(ctx, s, r, func(tx pgx.Tx) (Workspace, error) {
		rows, err := tx.Query(ctx, `UPDATE workspaces SET name = $2, status_deadlines = $3, stuck_release_after = $4,
			new_deadline_waits_for_blockers = $5, updated_at = now() WHERE id = $1 RETURNING `+workspaceColumns,
			w.ID, w.Name, w.StatusDeadlines, w.StuckReleaseAfter, w.NewDeadlineWaitsForBlockers)
		if err != nil {
			return Workspace{}, err
		}
		saved, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Workspace])
		if errors.Is(err, pgx.ErrNoRows) {
			return Workspace{}, noWorkspace
		}
		return saved, err
	})
}

// WorkspaceByID finds a workspace.
func (s *Store) WorkspaceByID(ctx context.Context, id int64) (Workspace, error) {
	return one[Workspace](ctx, s, noWorkspace, `SELECT `+workspaceColumns+` FROM workspaces WHERE id = $1`, id)
}

// Workspaces lists those that a user is a member of (0: all), with ids above after, ascending.
func (s *Store) Workspaces(ctx context.Context, userID, after int64, limit int) ([]Workspace, error) {
	return list[Workspace](ctx, s, `SELECT `+workspaceColumns+` FROM workspaces w WHERE id > $2
		AND ($1 = 0 OR EXISTS (SELECT 1 FROM workspace_members m WHERE m.workspace_id = w.id AND m.user_id = $1))
		ORDER BY id LIMIT $3`, userID, after, limit)
}

// AddMember makes a user a member of a workspace; one who is stays.
func (s *Store) AddMember(ctx context.Context, workspaceID, userID int64) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO workspace_members (workspace_id, user_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`, workspaceID, userID)
	return unavailable(err)
}

// IsMember says whether a user is a member of a workspace.
func (s *Store) IsMember(ctx context.Context, workspaceID, userID int64) (member bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM workspace_members WHERE workspace_id = $1 AND user_id = $2)`,
		workspaceID, userID).Scan(&member)
	return member, unavailable(err)
}

// Members lists the members of a workspace with ids above after, ascending.
func (s *Store) Members(ctx context.Context, workspaceID, after int64, limit int) ([]User, error) {
	return list[User](ctx, s, `SELECT `+userColumns+` FROM users WHERE id > $2
		AND id IN (SELECT user_id FROM workspace_members WHERE workspace_id = $1) ORDER BY id LIMIT $3`, workspaceID, after, limit)
}
