package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Tasks creates tasks and acts on them for the API and the bot.
type Tasks struct {
	Temporal client.Client
	Store    *store.Store
	Log      *slog.Logger
	// Patience is how long an action waits for its outcome before it fails with TEMPORAL_UNAVAILABLE.
	Patience time.Duration
	// LeastDeadline and LeastRelease are the lower bounds of a workspace's settings; 0 switches a deadline off and is
	// always allowed.
	LeastDeadline, LeastRelease time.Duration
	// OnCreated, when set, gets the number of tasks that a request has created.
	OnCreated func(n int)
	// Line has the callers of this process who wait for the next task; nil: nobody waits.
	Line *waiting.Line

	asked   allowance.Rates[int64] // people to join workspaces, by the user who asks
	limiter waiting.Limiter
	tried   waiting.Tries
}

// askAgain is how long one attempt to reach a workflow may take; the next attempt asks for the outcome of the same
// update.
const askAgain = 10 * time.Second

// Find returns a task that the user may see; other tasks do not exist for the user.
func (c *Tasks) Find(ctx context.Context, user account.User, taskID int64) (task.Task, error) {
	return c.Store.Tasks.ByID(ctx, viewerOf(user), taskID)
}

// ByRight reports whether the user reaches a task by an administrator's right alone: such access is audited.
func (c *Tasks) ByRight(ctx context.Context, user account.User, taskID int64) (bool, error) {
	if !user.IsAdmin() {
		return false, nil
	}
	_, err := c.Store.Tasks.ByID(ctx, user.ID, taskID)
	if fault.CodeOf(err) == fault.TaskNotFound {
		return true, nil
	}
	return false, err
}

// List returns the tasks that the user may see, the newest first.
func (c *Tasks) List(ctx context.Context, user account.User, f task.Filter) ([]task.Task, error) {
	f.Viewer = viewerOf(user)
	return c.Store.Tasks.List(ctx, f)
}

// Start starts a task's workflow. A workflow that was started before is left alone.
func (c *Tasks) Start(ctx context.Context, task task.Task) error {
	return c.start(
		ctx, task, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	)
}

// Restart starts a task's workflow anew from the record, whatever the state of the workflow before: the record was set
// back.
func (c *Tasks) Restart(ctx context.Context, task task.Task) error {
	return c.start(
		ctx, task, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	)
}

func (c *Tasks) start(
	ctx context.Context, task task.Task, closed enumspb.WorkflowIdReusePolicy, running enumspb.WorkflowIdConflictPolicy,
) error {
	_, err := start(ctx, c.Temporal, client.StartWorkflowOptions{
		ID:                       task.WorkflowID(),
		WorkflowIDReusePolicy:    closed,
		WorkflowIDConflictPolicy: running,
		StaticSummary:            lifecycle.TaskTitle(task.ID, strconv.FormatInt(task.WorkspaceID, 10)),
		TypedSearchAttributes:    taskAttributes(task),
	}, lifecycle.TaskType, task.ID, knownTask(task))
	if err != nil {
		return err
	}

	return c.Store.Tasks.MarkStarted(ctx, task.ID)
}

// knownTask is what a task's workflow is told when it starts, so that it does not read the record first. nil for a task
// that waits for its blockers: they may end before there is a workflow to notify.
func knownTask(t task.Task) *task.Snapshot {
	if t.ClockWaits {
		return nil
	}
	return &t.Snapshot
}

// End cancels a task whose workflow is gone.
func (c *Tasks) End(ctx context.Context, taskID int64, reason fault.Code) error {
	_, err := c.Store.Tasks.Act(ctx, task.Act{
		TaskID: taskID, Action: lifecycle.TaskActionCancel, Input: lifecycle.TaskInput{Comment: string(reason)}, At: time.Now(),
	})
	return err
}

// Refresh makes a task's workflow read the record again.
func (c *Tasks) Refresh(ctx context.Context, workflowID string) error {
	return c.Temporal.SignalWorkflow(ctx, workflowID, "", lifecycle.TaskRefreshSignal, nil)
}

// taskAct is an action that a user asks for.
type taskAct struct {
	action  lifecycle.TaskAction
	in      lifecycle.TaskInput
	content *task.Content // nil: the action has none
}

// Act asks a task's workflow for an action by the user and returns the task as it was right after it. The same key
// returns the first answer, whatever has happened since: the record keeps the answer together with what was done. The
// key may be empty.
func (c *Tasks) Act(
	ctx context.Context, user account.User, taskID int64, action lifecycle.TaskAction, in lifecycle.TaskInput, key string,
) (task.Task, error) {
	return c.act(ctx, user, taskID, taskAct{action: action, in: in}, key)
}

func (c *Tasks) act(ctx context.Context, user account.User, taskID int64, a taskAct, key string) (task.Task, error) {
	a.in.Actor = user.ID
	if a.content != nil {
		a.in.Content = fingerprint(a.content)
	}
	if err := lifecycle.CheckTaskInput(a.action, a.in); err != nil {
		return task.Task{}, err
	}

	r := task.TaskRequest(key, a.action, taskID, a.in)
	var answer task.Answer
	answered, row, err := c.Store.Tasks.Answered(ctx, r, &answer, viewerOf(user), taskID)
	switch {
	case err != nil:
		return task.Task{}, err
	case answered:
		return answer.Outcome()
	}

	return settle(ctx, c.Store, r, task.TaskAnswerOf, lasts, func(id string) (task.Task, bool, error) {
		done, err := c.decide(ctx, user, taskID, row, a, id)
		return done, err == nil, err
	})
}

// unkept are the refusals that may not apply to a repeated request.
var unkept = []fault.Code{fault.Internal, fault.TaskNotFound, fault.Validation, fault.WorkflowPaused}

// lasts says whether a refusal is the answer to a repeated request, too.
func lasts(refusal *fault.Error) bool {
	return !refusal.Retryable && !slices.Contains(unkept, refusal.Code)
}

// decide asks for an action under an id, and returns the answer that the record has kept with what was done. Few actions
// are in flight for one task at a time, and the others wait. A lost claim is answered from the record, at once. found is
// the task as it was read just now; nil: it was not.
func (c *Tasks) decide(
	ctx context.Context, user account.User, taskID int64, found *task.Task, a taskAct, id string,
) (row task.Task, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()

	if row, err = c.findFor(ctx, user, taskID, found, a.action); err != nil {
		return row, err
	}

	leave, waited, err := c.limiter.Enter(ctx, taskID)
	if err != nil {
		return row, temporalio.Unreachable(err)
	}
	defer leave()

	if waited {
		if row, err = c.findFor(ctx, user, taskID, nil, a.action); err != nil {
			return row, err
		}
	}
	if a.content != nil {
		if err := c.Store.Answers.KeepContent(ctx, user.ID, id, a.content); err != nil {
			return row, err
		}
	}

	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := c.update(ctx, row, a, id)
		switch {
		case err == nil:
			done, answered, err := c.outcome(ctx, taskID, a, id)
			if err == nil && !answered {
				err = errNoAnswer
			}
			return done, err
		case temporalio.IsNotFound(err):
			done, answered, failed := c.withoutWorkflow(ctx, user, row, a, id)
			if answered || failed != nil {
				return done, failed
			}
			row = done
		case temporalio.RefusalIn(err) != nil:
			return row, temporalio.RefusalIn(err)
		case temporalio.Invalid(err), temporalio.Paused(err):
			return row, temporalio.Unreachable(err)
		}

		select {
		case <-ctx.Done():
			return row, temporalio.Unreachable(err)
		case <-time.After(pause): // then ask again: the same update is not done twice
		}
	}
}

// errNoAnswer is a programming error: an act was done and its answer was not kept.
var errNoAnswer = errors.New("an action on a task has left no answer")

// outcome reads the answer to an action that was asked for under an id. It waits while the record is away, because the
// action is done.
func (c *Tasks) outcome(ctx context.Context, taskID int64, a taskAct, id string) (done task.Task, answered bool, err error) {
	r := core.RequestIn(id, a.in.Actor, task.TaskRequest("", a.action, taskID, a.in).Asked)
	var answer task.Answer
	err = core.RetryWhileUnavailable(ctx, func() (err error) {
		answered, err = c.Store.Answers.Answered(ctx, r, &answer)
		return err
	})
	if err != nil || !answered {
		return done, false, err
	}

	done, err = answer.Outcome()
	return done, true, err
}

// findFor returns the task of an action, unless the action is a claim that is lost already. found is the task if it was
// read just now.
func (c *Tasks) findFor(
	ctx context.Context, user account.User, taskID int64, found *task.Task, action lifecycle.TaskAction,
) (task task.Task, err error) {
	if found != nil {
		task = *found
	} else if task, err = c.Find(ctx, user, taskID); err != nil {
		return task, err
	}
	if action == lifecycle.TaskActionClaim {
		err = task.Snapshot.Facts(nil).LostClaim(user.ID)
	}
	return task, err
}

// update sends the update once and waits for its outcome, for askAgain at most.
func (c *Tasks) update(ctx context.Context, task task.Task, a taskAct, id string) error {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()

	handle, err := c.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: task.WorkflowID(), UpdateID: id, UpdateName: string(a.action), Args: []any{a.in},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, nil)
}

// withoutWorkflow handles an action on a task whose workflow does not run. The action may have been the last one: then
// the record has the answer. When the task has ended, the table has the refusal. When the workflow was never started, it
// is started now and the action may be repeated, as when somebody else has started it since the task was read.
func (c *Tasks) withoutWorkflow(
	ctx context.Context, user account.User, before task.Task, a taskAct, id string,
) (row task.Task, answered bool, err error) {
	if row, answered, err = c.outcome(ctx, before.ID, a, id); answered || err != nil {
		return row, answered, err
	}
	if row, err = c.Find(ctx, user, before.ID); err != nil {
		return row, false, err
	}

	switch {
	case lifecycle.Task.Terminal(row.State):
		_, _, err = lifecycle.DecideTask(row.Facts(), lifecycle.TaskAskOf(a.action, a.in, callerOf(user)))
	case row.WorkflowStartedAt == nil:
		err = c.Start(ctx, row)
	case before.WorkflowStartedAt != nil:
		err = errNoWorkflow
	}
	return row, false, err
}

var errNoWorkflow error = fault.New(
	fault.TemporalUnavailable, "the task's workflow was ended by hand: this is settled within a minute",
).Retry()

func viewerOf(user account.User) int64 {
	if user.IsAdmin() {
		return 0
	}
	return user.ID
}

// taskAttributes are the search attributes that a task's workflow starts with.
func taskAttributes(task task.Task) temporal.SearchAttributes {
	updates := []temporal.SearchAttributeUpdate{
		temporalio.EntityAttribute.ValueSet(strconv.FormatInt(task.ID, 10)),
		temporalio.StageAttribute.ValueSet(string(task.State)),
		temporalio.OwnerAttribute.ValueSet(strconv.FormatInt(task.CreatorID, 10)),
		temporalio.WorkspaceAttribute.ValueSet(strconv.FormatInt(task.WorkspaceID, 10)),
	}

	if task.AssigneeID != nil {
		updates = append(updates, temporalio.AssigneeAttribute.ValueSet(strconv.FormatInt(*task.AssigneeID, 10)))
	}

	if task.DeadlineAt != nil {
		updates = append(updates, temporalio.DeadlineAttribute.ValueSet(*task.DeadlineAt))
	}
	return temporal.NewSearchAttributes(updates...)
}
