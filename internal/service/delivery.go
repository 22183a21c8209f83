package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/shelf"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
)

// Deliveries creates, finds and cancels deliveries for the API and the bot.
type Deliveries struct {
	Temporal    client.Client
	Store       *store.Store
	MaxFileSize int64 // bytes
	Limits      DeliveryLimits
	Log         *slog.Logger
	OnEnqueued  func(source string)                 // counts new jobs
	OnEnded     func(state lifecycle.DeliveryState) // counts ends that no attempt has recorded
	// CancelPatience is how long Cancel waits for the end before it returns the job as it is then.
	CancelPatience time.Duration
}

// DeliveryKey returns the key of one request: the same user, file and nonce give the same job.
func DeliveryKey(userID, fileID int64, nonce string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d:%s", userID, fileID, nonce))
	return hex.EncodeToString(sum[:])
}

// CheckFile returns the reason why a file can never be delivered, before a job is created: FILE_IS_FOLDER,
// FILE_NOT_FOUND, FILE_EMPTY or FILE_TOO_BIG.
func (c *Deliveries) CheckFile(file delivery.File) error {
	var refusal *fault.Error
	switch {
	case file.IsFolder:
		refusal = fault.New(fault.FileIsFolder, "this is a folder: choose a file in it")
	case file.Gone:
		refusal = fault.New(fault.FileNotFound, "there is no such file")
	case file.Size == 0:
		refusal = fault.New(fault.FileEmpty, "the file is empty: Telegram does not take empty files")
	case file.Size > c.MaxFileSize:
		refusal = fault.New(fault.FileTooBig, "the file has %d bytes: Telegram takes up to %d", file.Size, c.MaxFileSize).
			With("size", file.Size).With("limit", c.MaxFileSize)
	default:
		return nil
	}

	return refusal.WithField("file_id")
}

// Request creates a delivery of a file to the user's chat. The same nonce returns the existing job and created = false,
// even if the file or the user has changed since. A recorded job is never lost: when Temporal is unavailable, the
// reconciler starts it later.
func (c *Deliveries) Request(
	ctx context.Context, user account.User, fileID int64, nonce, source string,
) (job delivery.Job, created bool, err error) {
	key := DeliveryKey(user.ID, fileID, nonce)
	first, file, err := c.Store.Deliveries.JobAndFile(ctx, key, fileID)
	if err != nil {
		return delivery.Job{}, false, err
	}

	if first != nil {
		job = *first
	} else if job, created, err = c.create(ctx, user, file, key, source); err != nil {
		return delivery.Job{}, false, err
	}

	if job.WorkflowStartedAt == nil && !lifecycle.Delivery.Terminal(job.State) {
		if err := c.Start(ctx, job.ID, job.WorkflowID(), job.UserID); err != nil {
			c.Log.Warn("delivery is recorded, its workflow will be started later", "job", job.ID, "error", err)
		}
	}
	return job, created, nil
}

// create records a new job, unless the file (nil: there is none), the user or a limit forbids it.
func (c *Deliveries) create(
	ctx context.Context, user account.User, file *delivery.File, key, source string,
) (delivery.Job, bool, error) {
	if file == nil {
		return delivery.Job{}, false, fault.New(fault.FileNotFound, "there is no such file").WithField("file_id")
	}
	if err := c.checkLibrary(ctx, file); err != nil {
		return delivery.Job{}, false, err
	}
	if err := c.CheckFile(*file); err != nil {
		return delivery.Job{}, false, err
	}
	if user.TelegramID == nil {
		return delivery.Job{}, false, fault.New(fault.NoTelegramChat, "this user has no Telegram chat to deliver to")
	}

	job := delivery.Job{
		IdempotencyKey: key, UserID: user.ID, UserStatus: user.Status,
		FileID: file.ID, FileName: file.Name, Size: file.Size, Source: source,
	}

	asked := delivery.JobStep{Action: lifecycle.DeliveryActionEnqueue, Roles: []lifecycle.Role{lifecycle.Owner}}
	first, _, err := core.Move(lifecycle.Delivery, "", asked, job.Facts())
	if err != nil {
		return delivery.Job{}, false, err
	}

	job, created, err := c.Store.Deliveries.Create(ctx, job, first)
	if created && c.OnEnqueued != nil {
		c.OnEnqueued(source)
	}
	return job, created, err
}

// checkLibrary marks a file of the library as gone that no medium has any more: the folder may still hold it.
func (c *Deliveries) checkLibrary(ctx context.Context, file *delivery.File) error {
	path, ours := strings.CutPrefix(file.Path, shelf.Prefix)
	if !ours {
		return nil
	}
	held, err := c.Store.Downloads.HasFile(ctx, path)
	file.Gone = !held
	return err
}

// Start starts a job's workflow. One that runs is left alone. One that has ended was that of a row that a restore has lost: it
// knows what became of the file, and the job ends as it did.
func (c *Deliveries) Start(ctx context.Context, jobID int64, workflowID string, ownerID int64) error {
	owner := strconv.FormatInt(ownerID, 10)
	ended, err := start(ctx, c.Temporal, client.StartWorkflowOptions{
		ID:                       workflowID,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		// Of one that has ended.
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            lifecycle.DeliveryTitle(jobID),
		Priority:                                 temporal.Priority{FairnessKey: owner}, // for its activities too: users take turns
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalio.EntityAttribute.ValueSet(strconv.FormatInt(jobID, 10)),
			temporalio.StageAttribute.ValueSet(string(lifecycle.DeliveryQueued)),
			temporalio.WaitsForAttribute.ValueSet(lifecycle.WaitsForSlot),
			temporalio.DeadlineAttribute.ValueSet(time.Now().Add(c.Limits.TTL)),
			temporalio.OwnerAttribute.ValueSet(owner),
		),
	}, lifecycle.DeliveryType, jobID)
	if err != nil {
		return err
	}

	if ended {
		end, err := c.endOfWorkflow(ctx, jobID, workflowID)
		if err == nil {
			_, err = c.Finish(ctx, end)
		}
		if err != nil {
			return err
		}
	}
	return c.Store.Deliveries.MarkStarted(ctx, jobID)
}

// Show sends the recorded state to a job's workflow, which shows it to operators.
func (c *Deliveries) Show(ctx context.Context, workflowID string, state lifecycle.DeliveryState) error {
	return c.Temporal.SignalWorkflow(ctx, workflowID, "", lifecycle.DeliveryStageSignal, state)
}

// DeliveryActions lists what the user may do with the job now.
func DeliveryActions(user account.User, job delivery.Job) []lifecycle.DeliveryAction {
	return lifecycle.Delivery.Actions(job.State, rolesOf(user, job.UserID), job.Facts())
}

// Cancel stops a live job and returns it as it ended. A stream needs up to one heartbeat to stop; when that takes
// longer than CancelPatience, the returned job is still live, with CancelRequestedAt set. INVALID_TRANSITION: the job
// has ended.
func (c *Deliveries) Cancel(ctx context.Context, user account.User, jobID int64) (delivery.Job, error) {
	job, err := c.Find(ctx, user, jobID)
	if err != nil {
		return delivery.Job{}, err
	}

	request := lifecycle.DeliveryRequest{Action: lifecycle.DeliveryActionCancel, Roles: rolesOf(user, job.UserID)}
	if _, err := lifecycle.Delivery.Decide(job.State, request, job.Facts()); err != nil {
		return delivery.Job{}, err
	}

	err = c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, nil)
	if temporalio.IsNotFound(err) {
		// No workflow: it has just ended, or was never started. The record knows which.
		return c.cancelWithoutWorkflow(ctx, jobID, request)
	}
	if err != nil {
		return delivery.Job{}, temporalio.Unreachable(err)
	}
	if err := c.Store.Deliveries.RequestCancel(ctx, jobID); err != nil {
		return delivery.Job{}, err
	}

	err = pollUntil(ctx, c.CancelPatience, func() (done bool, err error) {
		job, err = c.Store.Deliveries.ByID(ctx, jobID)
		return lifecycle.Delivery.Terminal(job.State), err
	})
	return job, err
}

// TryCancel says what Cancel would do.
func (c *Deliveries) TryCancel(ctx context.Context, user account.User, jobID int64) (Trial, error) {
	job, err := c.Find(ctx, user, jobID)
	if err != nil {
		return Trial{}, err
	}

	wanted := lifecycle.DeliveryRequest{Action: lifecycle.DeliveryActionCancel, Roles: rolesOf(user, job.UserID)}
	rule, err := lifecycle.Delivery.Decide(job.State, wanted, job.Facts())
	return trialOf(rule.To, job.RowVersion, err)
}

// Stop asks a live job of any owner to end and does not wait for the end. A job that has ended stays as it is.
func (c *Deliveries) Stop(ctx context.Context, job delivery.Job) error {
	err := c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, nil)
	if temporalio.IsNotFound(err) {
		request := lifecycle.DeliveryRequest{Action: lifecycle.DeliveryActionCancel, Roles: []lifecycle.Role{lifecycle.Admin}}
		if _, err = c.cancelWithoutWorkflow(ctx, job.ID, request); fault.CodeOf(err) == fault.InvalidTransition {
			err = nil
		}
		return err
	}
	if err != nil {
		return temporalio.Unreachable(err)
	}

	return c.Store.Deliveries.RequestCancel(ctx, job.ID)
}

// Find returns a job that the user may see: their own, or any job for an administrator. Other jobs do not exist for the
// user.
func (c *Deliveries) Find(ctx context.Context, user account.User, jobID int64) (delivery.Job, error) {
	job, err := c.Store.Deliveries.ByID(ctx, jobID)
	if err == nil && job.UserID != user.ID && !user.IsAdmin() {
		return delivery.Job{}, fault.New(fault.DeliveryNotFound, "there is no such delivery")
	}
	return job, err
}

func (c *Deliveries) cancelWithoutWorkflow(
	ctx context.Context, jobID int64, request lifecycle.DeliveryRequest,
) (delivery.Job, error) {
	return c.Store.Deliveries.Change(ctx, jobID, func(walk *delivery.JobWalk) error {
		walk.Row.LastError = string(fault.CancelledByUser)
		return walk.Take(delivery.JobStep{Action: request.Action, Roles: request.Roles})
	})
}

// DeliveryLimits are how long a job may wait and how long workers may hold it.
type DeliveryLimits struct {
	TTL        time.Duration // the longest time in QUEUED
	JobTimeout time.Duration // the longest time of an attempt
	Heartbeat  time.Duration // a worker whose last heartbeat is older has lost the job
}

// WaitsForNextAttempt reports whether the job waits for another attempt: after one that has failed, or because its worker
// is silent. The attempt that takes a silent worker's job over writes so: until then the record has its last state.
func (l DeliveryLimits) WaitsForNextAttempt(job delivery.Job) bool {
	switch {
	case lifecycle.Delivery.Terminal(job.State):
		return false
	case job.State == lifecycle.DeliveryQueued:
		return job.NextAttemptAt != nil
	default:
		return job.Now.Sub(*job.HeartbeatAt) > l.Heartbeat
	}
}

// Deadline returns when the job's state ends by itself; nil: the job has ended, an operator has paused it, or it waits
// for another attempt without an end.
func (l DeliveryLimits) Deadline(job delivery.Job) *time.Time {
	var at time.Time
	switch {
	case lifecycle.Delivery.Terminal(job.State):
		return nil
	case job.State != lifecycle.DeliveryQueued:
		at = job.ClaimedAt.Add(l.JobTimeout)
	case job.Claim == 0:
		at = job.CreatedAt.Add(l.TTL)
	case job.NextAttemptAt != nil:
		at = job.NextAttemptAt.Add(l.TTL)
	default:
		return nil
	}

	at = at.UTC()
	return &at
}
