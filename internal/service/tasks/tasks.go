// Package tasks creates tasks and workspaces, finds them, and acts on them through their workflows.
package tasks

import (
	"context"
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
	"stagecoach/internal/service"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// Service creates, finds and changes tasks and workspaces for the API and the bot.
type Service struct {
	Temporal client.Client
	Store    *store.Store
	Log      *slog.Logger
	// Patience is how long an action waits for its outcome before it fails with TEMPORAL_UNAVAILABLE.
	Patience time.Duration
	// LeastDeadline and LeastRelease are the minimums for a workspace's settings; 0, always allowed, disables a deadline.
	LeastDeadline, LeastRelease time.Duration
	// OnCreated, when set, receives the number of tasks that a request created.
	OnCreated func(n int)
	// Line holds this process's callers that wait for the next task; nil: no caller waits.
	Line *waiting.Line
	// Searches limits concurrent text searches; nil: no limit.
	Searches *allowance.Room

	asked   allowance.Rates[int64] // invitations to workspaces, by inviting user
	limiter waiting.Limiter
	tried   waiting.Tries
}

// Find returns a task visible to the user; otherwise it returns not found.
func (c *Service) Find(ctx context.Context, user account.User, taskID int64) (task.Task, error) {
	return c.Store.Tasks.ByID(ctx, viewerOf(user), taskID)
}

// ByRight reports whether the user can access a task only as an administrator: such access is audited.
func (c *Service) ByRight(ctx context.Context, user account.User, taskID int64) (bool, error) {
	if !user.IsAdmin() {
		return false, nil
	}
	_, err := c.Store.Tasks.ByID(ctx, user.ID, taskID)
	if fault.CodeOf(err) == fault.TaskNotFound {
		return true, nil
	}
	return false, err
}

// List returns the tasks visible to the user, newest first.
func (c *Service) List(ctx context.Context, user account.User, f task.Filter) ([]task.Task, error) {
	f.Viewer = viewerOf(user)
	if f.Words != "" && c.Searches != nil {
		place := c.Searches.Hold(user)
		defer place.Release()
		if err := place.Take(ctx, 1); err != nil {
			return nil, err
		}
	}
	return c.Store.Tasks.List(ctx, f)
}

// Start starts a task's workflow, leaving an already started one alone.
func (c *Service) Start(ctx context.Context, task task.Task) error {
	return c.start(
		ctx, task, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	)
}

// Restart starts a task's workflow anew from the record, whatever the old workflow's state: the record was restored.
func (c *Service) Restart(ctx context.Context, task task.Task) error {
	return c.start(
		ctx, task, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
	)
}

func (c *Service) start(
	ctx context.Context, task task.Task, closed enumspb.WorkflowIdReusePolicy, running enumspb.WorkflowIdConflictPolicy,
) error {
	_, err := service.Start(ctx, c.Temporal, client.StartWorkflowOptions{
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

// knownTask is the snapshot passed to a task's workflow at its start, so that it need not read the record first. nil
// for a task with blockers: they may end before there is a workflow to notify.
func knownTask(t task.Task) *task.Snapshot {
	if t.Blocked {
		return nil
	}
	return &t.Snapshot
}

// End cancels a task whose workflow is gone.
func (c *Service) End(ctx context.Context, taskID int64, reason fault.Code) error {
	_, err := c.Store.Tasks.Act(ctx, task.Act{
		TaskID: taskID, Action: lifecycle.TaskActionCancel, Input: lifecycle.TaskInput{Comment: string(reason)}, At: time.Now(),
	})
	return err
}

// Refresh makes a task's workflow read the record again.
func (c *Service) Refresh(ctx context.Context, workflowID string) error {
	return c.Temporal.SignalWorkflow(ctx, workflowID, "", lifecycle.TaskRefreshSignal, nil)
}

// taskAct is an action requested by a user.
type taskAct struct {
	action  lifecycle.TaskAction
	in      lifecycle.TaskInput
	content *task.Content // nil: the action has none
}

// Act sends an action by the user to a task's workflow and returns the task right after it. The same key returns the
// first answer, whatever has happened since: the record stores the answer together with the change. The key may be
// empty.
func (c *Service) Act(
	ctx context.Context, user account.User, taskID int64, action lifecycle.TaskAction, in lifecycle.TaskInput, key string,
) (task.Task, error) {
	return c.act(ctx, user, taskID, taskAct{action: action, in: in}, key)
}

func (c *Service) act(ctx context.Context, user account.User, taskID int64, a taskAct, key string) (task.Task, error) {
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

	return service.Settle(ctx, c.Store, r, task.TaskAnswerOf, lasts, func(id string) (task.Task, bool, error) {
		done, err := c.decide(ctx, user, taskID, row, a, id)
		return done, err == nil, err
	})
}

// unkept are the refusals that may no longer apply to a repeated request.
var unkept = []fault.Code{fault.Internal, fault.TaskNotFound, fault.Validation, fault.WorkflowPaused}

// lasts reports whether a refusal also answers a repeated request.
func lasts(refusal *fault.Error) bool {
	return !refusal.Retryable && !slices.Contains(unkept, refusal.Code)
}

// decide requests an action under an id and returns the answer that the record stored with the change. Only a few
// actions per task are in flight at a time; the others wait. A lost claim is answered from the record at once. found is
// the task if it was just read, else nil.
func (c *Service) decide(
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

	behind := false
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		view, err := c.update(ctx, row, a, id)
		switch {
		case err == nil:
			if done, whole := taskAfter(row, a.action, view); whole {
				return done, nil
			}
			if done, answered, err := c.outcome(ctx, taskID, a, id); answered || err != nil {
				return done, err
			}
			return c.Find(ctx, user, taskID) // the answer to a request from long ago is gone
		case temporalio.IsNotFound(err):
			done, answered, failed := c.withoutWorkflow(ctx, user, row, a, id)
			if answered || failed != nil {
				return done, failed
			}
			row = done
		case temporalio.RefusalIn(err) != nil:
			if behind || !c.isBehind(ctx, user, row, a) {
				return row, temporalio.RefusalIn(err)
			}
			if behind = true; c.Refresh(ctx, row.WorkflowID()) != nil {
				return row, temporalio.RefusalIn(err)
			}
			continue
		case temporalio.Invalid(err), temporalio.Paused(err):
			return row, temporalio.Unreachable(err)
		}

		select {
		case <-ctx.Done():
			return row, temporalio.Unreachable(err)
		case <-time.After(pause): // then ask again: the same update is executed once
		}
	}
}

// statusActions change a task's status or holder.
var statusActions = []lifecycle.TaskAction{
	lifecycle.TaskActionClaim, lifecycle.TaskActionEscalate, lifecycle.TaskActionTakeover, lifecycle.TaskActionStatus,
}

// taskAfter is a task right after an update that changed its status or holder. whole is false if something else has
// changed since it was read, or if the update's answer is incomplete: then the record must be read.
func taskAfter(t task.Task, action lifecycle.TaskAction, now lifecycle.TaskView) (after task.Task, whole bool) {
	if !slices.Contains(statusActions, action) {
		return t, false
	}

	switch now.Version {
	case t.Version: // nothing but perhaps the lease changed
	case t.Version + 1:
		t.UpdatedAt = now.Since
		if t.Facts().EndsSubmission(now.AssigneeID) {
			t.Submission, t.Approved, t.Rejected = nil, false, false
			t.ReviewMissing = t.ReviewRequired
		}
		if now.State == string(lifecycle.TaskInProgress) {
			t.Blocked, t.Blockers = false, slices.Clone(t.Blockers)
			for i := range t.Blockers { // otherwise it would not be in progress
				t.Blockers[i].Status = lifecycle.TaskDone
			}
		}
	default:
		return t, false
	}

	t.Version, t.State, t.Since, t.AssigneeID = now.Version, lifecycle.TaskState(now.State), now.Since, now.AssigneeID
	t.DeadlineAt, t.ReleaseAt, t.ClockWaits = now.DeadlineAt, now.ReleaseAt, now.ClockWaits
	t.StartedAt, t.FinishedAt = now.StartedAt, now.FinishedAt
	t.FencingToken, t.LeaseExpiresAt = now.FencingToken, now.LeaseExpiresAt
	return t, true
}

// outcome reads the answer to an action requested under an id. It waits while the record is unavailable, because the
// action is done.
func (c *Service) outcome(ctx context.Context, taskID int64, a taskAct, id string) (done task.Task, answered bool, err error) {
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

// findFor returns the task of an action, unless the action is a claim that is already lost. found is the task if it was
// just read.
func (c *Service) findFor(
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

// update sends the update once and waits up to askAgain for its outcome.
func (c *Service) update(ctx context.Context, task task.Task, a taskAct, id string) (view lifecycle.TaskView, err error) {
	ctx, cancel := context.WithTimeout(ctx, service.AskAgain)
	defer cancel()

	handle, err := c.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: task.WorkflowID(), UpdateID: id, UpdateName: string(a.action), Args: []any{a.in},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return view, err
	}
	err = handle.Get(ctx, &view)
	return view, err
}

// isBehind reports whether the record allows what the workflow refused: a workflow task was lost after the record was
// written, so the workflow does not know the last action.
func (c *Service) isBehind(ctx context.Context, user account.User, row task.Task, a taskAct) bool {
	now, err := c.Find(ctx, user, row.ID)
	if err != nil {
		return false
	}
	_, _, err = lifecycle.DecideTask(now.Facts(), lifecycle.TaskAskOf(a.action, a.in, callerOf(user)))
	return err == nil
}

// withoutWorkflow handles an action on a task whose workflow is not running. If the action was the last one, the record
// has the answer. If the task has ended, the transition table has the refusal. If the workflow was never started, it is
// started now and the action may be repeated, as when another caller has started it since the task was read.
func (c *Service) withoutWorkflow(
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
		temporalio.WaitsForAttribute.ValueSet(task.WaitsFor()),
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
