package notice

import (
	"context"
	"strconv"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// Audience knows which users may see some events. It is read once for all users, and evaluates in memory what the
// condition visible does in SQL.
type Audience struct {
	tasks   map[string]audienceTask // by entity id
	members map[membership]bool
}

// audienceTask has the fields of a task that decide who may see it.
type audienceTask struct {
	ID          int64  `db:"id"`
	CreatorID   int64  `db:"creator_id"`
	AssigneeID  *int64 `db:"assignee_id"`
	WorkspaceID int64  `db:"workspace_id"`
	Visibility  string `db:"visibility"`
}

// membership is a user's right to see public tasks of a workspace.
type membership struct {
	WorkspaceID int64 `db:"workspace_id"`
	UserID      int64 `db:"user_id"`
}

// AudienceOf reads which of the users may see the events: at most two statements, by primary keys.
func (s *Store) AudienceOf(ctx context.Context, events []core.StreamedEvent, users []int64) (Audience, error) {
	a := Audience{tasks: map[string]audienceTask{}, members: map[membership]bool{}}
	ids := taskIDs(events)
	if len(ids) == 0 || len(users) == 0 {
		return a, nil
	}

	found, err := core.List[audienceTask](ctx, s.db, `SELECT id, creator_id, assignee_id, workspace_id, visibility
		FROM tasks WHERE id = ANY ($1)`, ids)
	if err != nil {
		return a, err
	}

	var spaces []int64
	for _, one := range found {
		a.tasks[strconv.FormatInt(one.ID, 10)] = one
		if one.Visibility == task.Public {
			spaces = append(spaces, one.WorkspaceID)
		}
	}

	if len(spaces) == 0 {
		return a, nil
	}

	members, err := core.List[membership](ctx, s.db, `SELECT workspace_id, user_id FROM workspace_members
		WHERE workspace_id = ANY ($1) AND user_id = ANY ($2)`, spaces, users)
	if err != nil {
		return a, err
	}

	for _, member := range members {
		a.members[member] = true
	}
	return a, nil
}

// taskIDs returns the tasks of the events.
func taskIDs(events []core.StreamedEvent) (ids []int64) {
	for _, event := range events {
		if id, err := strconv.ParseInt(event.EntityID, 10, 64); err == nil && event.Workload == lifecycle.WorkloadTask {
			ids = append(ids, id)
		}
	}
	return ids
}

// Sees reports whether a user, one of those given to AudienceOf or an administrator, may see an event.
func (a Audience) Sees(user account.User, event core.StreamedEvent) bool {
	if user.IsAdmin() || event.OwnerID != nil && *event.OwnerID == user.ID {
		return true
	}

	one, found := a.tasks[event.EntityID]
	if event.Workload != lifecycle.WorkloadTask || !found {
		return false
	}
	return one.CreatorID == user.ID || one.AssigneeID != nil && *one.AssigneeID == user.ID ||
		one.Visibility == task.Public && a.members[membership{one.WorkspaceID, user.ID}]
}
