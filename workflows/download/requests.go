package download

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// listen sets the handlers of the updates and of the query.
func (r *run) listen(ctx workflow.Context) error {
	err := record.Updates(
		ctx, lifecycle.DownloadUpdates, "the download: actor (a user id), and for cancel keep_files", r.validate, r.update,
	)
	if err != nil {
		return err
	}
	return record.Answer(ctx, r.view)
}

// validate checks the form of an update; the record decides. The previous job had the same workflow id.
func (r *run) validate(_ workflow.Context, _ lifecycle.DownloadAction, in lifecycle.DownloadInput) error {
	err := lifecycle.CheckActor(in.Actor)
	if err == nil && in.JobID != 0 && in.JobID != r.id {
		err = fault.Invalid("job_id", "this workflow drives another download")
	}
	if err != nil {
		return temporalio.Refusal(fault.As(err))
	}
	return nil
}

// update carries out a person's request. It answers a cancel with the end, or after the first attempt to remove the
// torrent.
func (r *run) update(
	ctx workflow.Context, action lifecycle.DownloadAction, in lifecycle.DownloadInput,
) (lifecycle.DownloadRecord, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	in.JobID = r.id
	asked := lifecycle.DownloadAsked{Action: action, In: in, RequestID: workflow.GetCurrentUpdateInfo(ctx).ID}
	now, err := record.Do(ctx, string(action), downloads.RequestDownload, asked)
	if err != nil {
		return now, err
	}

	if action == lifecycle.DownloadActionRetryImport {
		r.again = now.Status == lifecycle.DownloadDownloading && now.Attention != fault.ImportFailed
		r.enter(ctx, now)
		return now, nil
	}

	r.cancel()
	over := func() bool { return lifecycle.Download.Terminal(r.Status) }
	if err := workflow.Await(ctx, func() bool { return over() || r.tried }); err != nil {
		return now, err
	}
	if over() {
		return r.last, nil
	}
	if r.removal != "" {
		now.CancelError = r.removal
	}
	return now, nil
}

// cancel ends waiting for qBittorrent; the removal of the torrent follows.
func (r *run) cancel() {
	if r.canceled == "" {
		r.canceled = fault.CancelledByUser
		r.stop()
	}
}
