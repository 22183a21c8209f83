package service

import (
	"context"
	"encoding/json"
	"fmt"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TaskSaid is what every request about a task may say.
type TaskSaid struct {
	Comment      string
	FencingToken int64  // of the claim that the caller acts by; 0: none
	Key          string // of the request; the same key returns the first answer
}

// Submit keeps the result of the caller's work on a task. Any earlier approval ends.
func (c *Tasks) Submit(
	ctx context.Context, user account.User, taskID int64, result json.RawMessage, said TaskSaid,
) (task.Task, error) {
	if err := checkResult(result); err != nil {
		return task.Task{}, err
	}
	return c.change(ctx, user, task.Change{
		TaskID: taskID, Ask: lifecycle.TaskAsk{Action: lifecycle.TaskActionSubmit}, Result: result,
	}, said)
}

// Review approves or rejects a submission of another user; action is one of the two.
func (c *Tasks) Review(
	ctx context.Context, user account.User, taskID int64, action lifecycle.TaskAction, submission int64, said TaskSaid,
) (task.Task, error) {
	return c.change(ctx, user, task.Change{
		TaskID: taskID, Ask: lifecycle.TaskAsk{Action: action, Submission: submission},
	}, said)
}

// Edit changes fields of a task that the caller has created. Of two edits at once, the later one decides about the
// fields that both change.
func (c *Tasks) Edit(
	ctx context.Context, user account.User, taskID int64, edit task.Edit, said TaskSaid,
) (task.Task, error) {
	if err := checkEdit(&edit); err != nil {
		return task.Task{}, err
	}
	return c.change(ctx, user, task.Change{
		TaskID: taskID, Ask: lifecycle.TaskAsk{Action: lifecycle.TaskActionEdit}, Edit: edit,
	}, said)
}

// Submissions returns up to limit results, with numbers below before (0: all), of a task that the user may see, the
// newest first.
func (c *Tasks) Submissions(
	ctx context.Context, user account.User, taskID, before int64, limit int,
) ([]task.Submission, error) {
	submissions, err := c.Store.Submissions(ctx, viewerOf(user), taskID, before, limit)
	if err == nil && len(submissions) == 0 { // the end of the list, or a task that the user may not see
		_, err = c.Find(ctx, user, taskID)
	}
	return submissions, err
}

// change takes an action that leaves the task's status as it is.
func (c *Tasks) change(
	ctx context.Context, user account.User, change task.Change, said TaskSaid,
) (task.Task, error) {
	change.Ask.Comment, change.Ask.FencingToken, change.Ask.Caller = said.Comment, said.FencingToken, callerOf(user)
	if err := lifecycle.CheckComment(said.Comment); err != nil {
		return task.Task{}, err
	}

	r := core.Request{UserID: user.ID, Key: said.Key, Asked: fmt.Sprintf("%s %d %s", change.Ask.Action, change.TaskID,
		fingerprint([]any{said.Comment, change.Ask.Submission, change.Result, change.Edit}))}
	return once(ctx, c.Store, r, task.TaskAnswerOf, lasts, func(string) (task.Task, error) {
		if _, err := c.Find(ctx, user, change.TaskID); err != nil {
			return task.Task{}, err
		}
		return c.Store.ChangeTask(ctx, change, r)
	})
}
