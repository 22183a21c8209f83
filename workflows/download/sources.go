package download

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// fail makes room for the next source, or fails the job when none is left, or no other one can help.
func (r *run) fail(life workflow.Context, reason fault.Code) error {
	if reason != fault.BookGone && reason != fault.EnqueueUnavailable {
		if left, err := r.makeRoom(life, reason); left || err != nil {
			return err
		}
	}
	return r.move(life, lifecycle.DownloadActionFail, reason)
}

// makeRoom leaves the current source for the next one, where there is one; left is true also when the job ends instead.
func (r *run) makeRoom(life workflow.Context, reason fault.Code) (left bool, err error) {
	if !r.Left {
		return false, nil
	}
	place := r.Place
	err = r.leave(life, lifecycle.DownloadSwitch{Outcome: reason})
	return r.Place != place || r.stopping(life) || lifecycle.Download.Terminal(r.Status), err
}

// leave leaves the current source for another one: the record first, then the workflow takes over what the record has.
func (r *run) leave(ctx workflow.Context, by lifecycle.DownloadSwitch) error {
	by.JobID, by.From = r.id, r.Place
	record, err := record.Do(ctx, "change the source", downloads.NextSource, by)
	if err != nil {
		return err
	}

	if record.CancelRequested && r.canceled == "" {
		r.canceled = fault.CancelledByUser
	}
	r.enter(ctx, record)
	return nil
}

// takeSource begins with another source: nothing that was seen of the torrent before counts. Its torrent is handed to
// qBittorrent next, unless it is there already.
func (r *run) takeSource(ctx workflow.Context, record lifecycle.DownloadRecord) {
	if r.GraceEnds != nil {
		r.endGrace()
	}
	r.grace, r.GraceEnds = nil, nil
	r.Readded, r.Resumed, r.Stalled = false, false, false
	r.Place, r.handed = record.Place, record.Added
	r.show(ctx)
}

// sourceShown says which of several sources is tried.
func (r *run) sourceShown() string {
	if r.Sources == 0 {
		return ""
	}
	return fmt.Sprintf("Source %d of %d.", r.Place, r.Sources)
}
