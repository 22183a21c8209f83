package tasks

import (
	"context"
	"encoding/json"
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// Claim claims a free task for the user. The key may be empty; the same key returns the first answer, here and below.
func (c *Service) Claim(ctx context.Context, user account.User, taskID int64, comment, key string) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionClaim, lifecycle.TaskInput{Comment: comment}, key)
}

// Escalate blocks a task that another user works on.
func (c *Service) Escalate(ctx context.Context, user account.User, taskID int64, comment, key string) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionEscalate, lifecycle.TaskInput{Comment: comment}, key)
}

// Takeover takes over a STUCK task, assigned or not.
func (c *Service) Takeover(ctx context.Context, user account.User, taskID int64, comment, key string) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionTakeover, lifecycle.TaskInput{Comment: comment}, key)
}

// Status changes the task's status.
func (c *Service) Status(
	ctx context.Context, user account.User, taskID int64, to lifecycle.TaskState, comment, key string,
) (task.Task, error) {
	return c.Act(ctx, user, taskID, lifecycle.TaskActionStatus, lifecycle.TaskInput{Comment: comment, To: to}, key)
}

// Heartbeat renews the user's lease from now. token names the claim; 0: the current one. LEASE_LOST: the user no longer
// holds the task. NO_LEASE: the user holds it without a lease.
func (c *Service) Heartbeat(ctx context.Context, user account.User, taskID, token int64) (task.Task, error) {
	renewed, err := c.Store.Tasks.RenewLease(ctx, taskID, user.ID, token)
	if fault.CodeOf(err) != fault.LeaseLost {
		return renewed, err
	}

	switch found, hidden := c.Find(ctx, user, taskID); {
	case hidden != nil:
		return renewed, hidden
	case found.HeldBy(user.ID) && found.LeaseExpiresAt == nil && (token == 0 || token == found.FencingToken):
		return renewed, fault.New(fault.NoLease, "you hold this task without a lease: it needs no heartbeats")
	default:
		return renewed, err
	}
}

// Comment adds a comment to a task visible to the user, in any status.
func (c *Service) Comment(
	ctx context.Context, user account.User, taskID int64, comment, key string,
) (core.StreamedEvent, error) {
	if _, err := c.Find(ctx, user, taskID); err != nil {
		return core.StreamedEvent{}, err
	}
	if lifecycle.Plain(comment) == "" {
		return core.StreamedEvent{}, fault.New(fault.CommentRequired, "a comment must not be empty").WithField("comment")
	}
	if err := lifecycle.CheckComment(comment); err != nil {
		return core.StreamedEvent{}, err
	}

	return c.Store.Tasks.Comment(
		ctx, taskID, comment, core.Request{UserID: user.ID, Key: key, Asked: fmt.Sprintf("comment %d %s", taskID, comment)},
	)
}

// Events returns up to limit events of a task visible to the user: those with numbers above place or, with newest,
// those below it, newest first.
func (c *Service) Events(
	ctx context.Context, user account.User, taskID, place int64, newest bool, limit int,
) ([]core.StreamedEvent, error) {
	list := c.Store.Tasks.EventsOf
	if newest {
		list = c.Store.Tasks.LastEventsOf
	}
	events, err := list(ctx, viewerOf(user), taskID, place, limit)
	if err == nil && len(events) == 0 { // the end of the list, or a task hidden from the user
		_, err = c.Find(ctx, user, taskID)
	}
	return events, err
}

// callerOf returns the user as a caller to whom the record has shown the task.
func callerOf(user account.User) lifecycle.TaskCaller {
	return lifecycle.TaskCaller{ID: user.ID, Member: true, Admin: user.IsAdmin()}
}

// Actions lists the actions currently available to a caller that can see the task.
func Actions(user account.User, task task.Task) []lifecycle.TaskAction {
	return task.Facts().AllowedActions(callerOf(user))
}

// Targets lists the states to which a caller that can see the task may currently move it.
func Targets(user account.User, task task.Task) []lifecycle.TaskState {
	return task.Facts().AllowedTargets(callerOf(user))
}

// Options lists the actions on a task, each with the result that a caller who can see it would currently get.
func Options(user account.User, task task.Task) []lifecycle.TaskOption {
	return task.Facts().Options(callerOf(user))
}

// Said holds the fields common to all requests about a task.
type Said struct {
	Comment      string
	FencingToken int64  // of the claim under which the caller acts; 0: none
	Key          string // of the request; the same key returns the first answer
}

func (s Said) input() lifecycle.TaskInput {
	return lifecycle.TaskInput{Comment: s.Comment, FencingToken: s.FencingToken}
}

// Submit stores the result of the caller's work on a task. It voids an earlier approval.
func (c *Service) Submit(
	ctx context.Context, user account.User, taskID int64, result json.RawMessage, said Said,
) (task.Task, error) {
	if err := checkResult(result); err != nil {
		return task.Task{}, err
	}
	content := &task.Content{Result: result}
	return c.act(ctx, user, taskID, taskAct{lifecycle.TaskActionSubmit, said.input(), content}, said.Key)
}

// Review approves or rejects another user's submission; action is one of the two.
func (c *Service) Review(
	ctx context.Context, user account.User, taskID int64, action lifecycle.TaskAction, submission int64, said Said,
) (task.Task, error) {
	in := said.input()
	in.Submission = submission
	return c.act(ctx, user, taskID, taskAct{action: action, in: in}, said.Key)
}

// Edit changes fields of a task that the caller created. Of two concurrent edits, the later one wins on fields that
// both change.
func (c *Service) Edit(
	ctx context.Context, user account.User, taskID int64, edit task.Edit, said Said,
) (task.Task, error) {
	if err := checkEdit(&edit); err != nil {
		return task.Task{}, err
	}
	content := &task.Content{Edit: edit}
	return c.act(ctx, user, taskID, taskAct{lifecycle.TaskActionEdit, said.input(), content}, said.Key)
}

// Submissions returns up to limit results of a task visible to the user, newest first, with numbers below before (0:
// all).
func (c *Service) Submissions(
	ctx context.Context, user account.User, taskID, before int64, limit int,
) ([]task.Submission, error) {
	submissions, err := c.Store.Tasks.Submissions(ctx, viewerOf(user), taskID, before, limit)
	if err == nil && len(submissions) == 0 { // the end of the list, or a task hidden from the user
		_, err = c.Find(ctx, user, taskID)
	}
	return submissions, err
}
