package service

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stagecoach/internal/allowance"
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
	return c.Store.Tasks.CreateWorkspace(
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
	return c.Store.Tasks.ChangeWorkspace(ctx, workspaceID, r, func(w *task.Workspace) error { return c.apply(change, w) })
}

// asked is how many people a user may ask to join workspaces: 50 a day. Ids of nobody count too, so that the refusal
// does not tell them from others.
var asked = allowance.Rate{PerSecond: 50. / (24 * 60 * 60), Burst: 50}

var onlyOwners = fault.New(fault.InsufficientAccess, "only the owner of the workspace and administrators change it")

// AddMember adds an agent to a workspace, or asks a person to join it, and returns the workspace. Agents are added by
// their owner, who is a member, and by administrators, who may add themselves too. People are asked by the owner of the
// workspace and by administrators; an id of nobody who can be asked changes nothing, and the caller does not learn
// which it is.
func (c *Tasks) AddMember(ctx context.Context, user account.User, workspaceID, memberID int64) (task.Workspace, error) {
	w, err := c.Workspace(ctx, user, workspaceID)
	if err != nil {
		return task.Workspace{}, err
	}

	_, err = c.Store.Accounts.AgentByID(ctx, viewerOf(user), memberID)
	switch {
	case err == nil:
		return w, c.Store.Tasks.AddMember(ctx, user.ID, workspaceID, memberID)
	case fault.CodeOf(err) != fault.UserNotFound:
		return task.Workspace{}, err
	case !MayChange(user, w):
		return task.Workspace{}, onlyOwners
	case memberID == user.ID:
		return w, c.Store.Tasks.AddMember(ctx, user.ID, workspaceID, memberID)
	default:
		return w, c.invite(ctx, user, workspaceID, memberID)
	}
}

// invite asks a person who is no member to join a workspace.
func (c *Tasks) invite(ctx context.Context, user account.User, workspaceID, personID int64) error {
	member, err := c.Store.Tasks.IsMember(ctx, workspaceID, personID)
	if err != nil || member {
		return err
	}

	if !user.IsAdmin() {
		if wait := c.asked.Take(user.ID, asked); wait > 0 {
			return fault.New(fault.RateLimited, "at most %d people are asked a day", asked.Burst).
				With("limit", allowance.LimitInvitations).After(wait)
		}
	}

	return c.Store.Tasks.Invite(ctx, user.ID, workspaceID, personID)
}

// Invitations returns what asks the user to join workspaces, with ids below before, the newest first.
func (c *Tasks) Invitations(
	ctx context.Context, user account.User, before int64, limit int,
) ([]task.Invitation, error) {
	return c.Store.Tasks.Invitations(ctx, user.ID, before, limit)
}

// Agree makes an invited user a member of the workspace and returns it. For who was not asked, or has refused, it does
// not exist.
func (c *Tasks) Agree(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	if err := c.Store.Tasks.Agree(ctx, workspaceID, user.ID); err != nil {
		return task.Workspace{}, err
	}
	return c.Workspace(ctx, user, workspaceID)
}

// Refuse refuses to join a workspace, for good: the user is not asked again.
func (c *Tasks) Refuse(ctx context.Context, user account.User, workspaceID int64) error {
	return c.Store.Tasks.Refuse(ctx, workspaceID, user.ID)
}

// RemoveMember removes a user, with the user's agents, from a workspace and returns the workspace. The owner of the
// workspace cannot be removed. The creator and the assignee of a task keep it.
func (c *Tasks) RemoveMember(
	ctx context.Context, user account.User, workspaceID, memberID int64,
) (task.Workspace, error) {
	w, err := c.removable(ctx, user, workspaceID, memberID)
	if err != nil {
		return task.Workspace{}, err
	}
	if memberID == w.OwnerID {
		return task.Workspace{}, fault.Invalid("user", "the owner of a workspace stays its member")
	}
	return w, c.Store.Tasks.RemoveMember(ctx, workspaceID, memberID)
}

// removable returns the workspace from which the user may remove a member. Each member may leave, the owner of the
// workspace and administrators remove people, and agents are removed by their owner and administrators alone.
func (c *Tasks) removable(
	ctx context.Context, user account.User, workspaceID, memberID int64,
) (task.Workspace, error) {
	agent, err := c.Store.Accounts.AgentByID(ctx, 0, memberID)
	switch {
	case fault.CodeOf(err) == fault.UserNotFound && memberID == user.ID:
		return c.Workspace(ctx, user, workspaceID)
	case fault.CodeOf(err) == fault.UserNotFound:
		return c.owned(ctx, user, workspaceID)
	case err != nil:
		return task.Workspace{}, err
	case *agent.OwnerID == user.ID:
		return c.workspaceOfAgent(ctx, user, workspaceID, agent)
	}

	w, err := c.owned(ctx, user, workspaceID)
	if err != nil || user.IsAdmin() || memberID == w.OwnerID {
		return w, err
	}

	member, err := c.Store.Tasks.IsMember(ctx, workspaceID, memberID)
	if err == nil && member {
		err = fault.New(fault.InsufficientAccess, "only its owner and administrators remove an agent: it leaves with its owner")
	}
	return w, err
}

// workspaceOfAgent returns a workspace that an agent's owner or the agent may see: an administrator may have added it
// where its owner is no member.
func (c *Tasks) workspaceOfAgent(
	ctx context.Context, owner account.User, workspaceID int64, agent account.User,
) (task.Workspace, error) {
	w, err := c.Workspace(ctx, owner, workspaceID)
	if fault.CodeOf(err) == fault.WorkspaceNotFound {
		w, err = c.Store.Tasks.WorkspaceByID(ctx, agent.ID, workspaceID)
	}
	return w, err
}

// Members returns the members, with ids above after, of a workspace that the user may see.
func (c *Tasks) Members(
	ctx context.Context, user account.User, workspaceID, after int64, limit int,
) ([]task.Member, error) {
	members, err := c.Store.Tasks.Members(ctx, user, workspaceID, after, limit)
	if err == nil && len(members) == 0 { // the end of the list, or a workspace that the user may not see
		_, err = c.Workspace(ctx, user, workspaceID)
	}
	return members, err
}

// Workspace returns a workspace to its members and administrators; for others it does not exist.
func (c *Tasks) Workspace(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	return c.Store.Tasks.WorkspaceByID(ctx, viewerOf(user), workspaceID)
}

// Workspaces returns the workspaces that the user may see, with ids above after.
func (c *Tasks) Workspaces(ctx context.Context, user account.User, after int64, limit int) ([]task.Workspace, error) {
	return c.Store.Tasks.Workspaces(ctx, viewerOf(user), after, limit)
}

func (c *Tasks) owned(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	w, err := c.Workspace(ctx, user, workspaceID)
	if err == nil && !MayChange(user, w) {
		err = onlyOwners
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

	tasks, err := c.Store.Tasks.BoardOf(ctx, viewerOf(user), workspaceID, limit+1)
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
	return c.Store.Tasks.WorkOf(ctx, user.ID, viewerOf(user), limit)
}

// TaskGraph are tasks that wait for each other.
type TaskGraph struct {
	Nodes   []task.Node
	Partial bool // there are as many as were asked for: there may be more
}

// Graph returns up to limit tasks that a task waits for or that wait for it, as far as the user may see them, and the
// task itself.
func (c *Tasks) Graph(ctx context.Context, user account.User, taskID int64, limit int) (TaskGraph, error) {
	nodes, err := c.Store.Tasks.GraphOf(ctx, viewerOf(user), taskID, limit)
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

	nodes, err := c.Store.Tasks.GraphOfWorkspace(ctx, viewerOf(user), workspaceID, limit)
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
	if stats, err = c.Store.Tasks.Stats(ctx, workspaceID, since); err != nil {
		return stats, nil, err
	}

	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -daysCounted)
	if since.After(first) {
		first = since
	}

	found, err := c.Store.Tasks.Days(ctx, workspaceID, first)
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
