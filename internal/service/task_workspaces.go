package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// WorkspaceChange is a change of a workspace; nil fields and deadlines that are not named stay.
type WorkspaceChange struct {
	Name                        *string
	StatusDeadlines             map[lifecycle.TaskState]float64 // minutes
	StuckReleaseAfter           *float64                        // minutes
	NewDeadlineWaitsForBlockers *bool
	ReviewRequired              *bool `json:",omitempty"` // an older request has the same fingerprint as before
}

// CreateWorkspace creates a workspace of the user, with the default deadlines where the change names no others.
func (c *Tasks) CreateWorkspace(
	ctx context.Context, user account.User, change WorkspaceChange, key string,
) (task.Workspace, error) {
	w := task.Workspace{OwnerID: user.ID, StatusDeadlines: task.DefaultStatusDeadlines()}
	if err := c.apply(change, &w); err != nil {
		return task.Workspace{}, err
	}
	return c.Store.CreateWorkspace(
		ctx, w, core.Request{UserID: user.ID, Key: key, Asked: "workspace " + fingerprint(change)},
	)
}

// ChangeWorkspace changes a workspace; its owner and administrators may. Running deadlines stay as they are.
func (c *Tasks) ChangeWorkspace(
	ctx context.Context, user account.User, workspaceID int64, change WorkspaceChange, key string,
) (task.Workspace, error) {
	if _, err := c.owned(ctx, user, workspaceID); err != nil {
		return task.Workspace{}, err
	}
	r := core.Request{UserID: user.ID, Key: key, Asked: fmt.Sprintf("workspace %d %s", workspaceID, fingerprint(change))}
	return c.Store.ChangeWorkspace(ctx, workspaceID, r, func(w *task.Workspace) error { return c.apply(change, w) })
}

// AddMember adds a user to a workspace and returns the workspace: its owner and administrators may, and each member may
// add agents of their own. The user may act in it at once, but other members see the name, and the user gets
// notifications of tasks, only after Agree; agents whose owner adds them have agreed.
func (c *Tasks) AddMember(ctx context.Context, user account.User, workspaceID, memberID int64) (task.Workspace, error) {
	w, err := c.owned(ctx, user, workspaceID)
	if fault.CodeOf(err) == fault.InsufficientAccess {
		if _, own := c.Store.AgentByID(ctx, user.ID, memberID); own == nil {
			err = nil
		}
	}
	if err != nil {
		return task.Workspace{}, err
	}
	if _, err := c.Store.UserByID(ctx, memberID); err != nil {
		return task.Workspace{}, err
	}
	return w, c.Store.AddMember(ctx, user.ID, workspaceID, memberID)
}

// RemoveMember removes a user, with the user's agents, from a workspace and returns the workspace: its owner and administrators may, and each
// member may leave. The owner cannot be removed. The creator and the assignee of a task keep it.
func (c *Tasks) RemoveMember(
	ctx context.Context, user account.User, workspaceID, memberID int64,
) (task.Workspace, error) {
	allowed := c.owned
	if memberID == user.ID {
		allowed = c.Workspace
	}

	w, err := allowed(ctx, user, workspaceID)
	if err != nil {
		return task.Workspace{}, err
	}
	if memberID == w.OwnerID {
		return task.Workspace{}, fault.Invalid("user", "the owner of a workspace stays its member")
	}

	return w, c.Store.RemoveMember(ctx, workspaceID, memberID)
}

// Members returns the members, with ids above after, of a workspace that the user may see.
func (c *Tasks) Members(
	ctx context.Context, user account.User, workspaceID, after int64, limit int,
) ([]task.Member, error) {
	members, err := c.Store.Members(ctx, user, workspaceID, after, limit)
	if err == nil && len(members) == 0 { // the end of the list, or a workspace that the user may not see
		_, err = c.Workspace(ctx, user, workspaceID)
	}
	return members, err
}

// Agree records that a member agrees to be named to others of a workspace and to be notified of its tasks. It returns
// the workspace.
func (c *Tasks) Agree(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	w, err := c.Workspace(ctx, user, workspaceID)
	if err != nil {
		return task.Workspace{}, err
	}
	return w, c.Store.Agree(ctx, workspaceID, user.ID)
}

// Workspace returns a workspace to its members and administrators; for others it does not exist.
func (c *Tasks) Workspace(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	return c.Store.WorkspaceByID(ctx, viewerOf(user), workspaceID)
}

// Workspaces returns the workspaces that the user may see, with ids above after.
func (c *Tasks) Workspaces(ctx context.Context, user account.User, after int64, limit int) ([]task.Workspace, error) {
	return c.Store.Workspaces(ctx, viewerOf(user), after, limit)
}

func (c *Tasks) owned(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	w, err := c.Workspace(ctx, user, workspaceID)
	if err == nil && !MayChange(user, w) {
		err = fault.New(fault.InsufficientAccess, "only the owner of the workspace and administrators change it")
	}
	return w, err
}

// MayChange reports whether a user may change a workspace and its members.
func MayChange(user account.User, w task.Workspace) bool {
	return w.OwnerID == user.ID || user.IsAdmin()
}

// apply changes a workspace, or returns which setting is not possible.
func (c *Tasks) apply(ch WorkspaceChange, w *task.Workspace) error {
	if ch.Name != nil {
		w.Name = strings.TrimSpace(*ch.Name)
	}

	if n := utf8.RuneCountInString(w.Name); n < 1 || n > 200 {
		return fault.Invalid("name", "a name has 1 to 200 characters")
	}

	w.StatusDeadlines = maps.Clone(w.StatusDeadlines)
	for status, minutes := range ch.StatusDeadlines {
		if !slices.Contains(lifecycle.TaskTimed, status) {
			return fault.Invalid("status_deadlines", "%s has no deadline: only %v do", status, lifecycle.TaskTimed)
		}
		if !possible(minutes, c.LeastDeadline) {
			return fault.Invalid(
				"status_deadlines."+string(status), "a deadline is 0 (none), or %s to %d minutes", c.LeastDeadline,
				task.MaxTaskMinutes,
			)
		}

		w.StatusDeadlines[status] = minutes
	}

	if ch.StuckReleaseAfter != nil {
		if !possible(*ch.StuckReleaseAfter, c.LeastRelease) {
			return fault.Invalid(
				"stuck_release_after", "this is 0 (never), or %s to %d minutes", c.LeastRelease, task.MaxTaskMinutes,
			)
		}
		w.StuckReleaseAfter = *ch.StuckReleaseAfter
	}

	if ch.NewDeadlineWaitsForBlockers != nil {
		w.NewDeadlineWaitsForBlockers = *ch.NewDeadlineWaitsForBlockers
	}

	if ch.ReviewRequired != nil {
		w.ReviewRequired = *ch.ReviewRequired
	}
	return nil
}

// possible reports whether a number of minutes is 0 or within the bounds; false for NaN.
func possible(minutes float64, least time.Duration) bool {
	const rounding = 1e-6 // a second is no exact number of minutes
	return minutes == 0 || minutes > 0 && minutes >= least.Minutes()-rounding && minutes <= task.MaxTaskMinutes
}

// TaskColumn are the newest tasks in one status.
type TaskColumn struct {
	State lifecycle.TaskState
	Tasks []task.Task
	More  bool // there are older ones
}

// Board returns the newest tasks of a workspace that the user may see, up to limit in each status: a column for each
// status, in the order of a task's life.
func (c *Tasks) Board(ctx context.Context, user account.User, workspaceID int64, limit int) ([]TaskColumn, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return nil, err
	}

	tasks, err := c.Store.BoardOf(ctx, viewerOf(user), workspaceID, limit+1)
	if err != nil {
		return nil, err
	}

	byState := map[lifecycle.TaskState][]task.Task{}
	for _, t := range tasks {
		byState[t.State] = append(byState[t.State], t)
	}

	columns := make([]TaskColumn, len(lifecycle.TaskStates))
	for i, state := range lifecycle.TaskStates {
		shown := byState[state]
		columns[i] = TaskColumn{State: state, Tasks: shown[:min(limit, len(shown))], More: len(shown) > limit}
	}
	return columns, nil
}

// Mine returns up to limit tasks that the user is the assignee of, and up to limit that the user can claim.
func (c *Tasks) Mine(ctx context.Context, user account.User, limit int) (task.Work, error) {
	return c.Store.WorkOf(ctx, user.ID, viewerOf(user), limit)
}

// TaskGraph are tasks that wait for each other.
type TaskGraph struct {
	Nodes   []task.Node
	Partial bool // there are as many as were asked for: there may be more
}

// Graph returns up to limit tasks that a task waits for or that wait for it, as far as the user may see them, and the
// task itself.
func (c *Tasks) Graph(ctx context.Context, user account.User, taskID int64, limit int) (TaskGraph, error) {
	nodes, err := c.Store.GraphOfTask(ctx, viewerOf(user), taskID, limit)
	return TaskGraph{nodes, len(nodes) == limit}, err
}

// GraphOfWorkspace returns the newest tasks of a workspace, up to limit, that wait for others or are waited for, as far
// as the user may see them.
func (c *Tasks) GraphOfWorkspace(
	ctx context.Context, user account.User, workspaceID int64, limit int,
) (TaskGraph, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return TaskGraph{}, err
	}

	nodes, err := c.Store.GraphOfWorkspace(ctx, viewerOf(user), workspaceID, limit)
	return TaskGraph{nodes, len(nodes) == limit}, err
}

// daysCounted is how many days before today have figures of their own, at most.
const daysCounted = 30

// Stats returns statistics of a workspace that the user may see, since a moment, and those of each day of the last 31.
func (c *Tasks) Stats(
	ctx context.Context, user account.User, workspaceID int64, since time.Time,
) (stats task.TaskStats, days []task.TaskDay, err error) {
	if _, err = c.Workspace(ctx, user, workspaceID); err != nil {
		return stats, nil, err
	}
	if stats, err = c.Store.StatsOfTasks(ctx, workspaceID, since); err != nil {
		return stats, nil, err
	}

	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -daysCounted)
	if since.After(first) {
		first = since
	}

	found, err := c.Store.DaysOfTasks(ctx, workspaceID, first)
	return stats, everyDay(first, found), err
}

// everyDay adds the days on which nothing happened, from the day of a moment to today, in UTC.
func everyDay(since time.Time, found []task.TaskDay) (days []task.TaskDay) {
	for day := since.UTC().Truncate(24 * time.Hour); !day.After(time.Now()); day = day.AddDate(0, 0, 1) {
		one := task.TaskDay{Day: day}
		if len(found) > 0 && found[0].Day.Equal(day) {
			one, found = found[0], found[1:]
		}
		days = append(days, one)
	}
	return days
}
