package download

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// complete ends a job whose torrent is complete. With a library folder, its files are imported first. A torrent without
// files of the medium makes the job switch to the next source. If its files cannot be imported, the job waits for a
// person to retry: the watcher then reports the torrent again.
func (r *run) complete(life workflow.Context) error {
	move := lifecycle.DownloadMove{JobID: r.id, Action: lifecycle.DownloadActionComplete, Place: r.Place}
	moved, err := record.Do(life, string(move.Action), downloads.MoveDownload, move)
	if err != nil {
		return err
	}
	r.Complete = true
	if r.enter(life, moved); !moved.NeedsImport {
		return nil
	}
	if err := r.move(life, lifecycle.DownloadActionBegin, ""); err != nil {
		return err
	}

	var imported lifecycle.DownloadRecord
	err = record.Uninterrupted(importing(life), func(ctx workflow.Context) error {
		return r.do(life, workflow.ExecuteActivity(ctx, downloads.ImportDownload, r.id), &imported)
	})
	switch code := temporalio.CodeIn(err); {
	case err == nil:
		r.enter(life, imported)
		return nil
	case r.stopping(life):
		return nil
	case code == fault.ProviderUnavailable || code == fault.ProviderUnauthorized:
		return nil // the watcher reports the torrent again once qBittorrent answers
	case code == fault.MediumUnsuitable:
		if left, err := r.makeRoom(life, code); left || err != nil {
			return err
		}
		return r.noteFailedImport(life, code)
	default:
		return r.noteFailedImport(life, fault.ImportFailed)
	}
}

func (r *run) noteFailedImport(life workflow.Context, reason fault.Code) error {
	note := activities.Note{JobID: r.id, Type: lifecycle.DownloadImportFailed, Place: r.Place, Reason: reason}
	record, err := record.Do(life, "note "+note.Type, downloads.NoteDownload, note)
	if err != nil {
		return err
	}
	r.enter(life, record)
	return nil
}

// importing returns the options of an import: copying the biggest audiobook takes hours on a slow disk. The attempts
// ride out half a minute of trouble.
func importing(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 8 * time.Hour,
		HeartbeatTimeout:    2 * heartbeatTimeout, // a disk may have to spin up
		WaitForCancellation: true,                 // its files may already be in the library folder
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumAttempts: 5,
		},
		Summary: "put the files into the library folder",
	})
}
