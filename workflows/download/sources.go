package download

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// fail switches to the next source, or fails the job if none is left or no other one can help.
func (r *run) fail(life workflow.Context, reason fault.Code) error {
	if reason != fault.BookGone && reason != fault.EnqueueUnavailable {
		if left, err := r.makeRoom(life, reason); left || err != nil {
			return err
		}
	}
	return r.move(life, lifecycle.DownloadActionFail, reason)
}

// makeRoom switches to the next source, if there is one; left is true also if the job ends instead.
func (r *run) makeRoom(life workflow.Context, reason fault.Code) (left bool, err error) {
	if !r.Left {
		return false, nil
	}
	place := r.Place
	err = r.leave(life, lifecycle.DownloadSwitch{Outcome: reason})
	return r.Place != place || r.stopping(life) || lifecycle.Download.Terminal(r.Status), err
}

// leave switches to another source: the record first, then the workflow adopts the recorded state.
func (r *run) leave(ctx workflow.Context, by lifecycle.DownloadSwitch) error {
	by.JobID, by.From = r.id, r.Place
	record, err := record.Do(ctx, "change the source", downloads.NextSource, by)
	if err != nil {
		return err
	}

	r.enter(ctx, record)
	return nil
}

// takeSource begins with another source: observations of the previous torrent no longer count. Its torrent is then
// handed to qBittorrent, unless it is already there.
func (r *run) takeSource(record lifecycle.DownloadRecord) {
	if r.GraceEnds != nil {
		r.endGrace()
	}
	r.grace, r.GraceEnds = nil, nil
	r.Readded, r.Resumed, r.NoRoom, r.Complete, r.again = false, false, false, false, false
	r.Place, r.handed, r.NoMetadata = record.Place, record.Added, record.NoMetadata
}
