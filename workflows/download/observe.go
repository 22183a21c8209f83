package download

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// observe reacts to a change of the torrent. Idempotent, even for late observations.
func (r *run) observe(life workflow.Context, seen lifecycle.Observation) error {
	r.NoRoom, r.NoMetadata = seen.NoRoom, seen.NoMetadata
	r.show(life)
	if err := r.attend(life, seen); err != nil {
		return err
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
	case lifecycle.ObservedTooLarge:
		return r.fail(life, fault.EnqueueFailed)
	case lifecycle.ObservedLost:
		return r.fail(life, fault.ProviderError)
	default:
		return nil
	}
}

// lose begins a missing torrent's grace. A torrent that qBittorrent may have lost in a restart is re-added.
func (r *run) lose(life workflow.Context, restarted bool) error {
	if r.GraceEnds == nil {
		if err := r.note(life, lifecycle.DownloadWentMissing); err != nil {
			return err
		}
		r.Complete = false
		r.startGrace(life, r.Settings.Grace)
		r.show(life)
	}

	if restarted && !r.Readded {
		r.Readded = true
		// If it cannot be added, or was removed by hand, the grace decides.
		_, _ = r.add(life)
	}
	return nil
}

// startGrace starts the grace's timer. The SDK reports a cancelled timer as ready, so this one does not end with the
// workflow's context.
func (r *run) startGrace(ctx workflow.Context, grace time.Duration) {
	ends := workflow.Now(ctx).Add(grace).UTC()
	r.GraceEnds = &ends
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	ctx, r.endGrace = workflow.WithCancel(ctx)
	r.grace = workflow.NewTimerWithOptions(ctx, grace, workflow.TimerOptions{Summary: "grace of a missing torrent"})
}

// found ends the grace of a torrent that is back.
func (r *run) found(life workflow.Context) error {
	if r.GraceEnds == nil {
		return nil
	}
	r.endGrace()
	r.grace, r.GraceEnds = nil, nil
	return r.note(life, lifecycle.DownloadFoundAgain)
}

// decideGrace decides at the end of the grace by a query that qBittorrent has answered: while qBittorrent is
// unavailable, no torrent counts as missing.
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
	case r.observations.Len() > 0: // observations made meanwhile take precedence
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

// attend records that a person should check, because the torrent is stalled or someone has stopped it in qBittorrent,
// or that it has resumed. A failed import still waits for its person.
func (r *run) attend(life workflow.Context, seen lifecycle.Observation) error {
	attention, note := fault.Code(""), lifecycle.DownloadRecovered
	switch {
	case seen.Stopped:
		attention, note = fault.TorrentStopped, lifecycle.DownloadStopped
	case seen.Stalled:
		attention, note = fault.Stalled, lifecycle.DownloadStalled
	}
	if attention == r.Attention || attention == "" && r.Attention == fault.ImportFailed {
		return nil
	}
	return r.note(life, note)
}

// waitForRoom shows that the download waits for disk space, or no longer does.
func (r *run) waitForRoom(life workflow.Context, noRoom bool) {
	r.NoRoom = noRoom
	r.show(life)
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

// move performs a transition: the record first, then the workflow adopts the recorded state.
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

// enter adopts the recorded state, and shows operators what is new. The record may lag behind the watcher's signal that
// the metadata is known.
func (r *run) enter(ctx workflow.Context, record lifecycle.DownloadRecord) {
	r.last = record
	if r.Left = record.Left; record.Place != r.Place {
		r.takeSource(record)
	}
	if record.CancelRequested { // as after a reset
		r.cancel()
	}
	r.toSend, r.Attention, r.NoMetadata = record.ToSend, record.Attention, r.NoMetadata && record.NoMetadata

	if record.Status != r.Status {
		r.Status, r.reason, r.Since = record.Status, record.Reason, workflow.Now(ctx).UTC()
	}
	r.show(ctx)
}

// show updates what operators see: the details cost no event, attributes cost one when they change.
func (r *run) show(ctx workflow.Context) {
	r.describe(ctx)
	record.Show(ctx, record.Shown{
		Stage: string(r.Status), WaitsFor: r.waits(), DeadlineAt: r.GraceEnds,
		Attention: r.Attention != "" && !lifecycle.Download.Terminal(r.Status),
	})
}

func (r *run) view() lifecycle.StateView {
	return lifecycle.StateView{State: string(r.Status), Since: r.Since, WaitsFor: r.waits(), DeadlineAt: r.GraceEnds}
}

// meanings explains each value of waits_for.
var meanings = map[string]string{
	lifecycle.WaitsForSlot:        "a place among the active downloads",
	lifecycle.WaitsForMetadata:    "the metadata of its magnet link",
	lifecycle.WaitsForSpace:       "room on the disk",
	lifecycle.WaitsForTorrent:     "the torrent, which is missing",
	lifecycle.WaitsForQBittorrent: "qBittorrent, to download the torrent",
	lifecycle.WaitsForPeers:       "peers: there has been no progress for long",
	lifecycle.WaitsForStart:       "somebody to start the torrent in qBittorrent, where it was stopped",
	lifecycle.WaitsForImport:      "its files, which are being put into the library folder",
}

func (r *run) waits() string {
	return lifecycle.DownloadWaitsFor(lifecycle.DownloadWaits{
		State: r.Status, Ending: r.canceled != "", Missing: r.GraceEnds != nil, Complete: r.Complete, NoRoom: r.NoRoom,
		NoMetadata: r.NoMetadata, Attention: r.Attention,
	})
}

// describe updates the current details in the Web UI.
func (r *run) describe(ctx workflow.Context) {
	waits := r.waits()
	means := meanings[waits]
	switch {
	case waits == lifecycle.WaitsForQBittorrent && r.canceled != "":
		means = "qBittorrent, to remove the torrent"
	case waits == lifecycle.WaitsForImport && r.Attention == fault.ImportFailed:
		means = "a person to repeat the import: the files could not be put into the library folder"
	}

	source := ""
	if r.Sources > 0 {
		source = fmt.Sprintf("Source %d of %d.", r.Place, r.Sources)
	}
	record.ShowDetails(ctx, lifecycle.DownloadTitle(r.id, workflow.GetInfo(ctx).WorkflowExecution.ID),
		fmt.Sprintf("**%s** since %s", r.Status, r.Since.Format(time.RFC3339)), source,
		record.WaitsFor(waits, means), record.EndsAt(r.GraceEnds))
}
