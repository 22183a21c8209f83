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

// observe reacts to a change of the torrent. A repeated or late observation changes nothing.
func (r *run) observe(life workflow.Context, seen lifecycle.Observation) error {
	if seen.Stalled != r.Stalled {
		if err := r.stall(life, seen.Stalled); err != nil {
			return err
		}
	}

	if seen.State != lifecycle.ObservedAbsent && seen.State != "" {
		if err := r.found(life); err != nil {
			return err
		}
	}

	if seen.Next && r.Left {
		return r.leave(life, lifecycle.DownloadSwitch{Outcome: fault.Stalled})
	}

	switch seen.State {
	case lifecycle.ObservedAbsent:
		return r.lose(life, seen.Restarted)
	case lifecycle.ObservedDownloading:
		return r.move(life, lifecycle.DownloadActionBegin, "")
	case lifecycle.ObservedComplete:
		return r.complete(life)
	case lifecycle.ObservedBroken:
		return r.repair(life, seen.Resumed)
	case lifecycle.ObservedLost:
		return r.fail(life, fault.ProviderError)
	default:
		return nil
	}
}

// lose begins the grace of a torrent that is not found. A torrent that qBittorrent may have lost in a restart is added
// once more.
func (r *run) lose(life workflow.Context, restarted bool) error {
	if r.GraceEnds == nil {
		if err := r.note(life, lifecycle.DownloadWentMissing); err != nil {
			return err
		}
		r.startGrace(life, r.Settings.Grace)
		r.show(life)
	}

	if restarted && !r.Readded {
		r.Readded = true
		// When it cannot be added, or was removed by hand, the grace decides.
		_, _ = r.add(life)
	}
	return nil
}

// startGrace starts the timer of the grace. The SDK reports a cancelled timer as ready, so this one does not end with
// the workflow's context.
func (r *run) startGrace(ctx workflow.Context, grace time.Duration) {
	ends := workflow.Now(ctx).Add(grace).UTC()
	r.GraceEnds = &ends
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx, r.endGrace = workflow.WithCancel(ctx)
	r.grace = workflow.NewTimerWithOptions(ctx, grace, workflow.TimerOptions{Summary: "grace of a missing torrent"})
}

// found ends the grace of a torrent that is found again.
func (r *run) found(life workflow.Context) error {
	if r.GraceEnds == nil {
		return nil
	}
	r.endGrace()
	r.grace, r.GraceEnds = nil, nil
	r.show(life)
	return r.note(life, lifecycle.DownloadFoundAgain)
}

// decideGrace decides at the end of the grace by a query that qBittorrent has answered: while qBittorrent is away, no
// torrent counts as missing.
func (r *run) decideGrace(life workflow.Context) error {
	r.grace = nil
	var again activities.Requery
	err := r.do(
		life, workflow.ExecuteActivity(untilDone(life, "look for the torrent"), downloads.LookForTorrent, r.id), &again,
	)

	switch {
	case r.stopping(life):
		return nil
	case err != nil:
		return err
	case again.Found:
		return r.found(life)
	case again.Wait > 0:
		r.startGrace(life, again.Wait)
		return nil
	case r.observations.Len() > 0: // what was seen meanwhile comes first
		r.startGrace(life, time.Second)
		return nil
	default:
		return r.fail(life, fault.MissingExternalJob)
	}
}

// repair resumes a torrent after its first error; the second error fails the job.
func (r *run) repair(life workflow.Context, again bool) error {
	switch {
	case r.Resumed && again:
		return r.fail(life, fault.ProviderError)
	case r.Resumed:
		return nil // the first error, reported twice
	}

	r.Resumed = true
	err := r.do(
		life, workflow.ExecuteActivity(untilDone(life, "let the torrent go on"), downloads.ResumeTorrent, r.id), nil,
	)

	if r.stopping(life) {
		return nil
	}
	return err
}

// stall records that there is no progress, or that there is progress again.
func (r *run) stall(life workflow.Context, stalled bool) error {
	r.Stalled = stalled
	note := lifecycle.DownloadRecovered
	if stalled {
		note = lifecycle.DownloadStalled
	}
	r.show(life)
	return r.note(life, note)
}

// note writes an event that changes no state.
func (r *run) note(ctx workflow.Context, note string) error {
	record, err := record.Do(ctx, "note "+note, downloads.NoteDownload, activities.Note{JobID: r.id, Type: note, Place: r.Place})
	if err != nil {
		return err
	}
	r.enter(ctx, record)
	return nil
}

// move makes a transition: the record first, then the workflow takes over what the record has.
func (r *run) move(ctx workflow.Context, action lifecycle.DownloadAction, reason fault.Code) error {
	if action == lifecycle.DownloadActionBegin && r.Status != lifecycle.DownloadQueued {
		return nil
	}

	move := lifecycle.DownloadMove{JobID: r.id, Action: action, Reason: reason, Place: r.Place}
	record, err := record.Do(ctx, string(action), downloads.MoveDownload, move)
	if err != nil {
		return err
	}

	r.enter(ctx, record)
	return nil
}

// enter takes over the record's status and source, and shows a new one to operators.
func (r *run) enter(ctx workflow.Context, record lifecycle.DownloadRecord) {
	if r.Left = record.Left; record.Place != r.Place {
		r.takeSource(ctx, record)
	}
	if record.Removing && r.canceled == "" { // as after a reset
		r.canceled = fault.CancelledByUser
	}

	r.toSend = record.ToSend
	if record.ImportFailed != r.ImportFailed {
		r.ImportFailed = record.ImportFailed
		r.show(ctx)
	}

	if record.Status == r.Status {
		return
	}

	r.Status, r.reason, r.Since = record.Status, record.Reason, workflow.Now(ctx).UTC()
	r.show(ctx)
}

// show updates what operators see: the details cost no event, attributes cost one when they change.
func (r *run) show(ctx workflow.Context) {
	r.describe(ctx)
	record.Show(ctx, record.Shown{
		Stage: string(r.Status), WaitsFor: r.waits(), DeadlineAt: r.GraceEnds,
		Attention: r.attention() != "" && !lifecycle.Download.Terminal(r.Status),
	})
}

func (r *run) view() lifecycle.StateView {
	return lifecycle.StateView{State: string(r.Status), Since: r.Since, WaitsFor: r.waitsFor(), DeadlineAt: r.GraceEnds}
}

// waitsFor is what the download waits for, for people.
func (r *run) waitsFor() string {
	if r.waits() == lifecycle.WaitsForQBittorrent && r.canceled != "" {
		return "qBittorrent, to remove the torrent"
	}
	return map[string]string{
		lifecycle.WaitsForTorrent: "the torrent, which is missing", lifecycle.WaitsForQBittorrent: "qBittorrent",
		lifecycle.WaitsForLibrary:  r.library(),
		lifecycle.WaitsForProgress: "progress: there has been none for long",
	}[r.waits()]
}

func (r *run) waits() string {
	return lifecycle.DownloadWaitsFor(r.Status, r.canceled != "", r.GraceEnds != nil, r.importing, r.attention())
}

// attention is why a person should look; empty: no need.
func (r *run) attention() fault.Code {
	switch {
	case r.ImportFailed:
		return fault.ImportFailed
	case r.Stalled:
		return fault.Stalled
	default:
		return ""
	}
}

func (r *run) library() string {
	if r.ImportFailed {
		return "a person to repeat the import: the files could not be put into the library folder"
	}
	return "its files, which are being put into the library folder"
}

// describe updates the current details in the Web UI.
func (r *run) describe(ctx workflow.Context) {
	record.ShowDetails(ctx, lifecycle.DownloadTitle(r.id, workflow.GetInfo(ctx).WorkflowExecution.ID),
		fmt.Sprintf("**%s** since %s", r.Status, r.Since.Format(time.RFC3339)), r.sourceShown(),
		record.WaitsFor(r.waitsFor()), record.EndsAt(r.GraceEnds))
}

// ending is the error that the workflow closes with; nil: completed.
func (r *run) ending() error {
	switch r.Status {
	case lifecycle.DownloadCompleted:
		return nil
	case lifecycle.DownloadCanceled:
		return temporal.NewCanceledError()
	default:
		return temporalio.Failed(fmt.Sprintf("the job ended %s", r.Status), string(r.reason))
	}
}
