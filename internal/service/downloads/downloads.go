// Package downloads creates, finds and cancels downloads, starts their workflows, and manages the books.
package downloads

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
	"stagecoach/internal/service"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/torrent"
)

// Service creates, finds and cancels downloads for the API and the bot, and manages the books.
type Service struct {
	Temporal  client.Client
	Store     *store.Store
	Log       *slog.Logger
	Off       bool                                // there is no qBittorrent: nothing starts
	OnStarted func(mediaType string)              // counts new jobs
	OnEnded   func(state lifecycle.DownloadState) // counts ends
	Payloads  converter.DataConverter             // converter of Temporal payloads; nil: the SDK's default
	// CancelPatience is how long Cancel waits for the first attempt to remove the torrent.
	CancelPatience time.Duration
	Grace          time.Duration // how long a torrent may be missing
	Indexers       Indexers      // nil: search is unavailable
	Searches       *allowance.Searches
	// Deliveries sends library files to chats.
	Deliveries *deliveries.Service
	Library    bool // there is a library folder
}

// Deadline returns when a download fails unless its missing torrent reappears, or nil if the torrent is not missing.
func (c *Service) Deadline(job download.Download) *time.Time {
	if job.FirstNotFoundAt == nil || lifecycle.Download.Terminal(job.State) {
		return nil
	}
	at := job.FirstNotFoundAt.Add(c.Grace).UTC()
	return &at
}

// Ask is a request for a download.
type Ask struct {
	BookID    int64
	MediaType string // store.MediaText or store.MediaAudio
	Source    string // where the link was found, up to MaxSource characters; empty: "magnet" or "torrent"
	SourceURL string // a magnet link, or the http(s) address of a .torrent file
	// Sources are tried in this order, each when the previous one fails or stalls. SourceURL's comes first and may be
	// repeated here with its details. Those that have failed before for the user and medium are left out.
	Sources []download.Source
	Send    bool   // send the files to the user's chat once they have arrived
	Key     string // the same key and user return the same job; empty: each request is new

	again int64 // the download to repeat, with its other details; 0: none
}

// MaxSource is the longest name of a source, in characters.
const MaxSource = 100

// keptDownload is the id of the download that the first request with a key returned.
type keptDownload int64

func (k keptDownload) Outcome() (int64, error) { return int64(k), nil }

// Start creates a download. It returns created = false with the answer to the first request with the same key, or with
// the active download of the same user, book and medium. A recorded job is never lost: if Temporal is unavailable, the
// reconciler starts it later. PROVIDER_UNAVAILABLE: there is no qBittorrent.
func (c *Service) Start(
	ctx context.Context, user account.User, ask Ask,
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

	never := func(*fault.Error) bool { return false } // a refusal may no longer apply when the request is repeated
	kept := func(id *int64, _ *fault.Error) keptDownload { return keptDownload(*id) }
	first, err := service.Once(ctx, c.Store, request, kept, never, func(string) (int64, bool, error) {
		job, created, err = c.start(ctx, user, ask)
		return job.ID, false, err
	})
	if err != nil || first == job.ID {
		return job, created, err
	}

	job, err = c.Get(ctx, user, first)
	return job, false, err
}

func (c *Service) start(
	ctx context.Context, user account.User, ask Ask,
) (job download.Download, created bool, err error) {
	if ask.again != 0 {
		if ask, err = c.askedBefore(ctx, user, ask); err != nil {
			return download.Download{}, false, err
		}
	}
	ask.SourceURL, ask.Sources = torrent.Tidy(ask.SourceURL), slices.Clone(ask.Sources)
	for i := range ask.Sources {
		ask.Sources[i].SourceURL = torrent.Tidy(ask.Sources[i].SourceURL)
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
	if wanted.Sources, err = c.candidates(ctx, user, ask, sources); err != nil {
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
			c.Log.Warn("download recorded, its workflow will be started later", "download", job.ID, "error", err)
		}
	}
	return job, created, nil
}

// check validates a request, naming the field at fault, and returns its sources without duplicate torrents.
func (a Ask) check() (origin torrent.Source, sources []download.Source, err error) {
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
		Priority:                                 temporal.Priority{FairnessKey: owner}, // activities too: fair between users
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporalio.EntityAttribute.ValueSet(strconv.FormatInt(job.ID, 10)),
			temporalio.WaitsForAttribute.ValueSet(job.WaitsFor()),
			temporalio.StageAttribute.ValueSet(string(job.State)),
			temporalio.OwnerAttribute.ValueSet(owner),
		),
	}
}

// Restart starts a job's workflow anew from the record, whatever the old workflow's state: the record was restored.
func (c *Service) Restart(ctx context.Context, job download.Download) error {
	options := downloadStart(job)
	options.WorkflowIDConflictPolicy = enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	options.WorkflowExecutionErrorWhenAlreadyStarted = false
	if _, err := service.Start(ctx, c.Temporal, options, lifecycle.DownloadType, job.ID); err != nil {
		return err
	}
	return c.Store.Downloads.MarkStarted(ctx, job.ID)
}

// launchPatience is how long Launch waits for the previous workflow to end.
const launchPatience = 5 * time.Second

// Launch starts a job's workflow, leaving an already started one alone. The previous job's workflow for the same user,
// book and medium may be about to end: Launch waits up to launchPatience for its id.
func (c *Service) Launch(ctx context.Context, job download.Download) error {
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
		// That workflow's outcome does not matter here.
		if err := c.Temporal.GetWorkflow(ctx, job.WorkflowID(), taken.RunId).Get(waiting, nil); waiting.Err() != nil {
			return temporalio.Unreachable(err)
		}
	}
}

// drivenBy reads which job a workflow run drives from its input, the first event of its history.
func (c *Service) drivenBy(ctx context.Context, workflowID, runID string) (jobID int64, err error) {
	history := c.Temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	first, err := history.Next()
	if err != nil {
		return 0, err
	}
	input := first.GetWorkflowExecutionStartedEventAttributes().GetInput()
	return jobID, cmp.Or(c.Payloads, converter.GetDefaultDataConverter()).FromPayloads(input, &jobID)
}

// Refresh signals a job's workflow what the record knows: a requested cancel, a missing torrent, a started download,
// and what it waits for. The watcher signals later changes.
func (c *Service) Refresh(ctx context.Context, job download.Download) error {
	if job.CancelRequestedAt != nil {
		return c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, job.ID)
	}

	unseen := lifecycle.Observation{JobID: job.ID, Place: job.SourcePlace}
	seen := unseen
	seen.NoRoom, seen.NoMetadata = job.NoRoom(), job.NoMetadata
	seen.Stalled, seen.Stopped = job.Attention == string(fault.Stalled), job.Attention == string(fault.TorrentStopped)
	switch {
	case job.FirstNotFoundAt != nil:
		seen.State = lifecycle.ObservedAbsent
	case job.State == lifecycle.DownloadDownloading:
		seen.State = lifecycle.ObservedDownloading
	case seen == unseen:
		return nil
	}
	return c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.DownloadObservedSignal, seen)
}

// Get returns a job visible to the user: their own, or any job for an administrator. Otherwise it returns not found.
func (c *Service) Get(ctx context.Context, user account.User, jobID int64) (download.Download, error) {
	job, err := c.Store.Downloads.ByID(ctx, jobID)
	if err == nil && job.UserID != user.ID && !user.IsAdmin() {
		return download.Download{}, fault.New(fault.DownloadNotFound, "there is no such download")
	}
	return job, err
}

// List returns the jobs visible to the user, newest first: their own, or for an administrator those of f.UserID (0:
// all).
func (c *Service) List(ctx context.Context, user account.User, f download.Filter) ([]download.Download, error) {
	if !user.IsAdmin() {
		f.UserID = user.ID
	}
	return c.Store.Downloads.List(ctx, f)
}

// Actions lists what the user may currently do with the job.
func Actions(user account.User, job download.Download) []lifecycle.DownloadAction {
	return lifecycle.Download.Actions(job.State, service.RolesOf(user, job.UserID), job.Facts())
}
