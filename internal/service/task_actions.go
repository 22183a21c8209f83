package service

import (
	"context"
	"fmt"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// Claim takes a free task for the user. The key may be empty; the same key returns the first answer, here and below.
func (c *Tasks) Claim(ctx context.Context, user account.User, taskID int64, comment, key string) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionClaim, lifecycle.TaskInput{Comment: comment}, key)
}

// Escalate blocks a task that another user works on.
func (c *Tasks) Escalate(ctx context.Context, user account.User, taskID int64, comment, key string) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionEscalate, lifecycle.TaskInput{Comment: comment}, key)
}

// Takeover takes a task that is STUCK, whether it has an assignee or not.
func (c *Tasks) Takeover(ctx context.Context, user account.User, taskID int64, comment, key string) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionTakeover, lifecycle.TaskInput{Comment: comment}, key)
}

// Status gives the task another status.
func (c *Tasks) Status(
	ctx context.Context, user account.User, taskID int64, to lifecycle.TaskState, comment, key string,
) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionStatus, lifecycle.TaskInput{Comment: comment, To: to}, key)
}

// Heartbeat lets the user hold a task for another lease, counted from now. token names the claim; 0: the one that there
// is. LEASE_LOST: the user does not hold the task by a lease.
func (c *Tasks) Heartbeat(ctx context.Context, user account.User, taskID, token int64) (task.Task, error) {
	renewed, err := c.Store.RenewLease(ctx, taskID, user.ID, token)
	if fault.CodeOf(err) == fault.LeaseLost {
		if _, hidden := c.Find(ctx, user, taskID); hidden != nil {
			return renewed, hidden
		}
	}
	return renewed, err
}

// Comment adds a comment to a task that the user may see, in any status.
func (c *Tasks) Comment(
	ctx context.Context, user account.User, taskID int64, comment, key string,
) (core.StreamedEvent, error) {
	if _, err := c.Find(ctx, user, taskID); err != nil {
		return core.StreamedEvent{}, err
	}
	if strings.TrimSpace(comment) == "" {
		return core.StreamedEvent{}, fault.New(fault.CommentRequired, "a comment says something").WithField("comment")
	}
	if err := lifecycle.CheckComment(comment); err != nil {
		return core.StreamedEvent{}, err
	}

	return c.Store.CommentTask(
		ctx, taskID, comment, core.Request{UserID: user.ID, Key: key, Asked: fmt.Sprintf("comment %d %s", taskID, comment)},
	)
}

// Events returns up to limit events, with numbers above after, of a task that the user may see.
func (c *Tasks) Events(
	ctx context.Context, user account.User, taskID, after int64, limit int,
) ([]core.StreamedEvent, error) {
	events, err := c.Store.EventsOfTask(ctx, viewerOf(user), taskID, after, limit)
	if err == nil && len(events) == 0 { // the end of the list, or a task that the user may not see
		_, err = c.Find(ctx, user, taskID)
	}
	return events, err
}

// callerOf returns the user as a caller to whom the record has shown the task.
func callerOf(user account.User) lifecycle.TaskCaller {
	return lifecycle.TaskCaller{ID: user.ID, Member: true, Admin: user.IsAdmin()}
}

// TaskActions lists what a caller who sees the task may do with it now.
func TaskActions(user account.User, task task.Task) []lifecycle.TaskAction {
	return task.Facts().AllowedActions(callerOf(user))
}

// TaskTargets lists the states that a caller who sees the task may give it now.
func TaskTargets(user account.User, task task.Task) []lifecycle.TaskState {
	return task.Facts().AllowedTargets(callerOf(user))
}

// TaskOptions lists the actions on a task, each with what a caller who sees the task would get for it now.
func TaskOptions(user account.User, task task.Task) []lifecycle.TaskOption {
	return task.Facts().Options(callerOf(user))
}
