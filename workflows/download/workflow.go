// Package download is the third workload: a torrent is downloaded by qBittorrent for a book of the library.
//
// A job is one workflow. It adds the torrent to qBittorrent, then waits. One watcher for all jobs, the workflow
// download-sync, polls qBittorrent and signals a job only when its torrent has changed state, so that a download of ten
// hours costs no more events than one of a minute. The workflow decides by the table and writes each transition into
// the record. A completed download enters the library in the same database transaction. A torrent that is not found
// starts a durable timer, at whose end a new query decides. A cancel ends the job when the torrent is known to be gone.
package download

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// Settings are the limits of the workflow.
type Settings struct {
	Grace    time.Duration // for a torrent that is not found
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
	Stalled   bool                    `json:"stalled,omitempty"`
	Canceled  fault.Code              `json:"canceled,omitempty"`  // why the torrent is being removed; empty: it is not
	FromFile  bool                    `json:"from_file,omitempty"` // not from a magnet link

	ImportFailed bool `json:"import_failed,omitempty"` // a person has to repeat it
	Place        int  `json:"place,omitempty"`         // of the source that is tried
	Sources      int  `json:"sources,omitempty"`       // how many there are, where there are several
	Left         bool `json:"left,omitempty"`          // another source can be tried
}

// run is what the workflow knows of its job.
type run struct {
	*Workflow
	Carried
	id       int64
	reason   fault.Code      // of a failure
	canceled fault.Code      // why a person or the program wants the end; empty: no one does
	toSend   bool            // it has completed, and its files are to be sent
	grace    workflow.Future // while the torrent is missing
	endGrace workflow.CancelFunc

	importing bool // its files are being put into the library folder

	cancels, observations, earlier workflow.ReceiveChannel

	stop   workflow.CancelFunc // ends what waits for qBittorrent
	handed bool                // the current source was handed to qBittorrent, or cannot be
}

// Run drives one job to its end. It completes when the book has the downloaded medium, is cancelled when a person
// stopped it, and fails with the reason otherwise, so that operators find each kind by its status. An operator starts
// it with the job's id alone. carried is what the previous run handed over; nil: this is the first one.
func (w *Workflow) Run(ctx workflow.Context, jobID int64, carried *Carried) (lifecycle.DownloadRecord, error) {
	life, stop := workflow.WithCancel(ctx)
	r := &run{
		Workflow: w, id: jobID, Carried: Carried{Status: lifecycle.DownloadQueued, Since: workflow.Now(ctx).UTC()},
		stop:         stop,
		cancels:      workflow.GetSignalChannel(ctx, lifecycle.CancelSignal),
		observations: workflow.GetSignalChannel(ctx, lifecycle.DownloadObservedSignal),
		earlier:      workflow.GetSignalChannel(ctx, lifecycle.DownloadEarlierSignal),
	}
	err := record.Answer(ctx, r.view)
	if err != nil {
		return lifecycle.DownloadRecord{}, err
	}

	if carried == nil {
		r.describe(ctx)
	} else {
		r.goOn(life, *carried)
	}

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
		// What cannot be sent does not make the download fail: the record says it.
		_ = workflow.ExecuteActivity(untilDone(ctx, "send it to the chat"), downloads.SendDownload, r.id).Get(ctx, nil)
	}
	return lifecycle.DownloadRecord{Status: r.Status, Reason: r.reason}, r.ending()
}

// takeCancels receives the cancels that have arrived. A cancel may name its job, because the previous job had the same
// workflow id. Only the main loop receives signals, so that their channels show whether any is left for the next run.
func (r *run) takeCancels() {
	for r.cancels.Len() > 0 {
		var job any
		r.cancels.ReceiveAsync(&job)
		if id, named := job.(float64); r.canceled == "" && (!named || int64(id) == r.id) {
			r.canceled = fault.CancelledByUser
			r.stop()
		}
	}
}

// do runs an activity that waits for qBittorrent, until it is done or a cancel ends it.
func (r *run) do(life workflow.Context, activity workflow.Future, result any) error {
	for !activity.IsReady() && !r.stopping(life) {
		err := workflow.Await(life, func() bool { return activity.IsReady() || r.cancels.Len() > 0 })
		if r.takeCancels(); err != nil {
			break // the workflow is cancelled, and so is the activity
		}
	}
	return activity.Get(life, result)
}

// enqueue adds the torrent of the current source to qBittorrent, or fails. The completion of an earlier source ends it.
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
	case err == nil && lifecycle.Download.Terminal(record.Status): // it had ended before this run began
		r.enter(life, record)
		return nil
	case err == nil && record.CancelRequested:
		r.canceled = fault.CancelledByUser
		return nil
	case r.stopping(handing):
		r.handed = false
		return nil
	case err == nil:
		return nil
	}

	return r.fail(life, notBegun(typeOf(err)))
}

// notBegun is the reason why a job does not begin, by the code of the last failure.
func notBegun(code fault.Code) fault.Code {
	switch code {
	case fault.ProviderUnavailable, fault.ProviderUnauthorized:
		return fault.EnqueueUnavailable
	case fault.BookGone:
		return fault.BookGone
	default:
		return fault.EnqueueFailed
	}
}

// typeOf is the fault code of an activity's failure; empty: it has none, as a time-out.
func typeOf(err error) fault.Code {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return fault.Code(failure.Type())
	}
	return ""
}

// fetch writes the .torrent file of a job that has no magnet link into the record. A file that crashes its worker costs
// one of the attempts, so that no file is fetched for ever.
func (r *run) fetch(life workflow.Context) error {
	record, err := record.Do(life, "read the job", downloads.LoadDownload, r.id)
	if err == nil {
		r.Place, r.Sources, r.Left = record.Place, record.Sources, record.Left
		r.describe(life)
	}
	if r.FromFile = record.NeedsFile; err != nil || !record.NeedsFile {
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

	return r.do(life, workflow.ExecuteActivity(fetching, downloads.FetchTorrent, r.id), nil)
}

const fetchAttempts = 3

// refusals is how often qBittorrent may refuse one torrent until the job fails: it also refuses while it starts.
const refusals = 3

// add hands the torrent to qBittorrent. The policy counts the attempts while something is away. What is no failure of
// the job ends the attempts and is waited for, and they begin anew: a full disk, and a record that is away.
func (r *run) add(life workflow.Context) (record lifecycle.DownloadRecord, err error) {
	for refused := 0; ; {
		err = r.do(life, workflow.ExecuteActivity(r.adding(life), downloads.AddTorrent, r.id), &record)

		switch typeOf(err) {
		case fault.NoFreeSpace:
			err = r.do(life, workflow.ExecuteActivity(untilDone(life, "wait for room"), downloads.AwaitSpace, r.id), nil)
		case fault.ProviderRejected:
			if refused++; refused == refusals {
				return record, err
			}
			// a setting must not decide whether there is a timer
			err = r.do(life, workflow.NewTimer(life, max(r.Settings.AddEvery, time.Second)), nil)
		case fault.StoreUnavailable:
			err = nil
		default:
			return record, err
		}

		if err != nil || r.stopping(life) {
			return record, err
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

// goOn continues the previous run.
func (r *run) goOn(life workflow.Context, carried Carried) {
	r.Carried, r.canceled, r.handed = carried, carried.Canceled, true
	if r.GraceEnds != nil {
		r.startGrace(life, r.GraceEnds.Sub(workflow.Now(life)))
	}
	r.describe(life)
}

// step waits for the next cancel, observation or timer, and reacts to it.
func (r *run) step(life workflow.Context) error {
	err := workflow.Await(life, func() bool {
		return r.cancels.Len() > 0 || r.observations.Len() > 0 || r.earlier.Len() > 0 ||
			r.grace != nil && r.grace.IsReady() || r.mayContinue(life)
	})

	r.takeCancels()
	switch {
	case r.stopping(life):
		return nil
	case err != nil:
		return err
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

// mayContinue says whether this run should hand over to the next: its history is long and nothing is in flight.
func (r *run) mayContinue(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && r.cancels.Len() == 0 && r.observations.Len() == 0 &&
		r.earlier.Len() == 0 && !r.stopping(ctx)
}

// stopping says whether the job is to end, because a person, an operator or the program wants it.
func (r *run) stopping(ctx workflow.Context) bool { return r.canceled != "" || ctx.Err() != nil }

// remove ends a job once its torrent is known to be gone. qBittorrent may be away for weeks, and people repeat their
// cancels: the next run continues the removal.
func (r *run) remove(ctx workflow.Context) error {
	if r.canceled == "" {
		r.canceled = fault.CancelledByUser
	}

	r.describe(ctx)
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	removal := workflow.ExecuteActivity(untilDone(ctx, "remove the torrent"), downloads.RemoveTorrent, r.id)

	for !removal.IsReady() {
		err := workflow.Await(ctx, func() bool {
			return removal.IsReady() || r.cancels.Len() > 0 || r.observations.Len() > 0 || r.earlier.Len() > 0
		})
		if err != nil {
			return err
		}
		record.Drain(r.cancels, r.observations, r.earlier) // while the torrent is being removed they change nothing
		if !removal.IsReady() && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			r.Carried.Canceled = r.canceled
			return workflow.NewContinueAsNewError(ctx, lifecycle.DownloadType, r.id, &r.Carried)
		}
	}

	var removed lifecycle.DownloadRecord
	if err := removal.Get(ctx, &removed); err != nil {
		return err
	}
	if lifecycle.Download.Terminal(removed.Status) { // it had ended before
		r.enter(ctx, removed)
		return nil
	}

	return r.move(ctx, lifecycle.DownloadActionCancel, r.canceled)
}

// heartbeatTimeout is how long an activity may send no heartbeat before its worker counts as lost.
const heartbeatTimeout = 10 * time.Second

// untilDone gives the options of an activity that is retried until it succeeds or is cancelled.
func untilDone(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 2 * time.Minute,
		HeartbeatTimeout:    heartbeatTimeout,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	})
}
