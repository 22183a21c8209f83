// Package deliveries creates, finds and cancels deliveries, and starts their workflows.
package deliveries

import (
	"cmp"
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
	"stagecoach/internal/service"
	"stagecoach/internal/shelf"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
)

// Service creates, finds and cancels deliveries for the API and the bot.
type Service struct {
	Temporal    client.Client
	Store       *store.Store
	MaxFileSize int64 // bytes
	Limits      Limits
	Log         *slog.Logger
	OnEnqueued  func(source string)                 // counts new jobs
	OnEnded     func(state lifecycle.DeliveryState) // counts jobs that ended without an attempt recording it
	// CancelPatience is how long Cancel waits for the job to end after its workflow accepts the request.
	CancelPatience time.Duration
}

// DeliveryKey returns a request's idempotency key: the same user, file and nonce give the same job.
func DeliveryKey(userID, fileID int64, nonce string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d:%s", userID, fileID, nonce))
	return hex.EncodeToString(sum[:])
}

// CheckFile reports, before a job is created, why a file can never be delivered: FILE_IS_FOLDER, FILE_NOT_FOUND,
// FILE_EMPTY or FILE_TOO_BIG.
func (c *Service) CheckFile(file delivery.File) error {
	var refusal *fault.Error
	switch {
	case file.IsFolder:
		refusal = fault.New(fault.FileIsFolder, "this is a folder: choose a file in it")
	case file.Gone:
		refusal = fault.New(fault.FileNotFound, "there is no such file")
	case file.Size == 0:
		refusal = fault.New(fault.FileEmpty, "the file is empty: Telegram does not accept empty files")
	case file.Size > c.MaxFileSize:
		refusal = fault.New(fault.FileTooBig, "the file has %d bytes: Telegram accepts up to %d", file.Size, c.MaxFileSize).
			With("size", file.Size).With("limit", c.MaxFileSize)
	default:
		return nil
	}

	return refusal.WithField("file_id")
}

// Request creates a delivery of a file to the user's chat. The same nonce returns the existing job and created = false,
// even if the file or the user has changed since. A recorded job is never lost: if Temporal is unavailable, the
// reconciler starts it later.
func (c *Service) Request(
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
			c.Log.Warn("delivery recorded, its workflow will be started later", "job", job.ID, "error", err)
		}
	}
	return job, created, nil
}

// create records a new job, unless the file (nil: there is none), the user or a limit forbids it.
func (c *Service) create(
	ctx context.Context, user account.User, file *delivery.File, key, source string,
) (delivery.Job, bool, error) {
	if file == nil {
		return delivery.Job{}, false, fault.New(fault.FileNotFound, "there is no such file").WithField("file_id")
	}
	if err := c.checkLibrary(ctx, user, file); err != nil {
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

// checkLibrary marks a library file as gone once neither a medium nor one of the user's downloads lists it; the folder
// may still contain it.
func (c *Service) checkLibrary(ctx context.Context, user account.User, file *delivery.File) error {
	path, ours := strings.CutPrefix(file.Path, shelf.Prefix)
	if !ours {
		return nil
	}
	held, err := c.Store.Downloads.HasFile(ctx, user, path)
	file.Gone = !held
	return err
}

// Start starts a job's workflow; a running one is left alone. A workflow that has already ended drove a row that a
// restore lost: it knows the file's outcome, and the job takes the same end.
func (c *Service) Start(ctx context.Context, jobID int64, workflowID string, ownerID int64) error {
	owner := strconv.FormatInt(ownerID, 10)
	ended, err := service.Start(ctx, c.Temporal, client.StartWorkflowOptions{
		ID:                       workflowID,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		// Refused even if the earlier workflow has ended.
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            lifecycle.DeliveryTitle(jobID),
		Priority:                                 temporal.Priority{FairnessKey: owner}, // activities too: fair between users
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalio.EntityAttribute.ValueSet(strconv.FormatInt(jobID, 10)),
			temporalio.StageAttribute.ValueSet(string(lifecycle.DeliveryQueued)),
			temporalio.WaitsForAttribute.ValueSet(lifecycle.DeliveryWaitsFor(lifecycle.DeliveryQueued, "", false)),
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

// Show sends the recorded state to a job's workflow, for operators to see in the Temporal UI.
func (c *Service) Show(ctx context.Context, workflowID string, state lifecycle.DeliveryState) error {
	return c.Temporal.SignalWorkflow(ctx, workflowID, "", lifecycle.DeliveryStageSignal, state)
}

// Actions lists what the user may currently do with the job.
func Actions(user account.User, job delivery.Job) []lifecycle.DeliveryAction {
	return lifecycle.Delivery.Actions(job.State, service.RolesOf(user, job.UserID), job.Facts())
}

// Cancel stops a live job through an update of its workflow and returns its end. The update is decided once per key. A
// stream needs up to one heartbeat to stop. TEMPORAL_UNAVAILABLE without a job: the request was not accepted; with a
// job: it was, but the job takes longer than CancelPatience to end. INVALID_TRANSITION: the job has ended.
func (c *Service) Cancel(ctx context.Context, user account.User, jobID int64, key string) (delivery.Job, error) {
	job, err := c.Find(ctx, user, jobID)
	if err != nil {
		return delivery.Job{}, err
	}

	request := lifecycle.DeliveryCancel{
		JobID: jobID, Actor: user.ID, RequestID: core.Request{UserID: user.ID, Key: key}.ID(),
	}
	if lifecycle.Delivery.Terminal(job.State) {
		return c.cancelWithoutWorkflow(ctx, request)
	}

	outcome, late, err := service.Update[lifecycle.DeliveryOutcome](ctx, c.Temporal, c.CancelPatience, client.UpdateWorkflowOptions{
		WorkflowID: job.WorkflowID(), UpdateID: request.RequestID, UpdateName: string(lifecycle.DeliveryActionCancel),
		Args: []any{lifecycle.DeliveryInput{Actor: user.ID}},
	})
	switch refusal := temporalio.RefusalIn(err); {
	case err == nil:
		return c.endedBy(ctx, user, job, outcome)
	case refusal != nil:
		return delivery.Job{}, refusal
	case temporalio.IsNotFound(err):
		return c.cancelWithoutWorkflow(ctx, request)
	case late:
		job.CancelRequestedAt = cmp.Or(job.CancelRequestedAt, &job.Now)
		return job, fault.New(
			fault.TemporalUnavailable, "the cancel is requested, and the delivery has not stopped yet: ask again",
		).Retry()
	default:
		return delivery.Job{}, temporalio.Unreachable(err)
	}
}

// endedBy is a live job with the end that its workflow reported. A delivery's writer knows more about it.
func (c *Service) endedBy(
	ctx context.Context, user account.User, job delivery.Job, end lifecycle.DeliveryOutcome,
) (delivery.Job, error) {
	if end.State == lifecycle.DeliveryDelivered {
		return c.Find(ctx, user, job.ID)
	}
	job.State, job.LastError, job.Attempt, job.BytesSent = end.State, string(end.Reason), end.Failed, end.Sent
	job.UpdatedAt, job.CancelRequestedAt = end.At, cmp.Or(job.CancelRequestedAt, &end.At)
	return job, nil
}

// cancelWithoutWorkflow ends a job whose workflow has just ended or was never started. The record knows which.
func (c *Service) cancelWithoutWorkflow(ctx context.Context, r lifecycle.DeliveryCancel) (delivery.Job, error) {
	ended := false
	job, err := c.decideCancel(ctx, r, func(steps Steps) error {
		ended = true
		return steps.finish(lifecycle.DeliveryActionCancel, fault.CancelledByUser)
	})
	if err != nil {
		return delivery.Job{}, err
	}
	if ended {
		c.countEnd(job)
	}
	return job, nil
}

// RequestCancel decides a request to cancel a job; its workflow then ends the job.
func (c *Service) RequestCancel(ctx context.Context, r lifecycle.DeliveryCancel) error {
	_, err := c.decideCancel(ctx, r, func(Steps) error { return nil })
	return err
}

// decideCancel decides a cancel request once; then performs its immediate effect.
func (c *Service) decideCancel(
	ctx context.Context, r lifecycle.DeliveryCancel, then func(Steps) error,
) (delivery.Job, error) {
	admin := false
	asked := core.Asked{
		ID: r.RequestID, Content: string(lifecycle.DeliveryActionCancel), More: core.ReadAdmin(r.Actor, &admin),
	}
	return c.Store.Deliveries.ChangeFor(ctx, r.JobID, asked, func(walk *delivery.JobWalk) error {
		job := walk.Row
		wanted := lifecycle.DeliveryRequest{
			Action: lifecycle.DeliveryActionCancel, Roles: service.RolesOfActor(r.Actor, admin, job.UserID),
		}
		if _, err := lifecycle.Delivery.Decide(job.State, wanted, job.Facts()); err != nil {
			return err
		}
		job.CancelRequestedAt, walk.Edited = cmp.Or(job.CancelRequestedAt, &job.Now), true
		return then(Steps{walk})
	})
}

// Stop requests the end of any owner's live job without waiting for it. Does nothing to an ended job.
func (c *Service) Stop(ctx context.Context, job delivery.Job) error {
	err := c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, nil)
	switch {
	case err == nil:
		return nil
	case !temporalio.IsNotFound(err):
		return temporalio.Unreachable(err)
	}

	_, err = c.cancelWithoutWorkflow(ctx, lifecycle.DeliveryCancel{JobID: job.ID})
	if fault.CodeOf(err) == fault.InvalidTransition {
		return nil
	}
	return err
}

// Find returns a job visible to the user: their own, or any job for an administrator. Otherwise it returns not found.
func (c *Service) Find(ctx context.Context, user account.User, jobID int64) (delivery.Job, error) {
	job, err := c.Store.Deliveries.ByID(ctx, jobID)
	if err == nil && job.UserID != user.ID && !user.IsAdmin() {
		return delivery.Job{}, fault.New(fault.DeliveryNotFound, "there is no such delivery")
	}
	return job, err
}

// Limits bound how long a job may wait and how long a worker may hold it.
type Limits struct {
	TTL        time.Duration // maximum time in QUEUED
	JobTimeout time.Duration // maximum duration of an attempt
	Heartbeat  time.Duration // a worker whose last heartbeat is older has lost the job
}

// WaitsFor returns what the job waits for, or an empty string. Only this function derives that a worker is silent: the
// record and the workflow keep the last state until the attempt that takes over writes it.
func (l Limits) WaitsFor(job delivery.Job) string {
	again := job.NextAttemptAt != nil
	if job.State != lifecycle.DeliveryQueued {
		again = job.HeartbeatAt != nil && job.Now.Sub(*job.HeartbeatAt) > l.Heartbeat
	}
	return lifecycle.DeliveryWaitsFor(job.State, fault.Code(job.LastError), again)
}

// Deadline returns when the job's current state times out, or nil if the job has ended or was claimed and waits for
// another attempt.
func (l Limits) Deadline(job delivery.Job) *time.Time {
	var at time.Time
	switch {
	case lifecycle.Delivery.Terminal(job.State):
		return nil
	case job.State != lifecycle.DeliveryQueued:
		at = job.ClaimedAt.Add(l.JobTimeout)
	case job.Claim == 0:
		at = job.CreatedAt.Add(l.TTL)
	default:
		return nil
	}

	at = at.UTC()
	return &at
}
