package service

import (
	"context"
	"fmt"
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
	return c.Store.TaskByID(ctx, viewerOf(user), taskID)
}

// ByRight reports whether the user reaches a task by an administrator's right alone: such access is audited.
func (c *Tasks) ByRight(ctx context.Context, user account.User, taskID int64) (bool, error) {
	if !user.IsAdmin() {
		return false, nil
	}
	_, err := c.Store.TaskByID(ctx, user.ID, taskID)
	if fault.CodeOf(err) == fault.TaskNotFound {
		return true, nil
	}
	return false, err
}

// List returns the tasks that the user may see, the newest first.
func (c *Tasks) List(ctx context.Context, user account.User, f task.Filter) ([]task.Task, error) {
	f.Viewer = viewerOf(user)
	return c.Store.Tasks(ctx, f)
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
	err := start(ctx, c.Temporal, client.StartWorkflowOptions{
		ID:                       task.WorkflowID(),
		WorkflowIDReusePolicy:    closed,
		WorkflowIDConflictPolicy: running,
		StaticSummary:            lifecycle.TaskTitle(task.ID, strconv.FormatInt(task.WorkspaceID, 10)),
		TypedSearchAttributes:    taskAttributes(task),
	}, lifecycle.TaskType, task.ID, knownTask(task))
	if err != nil {
		return err
	}

	return c.Store.MarkTaskStarted(ctx, task.ID)
}

// KnownTask is what a task's workflow is told when it starts, so that it does not read the record first.
type KnownTask struct {
	State     task.Snapshot `json:"state"`
	Unblocked bool          `json:"unblocked,omitempty"` // every blocker is DONE
}

// knownTask is nil for a task that waits for its blockers: they may end before there is a workflow to tell.
func knownTask(t task.Task) *KnownTask {
	if t.ClockWaits {
		return nil
	}
	return &KnownTask{t.Snapshot, len(t.OpenBlockers()) == 0}
}

// End cancels a task whose workflow is gone, unless the task has changed since it was read.
func (c *Tasks) End(ctx context.Context, task task.Task, reason fault.Code) error {
	ask := lifecycle.TaskAsk{
		Action: lifecycle.TaskActionCancel, To: lifecycle.TaskCancelled, Comment: string(reason),
		Caller: lifecycle.TaskCaller{System: true},
	}

	step, _, err := lifecycle.DecideTask(task.Snapshot.Facts(nil), ask)
	if err != nil {
		return err
	}

	_, err = c.Store.WriteTask(
		ctx, TaskTransition(task.ID, task.Snapshot, step, ask, SystemRequestID(ask.Action, task.Version+1), time.Now()),
	)
	return err
}

// Unblock signals a task's workflow that its last blocker is DONE.
func (c *Tasks) Unblock(ctx context.Context, workflowID string) error {
	return c.Temporal.SignalWorkflow(ctx, workflowID, "", lifecycle.TaskUnblockedSignal, nil)
}

// Refresh makes a task's workflow read the record again.
func (c *Tasks) Refresh(ctx context.Context, workflowID string) error {
	return c.Temporal.SignalWorkflow(ctx, workflowID, "", lifecycle.TaskRefreshSignal, nil)
}

// Act asks a task's workflow for a transition by the user and returns the task as it was right after it. The same key
// returns the first answer, whatever has happened since: the record keeps the answer together with the transition. The
// key may be empty.
func (c *Tasks) Act(
	ctx context.Context, user account.User, taskID int64, action lifecycle.TaskAction, in lifecycle.TaskInput, key string,
) (task.Task, error) {
	in.Actor = user.ID
	if err := lifecycle.CheckTaskInput(action, in); err != nil {
		return task.Task{}, err
	}

	r := task.TaskRequest(key, action, taskID, in)
	var answer task.Answer
	answered, row, err := c.Store.AnsweredTask(ctx, r, &answer, viewerOf(user), taskID)
	switch {
	case err != nil:
		return task.Task{}, err
	case answered:
		return answer.Outcome()
	}

	return settle(ctx, c.Store, r, task.TaskAnswerOf, lasts, func(id string) (task.Task, bool, error) {
		return c.decide(ctx, user, taskID, row, action, in, id)
	})
}

// unkept are the refusals that may not apply to a repeated request.
var unkept = []fault.Code{fault.Internal, fault.TaskNotFound, fault.Validation, fault.WorkflowPaused}

// lasts says whether a refusal is the answer to a repeated request, too.
func lasts(refusal *fault.Error) bool {
	return !refusal.Retryable && !slices.Contains(unkept, refusal.Code)
}

// decide executes an action, and says whether the record has kept the answer together with the transition. Few actions
// are in flight for one task at a time, and the others wait. A lost claim is answered from the record, at once. found is
// the task as it was read just now; nil: it was not.
func (c *Tasks) decide(
	ctx context.Context, user account.User, taskID int64, found *task.Task, action lifecycle.TaskAction,
	in lifecycle.TaskInput, id string,
) (row task.Task, kept bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()

	if row, err = c.findFor(ctx, user, taskID, found, action); err != nil {
		return row, false, err
	}

	leave, waited, err := c.limiter.Enter(ctx, taskID)
	if err != nil {
		return row, false, temporalio.Unreachable(err)
	}
	defer leave()

	if waited {
		if row, err = c.findFor(ctx, user, taskID, nil, action); err != nil {
			return row, false, err
		}
	}

	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		view, err := c.update(ctx, row, action, in, id)
		gone := temporalio.IsNotFound(err)
		switch {
		case err == nil:
			applyView(view, &row)
			return row, view.Kept, nil
		case gone:
			began := row.WorkflowStartedAt != nil // before the update was sent
			if row, err = c.Find(ctx, user, taskID); err != nil {
				return row, false, err
			}
			if row.RequestID == id { // the task's last transition is the one requested here
				return row, true, nil
			}
			if err = c.withoutWorkflow(ctx, user, row, began, action, in); err != nil {
				return row, false, err
			}
		case temporalio.RefusalIn(err) != nil:
			return row, false, temporalio.RefusalIn(err)
		case temporalio.Invalid(err), temporalio.Paused(err):
			return row, false, temporalio.Unreachable(err)
		}

		select {
		case <-ctx.Done():
			return row, false, temporalio.Unreachable(err)
		case <-time.After(pause): // then ask again: the same update is not done twice
		}
	}
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
func (c *Tasks) update(
	ctx context.Context, task task.Task, action lifecycle.TaskAction, in lifecycle.TaskInput, id string,
) (view lifecycle.TaskView, err error) {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()

	handle, err := c.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: task.WorkflowID(), UpdateID: id, UpdateName: string(action), Args: []any{in},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return view, err
	}

	err = handle.Get(ctx, &view)
	return view, err
}

// withoutWorkflow handles a task whose workflow does not run. When the task has ended, the record gives the refusal.
// When the workflow was never started, it is started now and the action may be repeated, as when somebody else has
// started it meanwhile: began says whether it was started before the action was sent.
func (c *Tasks) withoutWorkflow(
	ctx context.Context, user account.User, task task.Task, began bool, action lifecycle.TaskAction, in lifecycle.TaskInput,
) error {
	switch {
	case lifecycle.Task.Terminal(task.State):
		_, _, err := lifecycle.DecideTask(
			task.Facts(), lifecycle.TaskAskOf(action, in, callerOf(user)),
		)
		return err
	case task.WorkflowStartedAt == nil:
		return c.Start(ctx, task)
	case !began:
		return nil
	default:
		return errNoWorkflow
	}
}

var errNoWorkflow error = fault.New(
	fault.TemporalUnavailable, "the task's workflow was ended by hand: this is settled within a minute",
).Retry()

// applyView copies an update's answer into the task as it was found.
func applyView(v lifecycle.TaskView, task *task.Task) {
	if task.Facts().EndsSubmission(v.AssigneeID) {
		task.Submission, task.Approved, task.ReviewMissing = nil, false, task.ReviewRequired
	}
	task.State, task.Since, task.AssigneeID = lifecycle.TaskState(v.State), v.Since, v.AssigneeID
	task.DeadlineAt, task.ReleaseAt, task.ClockWaits = v.DeadlineAt, v.ReleaseAt, v.ClockWaits
	task.StartedAt, task.FinishedAt = v.StartedAt, v.FinishedAt
	task.FencingToken, task.LeaseExpiresAt = v.FencingToken, v.LeaseExpiresAt
	if v.Version != task.Version {
		task.Version, task.UpdatedAt = v.Version, v.Since
	}
}

func viewerOf(user account.User) int64 {
	if user.IsAdmin() {
		return 0
	}
	return user.ID
}

// TaskTransition returns what the record should have after a step.
func TaskTransition(
	taskID int64, state task.Snapshot, step lifecycle.TaskRule, ask lifecycle.TaskAsk, requestID string, at time.Time,
) task.Write {
	event := core.Event{
		Type: step.Event, From: string(state.State), To: string(step.To), Comment: ask.Comment, Reason: string(ask.Reason),
	}

	if !ask.Caller.System {
		event.ActorID = &ask.Caller.ID
	}
	return task.Write{
		TaskID: taskID, Version: state.Version + 1, RequestID: requestID, Action: step.Action, State: step.To,
		AssigneeID: state.Facts(nil).AssigneeAfter(step, ask.Caller.ID), At: at.UTC(), Event: event,
		LeaseSeconds: ask.LeaseSeconds,
	}
}

// SystemRequestID names a request of the system: the same for the same action and version.
func SystemRequestID[A ~string](action A, version int64) string {
	return fmt.Sprintf("system-%s-%d", action, version)
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
