package download_test

import (
	"context"
	"testing"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// TestReconcile lets the reconciler find a download that was never started, one whose workflow was terminated, and one
// that was never told of its cancel, and leave one alone that runs.
func TestReconcile(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, time.Minute)
	ctx := t.Context()
	begin := func(n int64) download.Download {
		w.book = w.newBook()
		job := w.start(magnet(n))
		return w.becomes(job, lifecycle.DownloadDownloading)
	}

	running, terminated, untold := begin(1), begin(2), begin(3)
	w.must(w.client.TerminateWorkflow(ctx, terminated.WorkflowID(), "", "by hand"))
	w.must(w.store.RequestDownloadCancel(ctx, untold.ID, &w.reader.ID, false))
	w.book = w.newBook()
	unstarted, _, err := w.store.CreateDownload(ctx, download.Download{
		UserID: w.reader.ID, BookID: w.book.ID, MediaType: download.MediaText, Source: "test", SourceURL: magnet(4),
	}, core.Event{Type: "enqueued", To: "queued"})

	w.must(err)
	w.exec(`UPDATE download_jobs SET created_at_utc = now() - interval '1 minute'`)

	w.must(w.client.TerminateWorkflow(ctx, w.syncID(), "", "by hand"))
	reconciler := &reconcile.Reconciler{
		Temporal: w.client, Store: w.store, Workloads: []service.Workload{watched{w.jobs.Workload(), w}}, Log: w.jobs.Log,
	}

	stop := testtemporal.Repeat(t, reconciler.Reconcile)
	w.becomes(unstarted, lifecycle.DownloadDownloading)
	got := w.becomes(terminated, lifecycle.DownloadFailed)
	w.becomes(untold, lifecycle.DownloadCanceled)
	stop()
	if *got.FailureReason != "terminated_by_operator" || w.reload(running).State != lifecycle.DownloadDownloading {
		t.Errorf("%+v", got)
	}

	w.eventually("its torrent is put aside", func() bool {
		for _, torrent := range w.qb.Torrents() {
			if torrent.InfohashV1 == terminated.InfohashV1 {
				return torrent.Category == "done" && torrent.State == "pausedDL" && len(torrent.Tags) == 0
			}
		}
		return false
	})

	// The next job for the same book begins where this one was left.
	next, created, err := w.jobs.Start(
		ctx, w.reader, service.DownloadAsk{BookID: terminated.BookID, MediaType: download.MediaText, SourceURL: magnet(2)},
	)
	if err != nil || !created {
		t.Fatal(created, err)
	}

	w.becomes(next, lifecycle.DownloadDownloading)
	if torrent := w.torrent(next); torrent == nil || torrent.SavePath != "/books/"+terminated.Tag() {
		t.Errorf("%+v", torrent)
	}
}

// watched is the workload with a watcher of the test's own.
type watched struct {
	service.Workload
	rig *rig
}

func (w watched) Prepare(ctx context.Context) error { return w.rig.startSync(ctx) }
