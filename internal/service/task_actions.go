package service

import (
	"context"
	"encoding/json"
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
	renewed, err := c.Store.Tasks.RenewLease(ctx, taskID, user.ID, token)
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

	return c.Store.Tasks.Comment(
		ctx, taskID, comment, core.Request{UserID: user.ID, Key: key, Asked: fmt.Sprintf("comment %d %s", taskID, comment)},
	)
}

// Events returns up to limit events, with numbers above after, of a task that the user may see.
func (c *Tasks) Events(
	ctx context.Context, user account.User, taskID, after int64, limit int,
) ([]core.StreamedEvent, error) {
	events, err := c.Store.Tasks.EventsOf(ctx, viewerOf(user), taskID, after, limit)
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

// TaskWaitsFor is what a task waits for; empty: nothing.
func TaskWaitsFor(t task.Task) string {
	return lifecycle.TaskWaitsFor(t.State, t.AssigneeID != nil, len(t.OpenBlockers()) > 0)
}

// TaskOptions lists the actions on a task, each with what a caller who sees the task would get for it now.
func TaskOptions(user account.User, task task.Task) []lifecycle.TaskOption {
	return task.Facts().Options(callerOf(user))
}

// TaskSaid is what every request about a task may say.
type TaskSaid struct {
	Comment      string
	FencingToken int64  // of the claim that the caller acts by; 0: none
	Key          string // of the request; the same key returns the first answer
}

func (s TaskSaid) input() lifecycle.TaskInput {
	return lifecycle.TaskInput{Comment: s.Comment, FencingToken: s.FencingToken}
}

// Submit keeps the result of the caller's work on a task. Any earlier approval ends.
func (c *Tasks) Submit(
	ctx context.Context, user account.User, taskID int64, result json.RawMessage, said TaskSaid,
) (task.Task, error) {
	if err := checkResult(result); err != nil {
		return task.Task{}, err
	}
	content := &task.Content{Result: result}
	return c.act(ctx, user, taskID, taskAct{lifecycle.TaskActionSubmit, said.input(), content}, said.Key)
}

// Review approves or rejects a submission of another user; action is one of the two.
func (c *Tasks) Review(
	ctx context.Context, user account.User, taskID int64, action lifecycle.TaskAction, submission int64, said TaskSaid,
) (task.Task, error) {
	in := said.input()
	in.Submission = submission
	return c.act(ctx, user, taskID, taskAct{action: action, in: in}, said.Key)
}

// Edit changes fields of a task that the caller has created. Of two edits at once, the later one decides about the
// fields that both change.
func (c *Tasks) Edit(
	ctx context.Context, user account.User, taskID int64, edit task.Edit, said TaskSaid,
) (task.Task, error) {
	if err := checkEdit(&edit); err != nil {
		return task.Task{}, err
	}
	content := &task.Content{Edit: edit}
	return c.act(ctx, user, taskID, taskAct{lifecycle.TaskActionEdit, said.input(), content}, said.Key)
}

// Submissions returns up to limit results, with numbers below before (0: all), of a task that the user may see, the
// newest first.
func (c *Tasks) Submissions(
	ctx context.Context, user account.User, taskID, before int64, limit int,
) ([]task.Submission, error) {
	submissions, err := c.Store.Tasks.Submissions(ctx, viewerOf(user), taskID, before, limit)
	if err == nil && len(submissions) == 0 { // the end of the list, or a task that the user may not see
		_, err = c.Find(ctx, user, taskID)
	}
	return submissions, err
}

// Try says what an action on a task would do.
func (c *Tasks) Try(ctx context.Context, user account.User, taskID int64, ask lifecycle.TaskAsk) (Trial, error) {
	if err := lifecycle.CheckComment(ask.Comment); err != nil {
		return Trial{}, err
	}

	found, err := c.Find(ctx, user, taskID)
	if err != nil {
		return Trial{}, err
	}

	ask.Caller = callerOf(user)
	step, held, err := lifecycle.DecideTask(found.Facts(), ask)
	trial, err := trialOf(step.To, found.Version, err)
	trial.ChangesNothing = held
	return trial, err
}

// TrySubmit says what the submission of a result would do.
func (c *Tasks) TrySubmit(
	ctx context.Context, user account.User, taskID int64, result []byte, ask lifecycle.TaskAsk,
) (Trial, error) {
	if err := checkResult(result); err != nil {
		return Trial{}, err
	}
	return c.Try(ctx, user, taskID, ask)
}

// TryEdit says what an edit of a task would do.
func (c *Tasks) TryEdit(
	ctx context.Context, user account.User, taskID int64, edit task.Edit, ask lifecycle.TaskAsk,
) (Trial, error) {
	if err := checkEdit(&edit); err != nil {
		return Trial{}, err
	}
	return c.Try(ctx, user, taskID, ask)
}

// TryCreate says what the creation of a graph of tasks would do.
func (c *Tasks) TryCreate(
	ctx context.Context, user account.User, workspaceID int64, graph []task.NewTask,
) (Trial, error) {
	graph, err := c.checkGraph(ctx, user, workspaceID, graph)
	if err != nil {
		return Trial{}, err
	}

	err = c.Store.Tasks.CheckGraph(ctx, workspaceID, graph, core.Request{UserID: user.ID})
	switch fault.CodeOf(err) {
	case fault.StoreUnavailable, fault.Validation: // no answer about the graph
		return Trial{}, err
	default:
		return trialOf(lifecycle.TaskNew, 0, err)
	}
}
