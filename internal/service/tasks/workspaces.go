package tasks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// WorkspaceChange is a change of a workspace; nil fields and unnamed deadlines stay.
type WorkspaceChange struct {
	Name                        *string
	StatusDeadlines             map[lifecycle.TaskState]float64 // minutes
	StuckReleaseAfter           *float64                        // minutes
	NewDeadlineWaitsForBlockers *bool
	ReviewRequired              *bool `json:",omitempty"` // keeps the fingerprint of older requests
}

// CreateWorkspace creates a workspace owned by the user, with default deadlines where the change names none.
func (c *Service) CreateWorkspace(
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

// ChangeWorkspace changes a workspace; its owner and administrators may. Running deadlines keep their times. Tasks with
// a result are notified whether they need a review.
func (c *Service) ChangeWorkspace(
	ctx context.Context, user account.User, workspaceID int64, change WorkspaceChange, key string,
) (task.Workspace, error) {
	if _, err := c.owned(ctx, user, workspaceID); err != nil {
		return task.Workspace{}, err
	}
	r := core.Request{UserID: user.ID, Key: key, Asked: fmt.Sprintf("workspace %d %s", workspaceID, fingerprint(change))}
	changed, err := c.Store.Tasks.ChangeWorkspace(
		ctx, workspaceID, r, func(w *task.Workspace) error { return c.apply(change, w) },
	)
	if err == nil && change.ReviewRequired != nil {
		c.refreshSubmitted(ctx, workspaceID)
	}
	return changed, err
}

// refreshSubmitted updates whether the workflows of tasks with a result show that it waits for review. Their decisions
// do not depend on it: they query the record each time.
func (c *Service) refreshSubmitted(ctx context.Context, workspaceID int64) {
	err := service.EachLive(func(before int64, limit int) ([]task.Task, error) {
		return c.Store.Tasks.List(ctx, task.Filter{
			WorkspaceID: workspaceID, Status: lifecycle.TaskInProgress, Before: before, Limit: limit,
		})
	}, func(t task.Task) (int64, error) {
		if t.Submission == nil || t.Approved || t.Rejected {
			return t.ID, nil
		}
		return t.ID, temporalio.SignalRunning(ctx, c.Temporal, t.WorkflowID(), lifecycle.TaskRefreshSignal, nil)
	})
	if err != nil {
		c.Log.Warn("tasks still show the previous review setting", "workspace", workspaceID, "error", err)
	}
}

// asked limits how many people a user may invite to workspaces: 50 a day. Unknown ids count too, so that the refusal
// does not reveal them.
var asked = allowance.Rate{PerSecond: 50. / (24 * 60 * 60), Burst: 50}

var onlyOwners = fault.New(fault.InsufficientAccess, "only the owner of the workspace and administrators can change it")

// AddMember adds an agent to a workspace, or invites a person, and returns the workspace. Agents are added by their
// owner, who must be a member, and by administrators, who may add themselves too. People are invited by the workspace's
// owner and by administrators; an id that cannot be invited changes nothing and is not revealed to the caller.
func (c *Service) AddMember(ctx context.Context, user account.User, workspaceID, memberID int64) (task.Workspace, error) {
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

// invite invites a person who is not a member.
func (c *Service) invite(ctx context.Context, user account.User, workspaceID, personID int64) error {
	member, err := c.Store.Tasks.IsMember(ctx, workspaceID, personID)
	if err != nil || member {
		return err
	}

	if !user.IsAdmin() {
		if wait := c.asked.Take(user.ID, asked); wait > 0 {
			return fault.New(fault.RateLimited, "at most %d people can be invited a day", asked.Burst).
				With("limit", allowance.LimitInvitations).After(wait)
		}
	}

	return c.Store.Tasks.Invite(ctx, user.ID, workspaceID, personID)
}

// Invitations returns the user's invitations to workspaces, with ids below before, newest first.
func (c *Service) Invitations(
	ctx context.Context, user account.User, before int64, limit int,
) ([]task.Invitation, error) {
	return c.Store.Tasks.Invitations(ctx, user.ID, before, limit)
}

// Agree makes an invited user a member of the workspace and returns it. Returns not found without an open invitation.
func (c *Service) Agree(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	if err := c.Store.Tasks.Agree(ctx, workspaceID, user.ID); err != nil {
		return task.Workspace{}, err
	}
	return c.Workspace(ctx, user, workspaceID)
}

// Refuse declines an invitation for good: the user is not invited again.
func (c *Service) Refuse(ctx context.Context, user account.User, workspaceID int64) error {
	return c.Store.Tasks.Refuse(ctx, workspaceID, user.ID)
}

// RemoveMember removes a user and the user's agents from a workspace and returns the workspace. A workspace's owner
// cannot be removed. Creators and assignees keep their tasks.
func (c *Service) RemoveMember(
	ctx context.Context, user account.User, workspaceID, memberID int64,
) (task.Workspace, error) {
	w, err := c.removable(ctx, user, workspaceID, memberID)
	if err != nil {
		return task.Workspace{}, err
	}
	if memberID == w.OwnerID {
		return task.Workspace{}, fault.Invalid("user", "the owner of a workspace cannot leave it")
	}
	return w, c.Store.Tasks.RemoveMember(ctx, workspaceID, memberID)
}

// removable returns the workspace if the user may remove the member: members may leave, a workspace's owner and
// administrators may remove people, and only their owner and administrators may remove agents.
func (c *Service) removable(
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
		err = fault.New(fault.InsufficientAccess, "only its owner and administrators can remove an agent, which leaves with its owner")
	}
	return w, err
}

// workspaceOfAgent returns a workspace visible to an agent or its owner: an administrator may have added the agent
// where its owner is no member.
func (c *Service) workspaceOfAgent(
	ctx context.Context, owner account.User, workspaceID int64, agent account.User,
) (task.Workspace, error) {
	w, err := c.Workspace(ctx, owner, workspaceID)
	if fault.CodeOf(err) == fault.WorkspaceNotFound {
		w, err = c.Store.Tasks.WorkspaceByID(ctx, agent.ID, workspaceID)
	}
	return w, err
}

// Members returns the members of a workspace visible to the user, with ids above after.
func (c *Service) Members(
	ctx context.Context, user account.User, workspaceID, after int64, limit int,
) ([]task.Member, error) {
	members, err := c.Store.Tasks.Members(ctx, user, workspaceID, after, limit)
	if err == nil && len(members) == 0 { // the end of the list, or a workspace hidden from the user
		_, err = c.Workspace(ctx, user, workspaceID)
	}
	return members, err
}

// Workspace returns a workspace to its members and administrators; others get not found.
func (c *Service) Workspace(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
	return c.Store.Tasks.WorkspaceByID(ctx, viewerOf(user), workspaceID)
}

// Workspaces returns the workspaces visible to the user, with ids above after.
func (c *Service) Workspaces(ctx context.Context, user account.User, after int64, limit int) ([]task.Workspace, error) {
	return c.Store.Tasks.Workspaces(ctx, viewerOf(user), after, limit)
}

func (c *Service) owned(ctx context.Context, user account.User, workspaceID int64) (task.Workspace, error) {
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

// apply changes a workspace, or returns the invalid setting.
func (c *Service) apply(ch WorkspaceChange, w *task.Workspace) error {
	if ch.Name != nil {
		w.Name = lifecycle.Plain(*ch.Name)
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

// possible reports whether a number of minutes is 0 or within bounds; false for NaN.
func possible(minutes float64, least time.Duration) bool {
	const rounding = 1e-6 // a second is not exactly representable in minutes
	return minutes == 0 || minutes > 0 && minutes >= least.Minutes()-rounding && minutes <= task.MaxTaskMinutes
}

// Column are the newest tasks in one status.
type Column struct {
	State lifecycle.TaskState
	Tasks []task.Task
	More  bool // older ones exist
	Count int  // in total, up to MostCounted
}

// MostCounted is the highest count of a column's tasks.
const MostCounted = 1000

// Board returns the newest tasks of a workspace visible to the user, up to limit per status: a column per status, in
// lifecycle order. Claimable tasks come first.
func (c *Service) Board(ctx context.Context, user account.User, workspaceID int64, limit int) ([]Column, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return nil, err
	}

	tasks, err := c.Store.Tasks.BoardOf(ctx, viewerOf(user), workspaceID, limit+1)
	if err != nil {
		return nil, err
	}

	counts, err := c.Store.Tasks.CountsOf(ctx, viewerOf(user), workspaceID, MostCounted)
	if err != nil {
		return nil, err
	}

	slices.SortStableFunc(tasks, func(a, b task.Task) int {
		switch {
		case a.Ready() == b.Ready():
			return 0
		case a.Ready():
			return -1
		default:
			return 1
		}
	})

	byState := map[lifecycle.TaskState][]task.Task{}
	for _, t := range tasks {
		byState[t.State] = append(byState[t.State], t)
	}

	columns := make([]Column, len(lifecycle.TaskStates))
	for i, state := range lifecycle.TaskStates {
		shown := byState[state]
		columns[i] = Column{State: state, Tasks: shown[:min(limit, len(shown))], More: len(shown) > limit, Count: counts[state]}
	}
	return columns, nil
}

// Mine returns up to limit tasks assigned to the user, and up to limit that the user can claim.
func (c *Service) Mine(ctx context.Context, user account.User, limit int) (task.Work, error) {
	return c.Store.Tasks.WorkOf(ctx, user.ID, viewerOf(user), limit)
}

// Graph is a graph of tasks that wait for each other.
type Graph struct {
	Nodes   []task.Node
	Partial bool // the limit was reached: there may be more
}

// Graph returns a task and up to limit tasks visible to the user that it waits for or that wait for it.
func (c *Service) Graph(ctx context.Context, user account.User, taskID int64, limit int) (Graph, error) {
	nodes, err := c.Store.Tasks.GraphOf(ctx, viewerOf(user), taskID, limit)
	return Graph{nodes, len(nodes) == limit}, err
}

// GraphOfWorkspace returns the newest tasks of a workspace, up to limit, that have or are blockers and are visible to
// the user.
func (c *Service) GraphOfWorkspace(
	ctx context.Context, user account.User, workspaceID int64, limit int,
) (Graph, error) {
	if _, err := c.Workspace(ctx, user, workspaceID); err != nil {
		return Graph{}, err
	}

	nodes, err := c.Store.Tasks.GraphOfWorkspace(ctx, viewerOf(user), workspaceID, limit)
	return Graph{nodes, len(nodes) == limit}, err
}

// daysCounted is the maximum number of days before today with daily figures.
const daysCounted = 30

// Stats returns statistics of a workspace visible to the user: since a moment, and for each of the last 31 days.
func (c *Service) Stats(
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

// everyDay adds the days without events, from the day of a moment to today, in UTC.
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
