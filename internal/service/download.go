package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/torrent"
)

// Downloads creates, finds and cancels downloads for the API and the bot, and keeps the books.
type Downloads struct {
	Temporal  client.Client
	Store     *store.Store
	Log       *slog.Logger
	Off       bool                                // there is no qBittorrent: nothing is started
	OnStarted func(mediaType string)              // counts new jobs
	OnEnded   func(state lifecycle.DownloadState) // counts ends
	Payloads  converter.DataConverter             // converter of Temporal payloads; nil: the SDK's default
	// CancelPatience is how long Cancel waits for the removal of the torrent before it returns the job as it is then.
	CancelPatience time.Duration
	Grace          time.Duration // for a torrent that is missing
	Indexers       Indexers      // nil: nothing can be searched for
	// Searches counts the searches of each user, for their limit. Copies of the service share it. nil: no limit.
	Searches *allowance.Rates[int64]
	// Deliveries sends files of the library to chats.
	Deliveries *Deliveries
	Library    bool // there is a library folder
}

// Deadline returns when a download fails unless its torrent is found again; nil: the torrent is not missing.
func (c *Downloads) Deadline(job download.Download) *time.Time {
	if job.FirstNotFoundAt == nil || lifecycle.Download.Terminal(job.State) {
		return nil
	}
	at := job.FirstNotFoundAt.Add(c.Grace).UTC()
	return &at
}

// DownloadAsk is a request for a download.
type DownloadAsk struct {
	BookID    int64
	MediaType string // store.MediaText or store.MediaAudio
	Source    string // where the link was found, up to MaxSource characters; empty: "magnet" or "torrent"
	SourceURL string // a magnet link, or the http(s) address of a .torrent file
	// Sources are tried in this order, each when the one before fails or stands still. The first one is SourceURL's, which
	// may stand here too, with what is known of it. Those that have failed before for the medium are left out.
	Sources []download.Source
	Send    bool   // the files to the user's chat when they are there
	Key     string // the same key of the same user returns the same job; empty: each request is a new one

	again int64 // the download that is asked for once more: the rest is as it was there; 0: none
}

// MaxSource is how many characters the name of a source may have.
const MaxSource = 100

// keptDownload is the id of the download that the first request with a key has returned.
type keptDownload int64

// Outcome returns the id.
func (k keptDownload) Outcome() (int64, error) { return int64(k), nil }

// Start creates a download. It returns the answer of the first request with the same key, or the active download of the
// same user, book and medium; created is false then. A recorded job is never lost: when Temporal is unavailable, the
// reconciler starts it later. PROVIDER_UNAVAILABLE: there is no qBittorrent.
func (c *Downloads) Start(
	ctx context.Context, user account.User, ask DownloadAsk,
) (job download.Download, created bool, err error) {
	request := core.Request{
		UserID: user.ID, Key: ask.Key,
		Asked: fmt.Sprintf(
			"download %d %d %s %q %s %t", ask.again, ask.BookID, ask.MediaType, ask.Source, ask.SourceURL, ask.Send,
		),
	}
	for _, source := range ask.Sources {
		request.Asked += " " + source.SourceURL
	}

	never := func(*fault.Error) bool { return false } // a refusal may not apply any more when the request is repeated
	kept := func(id *int64, _ *fault.Error) keptDownload { return keptDownload(*id) }
	first, err := once(ctx, c.Store, request, kept, never, func(string) (int64, bool, error) {
		job, created, err = c.start(ctx, user, ask)
		return job.ID, false, err
	})
	if err != nil || first == job.ID {
		return job, created, err
	}

	job, err = c.Get(ctx, user, first)
	return job, false, err
}

func (c *Downloads) start(
	ctx context.Context, user account.User, ask DownloadAsk,
) (job download.Download, created bool, err error) {
	if ask.again != 0 {
		if ask, err = c.askedBefore(ctx, user, ask); err != nil {
			return download.Download{}, false, err
		}
	}
	origin, sources, err := ask.check()
	if err != nil {
		return download.Download{}, false, err
	}
	if c.Off {
		return download.Download{}, false, fault.New(fault.ProviderUnavailable, "downloads are switched off here")
	}
	if ask.Send && !c.Library {
		return download.Download{}, false, fault.Invalid("send", "there is no library folder to send from")
	}

	wanted := download.Download{
		UserID: user.ID, UserStatus: user.Status, BookID: ask.BookID, MediaType: ask.MediaType,
		Source: cmp.Or(strings.TrimSpace(ask.Source), sources[0].Indexer, origin.Kind()), SourceURL: ask.SourceURL,
		InfohashV1: origin.V1, InfohashV2: origin.V2, RequestKey: ask.Key,
		Send: ask.Send,
	}
	if wanted.Sources, err = c.candidates(ctx, ask, sources); err != nil {
		return download.Download{}, false, err
	}

	asked := download.DownloadStep{Action: lifecycle.DownloadActionEnqueue, Roles: []lifecycle.Role{lifecycle.Owner}}
	first, _, err := core.Move(lifecycle.Download, "", asked, wanted.Facts())
	if err != nil {
		return download.Download{}, false, err
	}

	job, created, err = c.Store.Downloads.Create(ctx, wanted, first)
	if err != nil {
		return download.Download{}, false, err
	}

	if ask.Send && !job.Send && !lifecycle.Download.Terminal(job.State) {
		if err := c.Store.Downloads.WishSent(ctx, job.ID); err != nil {
			return job, created, err
		}
		job.Send = true
	}

	if created && c.OnStarted != nil {
		c.OnStarted(job.MediaType)
	}

	if job.WorkflowStartedAt == nil && !lifecycle.Download.Terminal(job.State) {
		if err := c.Launch(ctx, job); err != nil {
			c.Log.Warn("download is recorded, its workflow will be started later", "download", job.ID, "error", err)
		}
	}
	return job, created, nil
}

// check returns what is wrong with a request, with the field at fault, and else its sources: each torrent once.
func (a DownloadAsk) check() (origin torrent.Source, sources []download.Source, err error) {
	switch {
	case !slices.Contains(download.MediaTypes, a.MediaType):
		return origin, nil, fault.Invalid("media_type", "media_type is one of %s", strings.Join(download.MediaTypes, ", "))
	case utf8.RuneCountInString(a.Source) > MaxSource || strings.ContainsFunc(a.Source, unicode.IsControl):
		return origin, nil, fault.Invalid("source", "a source is one line of at most %d characters", MaxSource)
	}

	if origin, err = torrent.ParseSource(a.SourceURL); err != nil {
		return origin, nil, err
	}
	sources, err = sourcesOf(a)
	return origin, sources, err
}

func downloadStart(job download.Download) client.StartWorkflowOptions {
	owner := strconv.FormatInt(job.UserID, 10)
	return client.StartWorkflowOptions{
		ID:                                       job.WorkflowID(),
		TaskQueue:                                lifecycle.MainQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            lifecycle.DownloadTitle(job.ID, job.WorkflowID()),
		Priority:                                 temporal.Priority{FairnessKey: owner}, // for its activities too: users take turns
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalio.EntityAttribute.ValueSet(strconv.FormatInt(job.ID, 10)),
			temporalio.WaitsForAttribute.ValueSet(lifecycle.WaitsForQBittorrent),
			temporalio.StageAttribute.ValueSet(string(job.State)),
			temporalio.OwnerAttribute.ValueSet(owner),
		),
	}
}

// Restart starts a job's workflow anew from the record, whatever the state of the workflow before: the record was set
// back.
func (c *Downloads) Restart(ctx context.Context, job download.Download) error {
	options := downloadStart(job)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	options.WorkflowExecutionErrorWhenAlreadyStarted = false
	if _, err := start(ctx, c.Temporal, options, lifecycle.DownloadType, job.ID); err != nil {
		return err
	}
	return c.Store.Downloads.MarkStarted(ctx, job.ID)
}

// launchPatience is how long Launch waits for the end of the workflow before.
const launchPatience = 5 * time.Second

// Launch starts a job's workflow. A workflow that was started before is left alone. The workflow of the previous job
// for the same user, book and medium may be about to end: Launch waits for its id for launchPatience.
func (c *Downloads) Launch(ctx context.Context, job download.Download) error {
	waiting, cancel := context.WithTimeout(ctx, launchPatience)
	defer cancel()

	for {
		_, err := c.Temporal.ExecuteWorkflow(ctx, downloadStart(job), lifecycle.DownloadType, job.ID)
		taken, isTaken := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
		if err != nil && !isTaken {
			return temporalio.Unreachable(err)
		}

		driven := job.ID
		if isTaken {
			if driven, err = c.drivenBy(ctx, job.WorkflowID(), taken.RunId); err != nil {
				return temporalio.Unreachable(err)
			}
		}

		if driven == job.ID {
			return c.Store.Downloads.MarkStarted(ctx, job.ID)
		}
		// The outcome of that workflow does not matter here.
		if err := c.Temporal.GetWorkflow(ctx, job.WorkflowID(), taken.RunId).Get(waiting, nil); waiting.Err() != nil {
			return temporalio.Unreachable(err)
		}
	}
}

// drivenBy reads which job a run of a workflow drives: its input, the first event of its history.
func (c *Downloads) drivenBy(ctx context.Context, workflowID, runID string) (jobID int64, err error) {
	history := c.Temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := history.Next()
	if err != nil {
		return 0, err
	}
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	return jobID, cmp.Or(c.Payloads, converter.GetDefaultDataConverter()).FromPayloads(input, &jobID)
}

// Cancel ends an active job: its torrent is removed, with the downloaded files unless keepFiles, or left to other jobs
// that hold it. It returns the job once that is confirmed. PROVIDER_UNAVAILABLE, with the reason's code in the details:
// the removal is not possible now; the request is recorded and repeated until it is confirmed, and the returned job is
// as it is now. When CancelPatience ends first, the returned job is still active, with CancelRequestedAt set.
// INVALID_TRANSITION: the job has ended, or ends otherwise meanwhile.
func (c *Downloads) Cancel(
	ctx context.Context, user account.User, jobID int64, keepFiles bool,
) (download.Download, error) {
	job, err := c.Get(ctx, user, jobID)
	if err != nil {
		return download.Download{}, err
	}

	wanted := lifecycle.DownloadRequest{Action: lifecycle.DownloadActionCancel, Roles: rolesOf(user, job.UserID)}
	if _, err := lifecycle.Download.Decide(job.State, wanted, job.Facts()); err != nil {
		return job, err
	}
	if err := c.Store.Downloads.RequestCancel(ctx, jobID, &user.ID, keepFiles); err != nil {
		return job, err
	}
	if err := c.TellCancel(ctx, job); err != nil {
		return job, err
	}

	err = pollUntil(ctx, c.CancelPatience, func() (done bool, err error) {
		job, err = c.Store.Downloads.ByID(ctx, jobID)
		switch {
		case err != nil:
			return false, err
		case job.State == lifecycle.DownloadCanceled:
			return true, nil
		case lifecycle.Download.Terminal(job.State):
			_, err := lifecycle.Download.Decide(job.State, wanted, job.Facts())
			return true, err
		case job.CancelError != "":
			return true, fault.New(
				fault.ProviderUnavailable, "the torrent cannot be removed now: this is tried again until it is confirmed",
			).
				Retry().With("reason", job.CancelError)
		default:
			return false, nil
		}
	})

	return job, err
}

// Try says what Cancel or RetryImport would do.
func (c *Downloads) Try(
	ctx context.Context, user account.User, jobID int64, action lifecycle.DownloadAction,
) (Trial, error) {
	job, err := c.Get(ctx, user, jobID)
	if err != nil {
		return Trial{}, err
	}

	wanted := lifecycle.DownloadRequest{Action: action, Roles: rolesOf(user, job.UserID)}
	rule, err := lifecycle.Download.Decide(job.State, wanted, job.Facts())
	return trialOf(rule.To, job.RowVersion, err)
}

// TellCancel signals a job's workflow to end, unless it removes the torrent already: each signal is an event of the
// history. A workflow that was never started is started first. When the workflow cannot be reached, the watcher tells it
// what the record has.
func (c *Downloads) TellCancel(ctx context.Context, job download.Download) error {
	if job.RemovingAt != nil {
		return nil
	}

	if job.WorkflowStartedAt == nil {
		if err := c.Launch(ctx, job); err != nil {
			return err
		}
	}

	err := c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, job.ID)
	// gone: it is ending now, or the reconciler repairs it
	if err != nil && !temporalio.IsNotFound(err) {
		return temporalio.Unreachable(err)
	}
	return nil
}

// Refresh makes a job's workflow learn again what the record has: a requested cancel, a missing torrent, a download that
// has begun. The watcher signals whatever comes next.
func (c *Downloads) Refresh(ctx context.Context, job download.Download) error {
	name, argument := lifecycle.DownloadObservedSignal, any(nil)
	switch {
	case job.CancelRequestedAt != nil:
		name, argument = lifecycle.CancelSignal, job.ID
	case job.FirstNotFoundAt != nil:
		argument = lifecycle.Observation{JobID: job.ID, Place: job.SourcePlace, State: lifecycle.ObservedAbsent}
	case job.State == lifecycle.DownloadDownloading:
		argument = lifecycle.Observation{
			JobID: job.ID, Place: job.SourcePlace, State: lifecycle.ObservedDownloading, Stalled: job.Attention == string(fault.Stalled),
		}
	default:
		return nil
	}
	return c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", name, argument)
}

// DownloadWaitsFor is what a download waits for; empty: nothing.
func DownloadWaitsFor(d download.Download) string {
	complete := d.Progress >= 1 && d.ContentPath != ""
	return lifecycle.DownloadWaitsFor(
		d.State, d.CancelRequestedAt != nil, d.FirstNotFoundAt != nil, complete, fault.Code(d.Attention),
	)
}

// Get returns a job that the user may see: their own, or any job for an administrator. Other jobs do not exist for the
// user.
func (c *Downloads) Get(ctx context.Context, user account.User, jobID int64) (download.Download, error) {
	job, err := c.Store.Downloads.ByID(ctx, jobID)
	if err == nil && job.UserID != user.ID && !user.IsAdmin() {
		return download.Download{}, fault.New(fault.DownloadNotFound, "there is no such download")
	}
	return job, err
}

// List returns the jobs that the user may see, the newest first: their own, or for an administrator those of f.UserID
// (0: all).
func (c *Downloads) List(ctx context.Context, user account.User, f download.Filter) ([]download.Download, error) {
	if !user.IsAdmin() {
		f.UserID = user.ID
	}
	return c.Store.Downloads.List(ctx, f)
}

// DownloadActions lists what the user may do with the job now.
func DownloadActions(user account.User, job download.Download) []lifecycle.DownloadAction {
	return lifecycle.Download.Actions(job.State, rolesOf(user, job.UserID), job.Facts())
}
