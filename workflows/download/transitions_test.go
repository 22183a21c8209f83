package download_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// TestLife follows downloads of a minute and of ten hours: they cost the same.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newRig(
		t,
		torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{
			Meta: time.Second / 2, Duration: 10 * time.Hour, Size: 1 << 30,
		}},
		time.Minute,
	)

	lengths := map[time.Duration]int{}
	for i, takes := range []time.Duration{time.Minute, 10 * time.Hour} {
		w.book = w.newBook()
		w.qb.SetPlan(torrentsim.TorrentPlan{Meta: time.Second / 2, Duration: takes, Size: 1 << 30})
		job := w.start(magnet(int64(i)))
		w.becomes(job, lifecycle.DownloadDownloading)

		for step := range 9 {
			w.must(w.qb.Advance(takes / 10))
			least := float64(step+1) / 10
			w.eventually("progress is recorded", func() bool { return w.reload(job).Progress >= least })
		}

		if got := w.reload(job); got.Size != 1<<30 || got.Speed == 0 || got.ETA == nil || got.ExternalJobID == nil {
			t.Errorf("%+v", got)
		}

		w.must(w.qb.Advance(takes))
		got := w.becomes(job, lifecycle.DownloadCompleted)
		if end := w.closed(job); end != "Completed" || got.CompletedAt == nil || got.Progress != 1 || got.FailureReason != nil {
			t.Errorf("%s, %+v", end, got)
		}
		if got := fmt.Sprint(w.events(job)); got != "[enqueued started completed]" {
			t.Errorf("events %s", got)
		}

		w.eventually("the torrent is in the done category", func() bool { return w.torrent(job).Category == "done" })
		book, err := w.jobs.Book(t.Context(), w.book.ID)
		if err != nil || book.State != download.BookLibrary || len(book.Media) != 1 || book.Media[0].Path != got.ContentPath || book.Media[0].SourceURL != magnet(int64(i)) {
			t.Errorf("%+v, %v", book, err)
		}

		lengths[takes] = len(w.history(job.WorkflowID(), ""))
	}

	t.Logf("events: %v", lengths)
	if lengths[time.Minute] != lengths[10*time.Hour] || lengths[time.Minute] > 40 {
		t.Errorf("events: %v", lengths)
	}
}

// TestCancelAgainstCompletion lets both come at the same moment, many times: one end each, and record, Temporal and
// qBittorrent agree on it.
func TestCancelAgainstCompletion(t *testing.T) {
	t.Parallel()
	night.Only(t)
	const races = 200
	w := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, time.Minute)
	ctx := t.Context()
	w.exec(
		`INSERT INTO books (title, creator_id) SELECT 'book ' || n, $1 FROM generate_series(1, $2::int) AS n`, w.reader.ID,
		races,
	)
	books, err := w.jobs.Books(ctx, download.BookFilter{Limit: races})
	w.must(err)
	jobs := make([]download.Download, races)
	starting := errgroup.Group{}
	starting.SetLimit(32)

	for i := range jobs {
		starting.Go(func() (err error) {
			jobs[i], _, err = w.jobs.Start(
				ctx, w.reader, service.DownloadAsk{BookID: books[i].ID, MediaType: download.MediaAudio, SourceURL: magnet(int64(i))},
			)
			if err == nil { // there is no reconciler here, and the machine may be busy
				err = w.jobs.Launch(ctx, jobs[i])
			}
			return err
		})
	}

	w.must(starting.Wait())
	for _, job := range jobs {
		w.becomes(job, lifecycle.DownloadDownloading)
	}

	complete := "stalledUP"
	racing := errgroup.Group{}
	racing.SetLimit(16)
	for i, job := range jobs {
		racing.Go(func() error {
			if err := w.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &complete}); err != nil {
				return err
			}
			time.Sleep(rand.N(5 * pollEvery)) // the end comes a few polls later when the machine is busy
			cancelled, err := w.jobs.Cancel(ctx, w.reader, job.ID, false)
			if err == nil && cancelled.State != lifecycle.DownloadCanceled || err != nil && fault.CodeOf(err) != fault.InvalidTransition {
				return fmt.Errorf("race %d: %s, %w", i, cancelled.State, err)
			}
			return nil
		})
	}

	w.must(racing.Wait())
	ends := map[lifecycle.DownloadState]int{}
	for i, job := range jobs {
		var got download.Download
		w.eventually("the job is over", func() bool { got = w.reload(job); return lifecycle.Download.Terminal(got.State) })
		ends[got.State]++
		want := map[lifecycle.DownloadState]string{
			lifecycle.DownloadCompleted: "Completed", lifecycle.DownloadCanceled: "Canceled",
		}[got.State]
		if end := w.closed(job); end != want {
			t.Errorf("race %d: the record says %s, Temporal %s", i, got.State, end)
		}

		w.eventually("qBittorrent agrees", func() bool {
			torrent := w.torrent(job)
			return (torrent == nil) == (got.State == lifecycle.DownloadCanceled) && (torrent == nil || torrent.Category == "done")
		})
		book, err := w.jobs.Book(ctx, job.BookID)
		if err != nil || (book.State == download.BookLibrary) != (got.State == lifecycle.DownloadCompleted) {
			t.Errorf("race %d: %s, and the book %+v, %v", i, got.State, book, err)
		}
		if n := len(w.events(job)); n != 3 {
			t.Errorf("race %d: events %v", i, w.events(job))
		}
	}

	t.Logf("ends: %v", ends)
}

// TestCancels cancels by the client, twice, by an operator, and while qBittorrent is away.
func TestCancels(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, time.Minute)
	ctx, admin, stranger := t.Context(), w.user(account.RoleAdmin), w.user(account.RoleUser)

	job := w.start(magnet(1))
	w.becomes(job, lifecycle.DownloadDownloading)
	_, err := w.jobs.Cancel(ctx, stranger, job.ID, false)
	w.wantCode(err, fault.DownloadNotFound)
	cancelled, err := w.jobs.Cancel(ctx, admin, job.ID, true)
	if err != nil || cancelled.State != lifecycle.DownloadCanceled || cancelled.FailureReason != nil {
		t.Errorf("%+v, %v", cancelled, err)
	}
	if end := w.closed(job); end != "Canceled" || len(w.qb.Torrents()) != 0 || w.qb.Deletions()[0].Files {
		t.Errorf("%s, %+v, %+v", end, w.qb.Torrents(), w.qb.Deletions())
	}

	_, err = w.jobs.Cancel(ctx, w.reader, job.ID, false)
	w.wantCode(err, fault.InvalidTransition)
	events, err := w.store.EventsOf(ctx, "download", fmt.Sprint(job.ID))
	if err != nil || len(events) != 3 || events[2].ActorID == nil || *events[2].ActorID != admin.ID {
		t.Errorf("%+v, %v", events, err)
	}

	again := w.start(magnet(1)) // another job, under the same id of a workflow
	w.becomes(again, lifecycle.DownloadDownloading)
	w.qb.AddFault(sim.Fault{Kind: "503"})
	kept, err := w.jobs.Cancel(ctx, w.reader, again.ID, false)
	w.wantCode(err, fault.ProviderUnavailable)
	if kept.State != lifecycle.DownloadDownloading || kept.CancelRequestedAt == nil {
		t.Errorf("%+v", kept)
	}
	if running, created, err := w.jobs.Start(ctx, w.reader, service.DownloadAsk{BookID: w.book.ID, MediaType: download.MediaText, SourceURL: magnet(1)}); err != nil || created || running.ID != again.ID {
		t.Errorf("%+v, %v, %v", running, created, err)
	}

	w.qb.ClearFaults()
	w.becomes(again, lifecycle.DownloadCanceled)
	if end := w.closed(again); end != "Canceled" || len(w.qb.Torrents()) != 0 {
		t.Errorf("%s, %+v", end, w.qb.Torrents())
	}

	w.qb.AddFault(sim.Fault{Match: "torrents/add", Kind: "timeout"})
	early := w.start(magnet(7)) // while it is being handed over
	w.eventually("qBittorrent is asked", func() bool {
		return slices.ContainsFunc(
			w.qb.Requests(), func(r sim.Request) bool { return r.Path == "/api/v2/torrents/add" && !r.Done },
		)
	})

	if got, err := w.jobs.Cancel(ctx, w.reader, early.ID, false); err != nil || got.State != lifecycle.DownloadCanceled || w.closed(early) != "Canceled" {
		t.Errorf("%+v, %v", got, err)
	}

	w.qb.ClearFaults()

	byOperator := w.start(magnet(2))
	w.becomes(byOperator, lifecycle.DownloadDownloading)
	w.must(w.client.CancelWorkflow(ctx, byOperator.WorkflowID(), ""))
	w.becomes(byOperator, lifecycle.DownloadCanceled)
	bySignal := w.start(magnet(3))
	w.becomes(bySignal, lifecycle.DownloadDownloading)
	w.must(w.client.SignalWorkflow(ctx, bySignal.WorkflowID(), "", lifecycle.CancelSignal, nil))
	w.becomes(bySignal, lifecycle.DownloadCanceled)

	for _, job := range []download.Download{byOperator, bySignal} {
		if end := w.closed(job); end != "Canceled" || w.torrent(job) != nil {
			t.Errorf("%s", end)
		}
	}
}

// TestMissing removes torrents behind our back: by hand, which ends the job, and by a restart, which does not.
func TestMissing(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, 2*time.Second)
	job := w.start(magnet(1))
	w.becomes(job, lifecycle.DownloadDownloading)
	w.must(w.qb.Remove(job.Tag()))
	w.eventually("it is missing", func() bool { return w.reload(job).FirstNotFoundAt != nil })
	got := w.becomes(job, lifecycle.DownloadFailed)
	if end := w.closed(job); end != "Failed" || *got.FailureReason != "missing_external_job" || got.FirstNotFoundAt == nil {
		t.Errorf("%s, %+v", end, got)
	}
	if got := fmt.Sprint(w.events(job)); got != "[enqueued started went_missing failed]" {
		t.Errorf("events %s", got)
	}

	lost := w.start(magnet(2))
	w.becomes(lost, lifecycle.DownloadDownloading)
	w.must(w.qb.Restart(1))
	w.eventually("it was missed", func() bool { return slices.Contains(w.events(lost), "went_missing") })
	w.eventually(
		"it is there again", func() bool { return w.torrent(lost) != nil && w.reload(lost).FirstNotFoundAt == nil },
	)
	complete := "uploading"
	w.must(w.qb.Change(lost.Tag(), torrentsim.TorrentChange{State: &complete}))
	w.becomes(lost, lifecycle.DownloadCompleted)
	if got := fmt.Sprint(w.events(lost)); got != "[enqueued started went_missing found_again completed]" {
		t.Errorf("events %s", got)
	}
}

// TestFailures ends jobs with each reason.
func TestFailures(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}}, time.Minute)
	fails := func(job download.Download, reason fault.Code) download.Download {
		t.Helper()
		got := w.becomes(job, lifecycle.DownloadFailed)
		if end := w.closed(job); end != "Failed" || *got.FailureReason != string(reason) {
			t.Errorf("%s, %+v; want %s", end, got, reason)
		}
		w.book = w.newBook()
		return got
	}

	broken, gone := "error", "missingFiles"
	job := w.start(magnet(1))
	w.becomes(job, lifecycle.DownloadDownloading)
	w.must(w.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &gone}))
	fails(job, fault.ProviderError)

	job = w.start(magnet(2))
	w.becomes(job, lifecycle.DownloadDownloading)
	w.must(w.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &broken}))
	w.eventually("it is told to go on", func() bool { return w.reload(job).ResumedAt != nil })
	w.must(w.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &broken}))
	w.exec(`UPDATE download_jobs SET resumed_at = now() - interval '1 minute'`)
	fails(job, fault.ProviderError)
	w.eventually("its torrent is put aside", func() bool {
		torrents := w.qb.Torrents()
		return !slices.ContainsFunc(
			torrents, func(t torrentsim.Torrent) bool { return t.Category == "active" || len(t.Tags) > 0 },
		)
	})

	w.must(w.qb.Put(torrentsim.Torrent{InfohashV1: magnet(3)[20:], Name: "theirs", Size: 5, Category: "films"}))
	if got := fails(w.start(magnet(3)), fault.EnqueueFailed); got.LastError != string(fault.ProviderRejected) {
		t.Errorf("%+v", got)
	}
	if got := fails(w.start("http://127.0.0.1:1/x.torrent?fast"), fault.EnqueueFailed); got.LastError != string(fault.SourceUnavailable) {
		t.Errorf("%+v", got)
	}
}

// TestNobodyPollsTwice runs two watchers: one polls, the other takes over when it stops.
func TestNobodyPollsTwice(t *testing.T) {
	t.Parallel()
	w := newRig(t, torrentsim.QBittorrentOptions{}, time.Minute)
	polls := func() (n int) {
		for _, r := range w.qb.Requests() {
			if r.Path == "/api/v2/torrents/info" {
				n++
			}
		}
		return n
	}

	w.eventually("the first polls", func() bool { return polls() > 2 })
	ours, err := w.store.OnlySync(t.Context(), func(context.Context) error { return nil })
	if ours || err != nil {
		t.Errorf("a second one may poll: %v", err)
	}

	w.stopWorker()
	before := polls()
	w.startWorker()
	w.eventually("the next one polls", func() bool { return polls() > before+2 })
}
