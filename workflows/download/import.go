package download

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// complete ends a job whose torrent is complete. Where there is a library folder, its files are put there before. A
// torrent without files of the medium makes room for the next source. When its files cannot be put there, the job waits
// for a person who repeats it: the watcher then reports the torrent once more.
func (r *run) complete(life workflow.Context) error {
	move := lifecycle.DownloadMove{JobID: r.id, Action: lifecycle.DownloadActionComplete, Place: r.Place}
	moved, err := record.Do(life, string(move.Action), downloads.MoveDownload, move)
	if err != nil {
		return err
	}
	if r.enter(life, moved); !moved.NeedsImport {
		return nil
	}
	if err := r.move(life, lifecycle.DownloadActionBegin, ""); err != nil {
		return err
	}

	r.importing = true
	r.show(life)
	var imported lifecycle.DownloadRecord
	err = r.do(life, workflow.ExecuteActivity(importing(life), downloads.ImportDownload, r.id), &imported)
	r.importing = false

	switch code := typeOf(err); {
	case err == nil:
		r.enter(life, imported)
		r.show(life)
		return nil
	case r.stopping(life):
		return nil
	case code == fault.ProviderUnavailable || code == fault.ProviderUnauthorized:
		r.show(life)
		return nil // the watcher reports the torrent again when qBittorrent answers
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

// importing gives the options of an import: a copy of the biggest audiobook takes hours on a slow disk. The attempts
// pass over troubles of half a minute.
func importing(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 8 * time.Hour,
		HeartbeatTimeout:    2 * heartbeatTimeout, // a disk may have to wake up
		WaitForCancellation: true,                 // its files may be in the library folder already
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 2 * time.Second, BackoffCoefficient: 2, MaximumAttempts: 5,
		},
		Summary: "put the files into the library folder",
	})
}
