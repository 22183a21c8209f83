// Package download is the third workload: qBittorrent downloads a torrent for a book of the library.
//
// A job is one workflow. It adds the torrent to qBittorrent, then waits. One watcher for all jobs, the workflow
// download-sync, polls qBittorrent and signals a job only when its torrent has changed state, so that a download of ten
// hours costs no more events than one of a minute. The workflow decides by the table and records each transition. A
// completed download enters the library in the same database transaction. A missing torrent starts a durable timer, at
// whose end a new query decides. A cancel ends the job once the torrent is known to be gone.
package download

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// Settings are the limits of the workflow.
type Settings struct {
	Grace    time.Duration // for a missing torrent
	AddEvery time.Duration // between two attempts to add a torrent
	AddTries int32         // attempts to add a torrent
}

// Workflow drives download jobs.
type Workflow struct{ Settings Settings }

// downloads serves only to name the activities; the worker has the real ones.
var downloads *activities.Activities

// Carried is what a job's workflow hands to its next run.
type Carried struct {
	Status    lifecycle.DownloadState `json:"status"`
	Since     time.Time               `json:"since"`
	GraceEnds *time.Time              `json:"grace_ends,omitempty"` // while the torrent is missing
	Readded   bool                    `json:"readded,omitempty"`
	Resumed   bool                    `json:"resumed,omitempty"`
	NoRoom    bool                    `json:"no_room,omitempty"`   // it waits for disk space
	Complete  bool                    `json:"complete,omitempty"`  // the torrent has all bytes
	Canceled  fault.Code              `json:"canceled,omitempty"`  // why the torrent is being removed; empty: it is not
	FromFile  bool                    `json:"from_file,omitempty"` // not from a magnet link

	NoMetadata bool       `json:"no_metadata,omitempty"` // qBittorrent is still fetching its magnet link's metadata
	Attention  fault.Code `json:"attention,omitempty"`   // why a person should check, as recorded; empty: no need

	Place   int  `json:"place,omitempty"`   // of the source being tried
	Sources int  `json:"sources,omitempty"` // how many there are, if several
	Left    bool `json:"left,omitempty"`    // another source can be tried
}

// run is the workflow's knowledge of its job.
type run struct {
	*Workflow
	Carried
	id       int64
	last     lifecycle.DownloadRecord // as last read
	reason   fault.Code               // of a failure
	canceled fault.Code               // why a person or the program requests the end; empty: no request
	toSend   bool                     // it has completed, and its files are to be sent
	grace    workflow.Future          // while the torrent is missing
	endGrace workflow.CancelFunc

	cancels, observations, earlier workflow.ReceiveChannel

	again   bool       // its import is to be retried
	tried   bool       // removing the torrent was tried and failed
	removal fault.Code // why that failed; empty: unknown

	stop   workflow.CancelFunc // ends waiting for qBittorrent
	handed bool                // the current source was handed to qBittorrent, or cannot be
}

// Run drives one job to its end. It completes if the book has the downloaded medium, is cancelled if a person stopped
// it, and otherwise fails with the reason, so that operators find each kind by its status. An operator starts it with
// only the job's id. carried is the previous run's state; nil: this is the first run.
func (w *Workflow) Run(ctx workflow.Context, jobID int64, carried *Carried) (lifecycle.DownloadRecord, error) {
	life, stop := workflow.WithCancel(ctx)
	r := &run{
		Workflow: w, id: jobID, Carried: Carried{Status: lifecycle.DownloadQueued, Since: workflow.Now(ctx).UTC()},
		stop:         stop,
		cancels:      workflow.GetSignalChannel(ctx, lifecycle.CancelSignal),
		observations: workflow.GetSignalChannel(ctx, lifecycle.DownloadObservedSignal),
		earlier:      workflow.GetSignalChannel(ctx, lifecycle.DownloadEarlierSignal),
	}
	err := r.listen(ctx)
	if err != nil {
		return lifecycle.DownloadRecord{}, err
	}

	if carried != nil {
		r.Carried, r.canceled, r.handed = *carried, carried.Canceled, true
		if r.GraceEnds != nil {
			r.startGrace(life, r.GraceEnds.Sub(workflow.Now(life)))
		}
	}
	r.describe(ctx)

	for err == nil && !lifecycle.Download.Terminal(r.Status) && !r.stopping(ctx) {
		if !r.handed && r.earlier.Len() == 0 {
			err = r.enqueue(life)
			continue
		}
		if r.mayContinue(ctx) {
			return lifecycle.DownloadRecord{}, workflow.NewContinueAsNewError(ctx, lifecycle.DownloadType, jobID, &r.Carried)
		}
		err = r.step(life)
	}

	if err == nil && !lifecycle.Download.Terminal(r.Status) {
		err = r.remove(ctx)
	}

	if err != nil {
		return lifecycle.DownloadRecord{}, err
	}
	if r.toSend {
		// A download does not fail because its files cannot be sent: that is recorded.
		_ = workflow.ExecuteActivity(untilDone(ctx, "send it to the chat"), downloads.SendDownload, r.id).Get(ctx, nil)
	}
	disconnected, _ := workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(disconnected, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return lifecycle.DownloadRecord{}, err
	}

	ended := lifecycle.DownloadRecord{Status: r.Status, Reason: r.reason}
	switch r.Status {
	case lifecycle.DownloadCompleted:
		return ended, nil
	case lifecycle.DownloadCanceled:
		return ended, temporal.NewCanceledError()
	default:
		return ended, temporalio.Failed(fmt.Sprintf("the job ended %s", r.Status), string(r.reason))
	}
}

// takeCancels receives the cancels that have arrived. A cancel may name its job, because the previous job had the same
// workflow id. Only the main loop receives signals, so that their channels show whether any is left for the next run.
func (r *run) takeCancels() {
	for r.cancels.Len() > 0 {
		var job any
		r.cancels.ReceiveAsync(&job)
		if id, named := job.(float64); !named || int64(id) == r.id {
			r.cancel()
		}
	}
}

// do runs an activity that waits for qBittorrent, until it is done or cancelled.
func (r *run) do(life workflow.Context, activity workflow.Future, result any) error {
	for !activity.IsReady() && !r.stopping(life) {
		err := workflow.Await(life, func() bool { return activity.IsReady() || r.cancels.Len() > 0 })
		if r.takeCancels(); err != nil {
			break // the workflow is cancelled, and so is the activity
		}
	}
	return activity.Get(life, result)
}

// enqueue adds the current source's torrent to qBittorrent, or fails. The completion of an earlier source ends it.
func (r *run) enqueue(life workflow.Context) error {
	r.handed = true
	handing, end := workflow.WithCancel(life)
	defer end()
	workflow.Go(handing, func(ctx workflow.Context) {
		if workflow.Await(ctx, func() bool { return r.earlier.Len() > 0 }) == nil {
			end()
		}
	})

	var record lifecycle.DownloadRecord
	err := r.fetch(handing)
	if err == nil && !r.stopping(handing) {
		record, err = r.add(handing)
	}

	switch {
	case err == nil && (lifecycle.Download.Terminal(record.Status) || record.CancelRequested): // before this run began
		r.enter(life, record)
		return nil
	case r.stopping(handing):
		r.handed = false
		return nil
	case err == nil:
		r.NoMetadata = record.NoMetadata
		r.enter(life, record)
		return nil
	}

	switch temporalio.CodeIn(err) {
	case fault.ProviderUnavailable, fault.ProviderUnauthorized:
		return r.fail(life, fault.EnqueueUnavailable)
	case fault.BookGone:
		return r.fail(life, fault.BookGone)
	default:
		return r.fail(life, fault.EnqueueFailed)
	}
}

// fetch writes the .torrent file of a job without a magnet link to the record. A file that crashes its worker costs one
// of the attempts, so that none is fetched forever.
func (r *run) fetch(life workflow.Context) error {
	read, err := record.Do(life, "read the job", downloads.LoadDownload, r.id)
	if err == nil {
		r.Place, r.Sources = read.Place, read.Sources
		r.enter(life, read)
	}
	if r.FromFile = read.NeedsFile; err != nil || !read.NeedsFile {
		return err
	}

	fetching := workflow.WithActivityOptions(life, workflow.ActivityOptions{
		TaskQueue:           lifecycle.TorrentQueue,
		StartToCloseTimeout: 3 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 5 * time.Second, BackoffCoefficient: 4, MaximumAttempts: fetchAttempts,
		},
		Summary: "fetch the .torrent file",
	})

	return record.Uninterrupted(fetching, func(ctx workflow.Context) error {
		return r.do(life, workflow.ExecuteActivity(ctx, downloads.FetchTorrent, r.id), nil)
	})
}

const fetchAttempts = 3

// refusals is how often qBittorrent may reject a torrent before the job fails: it also rejects torrents while it
// starts.
const refusals = 3

// add hands the torrent to qBittorrent. The policy counts the attempts while something is unavailable. What is not a
// failure of the job, a full disk, ends the attempts; once it is resolved, they begin anew.
func (r *run) add(life workflow.Context) (added lifecycle.DownloadRecord, err error) {
	for refused := 0; ; {
		err = record.Uninterrupted(r.adding(life), func(ctx workflow.Context) error {
			return r.do(life, workflow.ExecuteActivity(ctx, downloads.AddTorrent, r.id), &added)
		})

		switch temporalio.CodeIn(err) {
		case fault.NoFreeSpace:
			r.waitForRoom(life, true)
			err = r.do(life, workflow.ExecuteActivity(untilDone(life, "wait for room"), downloads.AwaitSpace, r.id), nil)
			r.waitForRoom(life, false)
		case fault.ProviderRejected:
			if refused++; refused == refusals {
				return added, err
			}
			// a setting must not decide whether there is a timer
			err = r.do(life, workflow.NewTimer(life, max(r.Settings.AddEvery, time.Second)), nil)
		default:
			return added, err
		}

		if err != nil || r.stopping(life) {
			return added, err
		}
	}
}

func (r *run) adding(life workflow.Context) workflow.Context {
	queue := lifecycle.MainQueue
	if r.FromFile {
		queue = lifecycle.TorrentQueue
	}

	return workflow.WithActivityOptions(life, workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: 3 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true, // an attempt in flight may still add it
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: r.Settings.AddEvery, BackoffCoefficient: 1, MaximumAttempts: r.Settings.AddTries,
			NonRetryableErrorTypes: []string{
				string(fault.BookGone), string(fault.NoFreeSpace), string(fault.ProviderRejected),
			},
		},
		Summary: "hand the torrent to qBittorrent",
	})
}

// step waits for the next cancel, observation or timer, and reacts to it.
func (r *run) step(life workflow.Context) error {
	err := workflow.Await(life, func() bool {
		return r.cancels.Len() > 0 || r.observations.Len() > 0 || r.earlier.Len() > 0 ||
			r.grace != nil && r.grace.IsReady() || r.again || r.mayContinue(life)
	})

	r.takeCancels()
	switch {
	case r.stopping(life):
		return nil
	case err != nil:
		return err
	case r.again:
		r.again = false
		return r.complete(life)
	case r.earlier.Len() > 0:
		var seen lifecycle.Observation
		if r.earlier.ReceiveAsync(&seen); seen.JobID == r.id && seen.Place != r.Place {
			return r.leave(life, lifecycle.DownloadSwitch{To: seen.Place})
		}
		return nil
	case r.observations.Len() > 0:
		var seen lifecycle.Observation
		if r.observations.ReceiveAsync(&seen); seen.JobID == r.id && seen.Place == r.Place {
			return r.observe(life, seen)
		}
		return nil
	case r.grace != nil && r.grace.IsReady():
		return r.decideGrace(life)
	default:
		return nil
	}
}

// mayContinue reports whether this run should hand over to the next: its history is long and nothing is in flight.
func (r *run) mayContinue(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.cancels.Len() == 0 && r.observations.Len() == 0 &&
		r.earlier.Len() == 0 && !r.again && !r.stopping(ctx) && workflow.AllHandlersFinished(ctx)
}

// stopping reports whether the job is to end, because a person, an operator or the program requests it.
func (r *run) stopping(ctx workflow.Context) bool { return r.canceled != "" || ctx.Err() != nil }

// remove ends a job once its torrent is known to be gone. qBittorrent may be unavailable for weeks, and people repeat
// their cancels: the next run continues the removal.
func (r *run) remove(ctx workflow.Context) error {
	if r.canceled == "" {
		r.canceled = fault.CancelledByUser
	}

	r.show(ctx)
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	var removed lifecycle.DownloadRecord
	removing := untilDone(ctx, "remove the torrent")
	once := workflow.WithRetryPolicy(removing, temporal.RetryPolicy{MaximumAttempts: 1})
	removal := workflow.ExecuteActivity(once, downloads.RemoveTorrent, r.id)
	for {
		err := workflow.Await(ctx, func() bool {
			return removal.IsReady() || r.cancels.Len() > 0 || r.observations.Len() > 0 || r.earlier.Len() > 0
		})
		if err != nil {
			return err
		}
		record.Drain(r.cancels, r.observations, r.earlier) // while the torrent is being removed they change nothing
		if !removal.IsReady() {
			if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) {
				r.Carried.Canceled = r.canceled
				return workflow.NewContinueAsNewError(ctx, lifecycle.DownloadType, r.id, &r.Carried)
			}
			continue
		}
		if err = removal.Get(ctx, &removed); err == nil {
			break
		}
		if r.tried {
			return err
		}
		r.tried, r.removal = true, temporalio.CodeIn(err) // the callers learn that it continues
		removal = workflow.ExecuteActivity(removing, downloads.RemoveTorrent, r.id)
	}

	if lifecycle.Download.Terminal(removed.Status) { // it had ended before
		r.enter(ctx, removed)
		return nil
	}

	return r.move(ctx, lifecycle.DownloadActionCancel, r.canceled)
}

// heartbeatTimeout is how long an activity may go without a heartbeat before its worker counts as lost.
const heartbeatTimeout = 10 * time.Second

// untilDone returns the options of an activity that is retried until it succeeds or is cancelled.
func untilDone(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	})
}
