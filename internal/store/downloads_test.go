package store_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// downloadRig is a database with two readers and a book.
type downloadRig struct {
	*rig
	ann, bob account.User
	book     download.Book
}

func newDownloadRig(t *testing.T) *downloadRig {
	t.Helper()
	w := newRig(t)
	s := &downloadRig{rig: w, ann: w.user(1), bob: w.user(2)}
	s.book = s.addBook("War and Peace")
	return s
}

func (s *downloadRig) addBook(title string) download.Book {
	s.t.Helper()
	book, err := s.Downloads.CreateBook(s.t.Context(), title, "Tolstoy", core.Request{UserID: s.ann.ID})
	s.must(err)
	return book
}

func (s *downloadRig) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := testdb.DB(s.t, s.url).Exec(s.t.Context(), sql, args...)
	s.must(err)
}

func (s *downloadRig) ask(user account.User) download.Download {
	return download.Download{
		UserID: user.ID, BookID: s.book.ID, MediaType: download.MediaText, Source: "magnet", SourceURL: "magnet:1",
	}
}

func (s *downloadRig) download(user account.User) download.Download {
	s.t.Helper()
	job, created, err := s.Downloads.Create(s.t.Context(), s.ask(user), core.Event{Type: "enqueued", To: "queued"})
	s.must(err)
	if !created {
		s.t.Fatal("there was one")
	}
	return job
}

// move gives a job another status.
func (s *downloadRig) move(job download.Download, to lifecycle.DownloadState) download.Download {
	s.t.Helper()
	job, err := s.Downloads.Change(s.t.Context(), job.ID, func(walk *download.DownloadWalk) error {
		d := walk.Row
		switch to {
		case lifecycle.DownloadCompleted:
			d.CompletedAt = &d.Now
			d.ContentPath = fmt.Sprintf("/books/%d", d.ID)
		case lifecycle.DownloadFailed:
			reason := "provider_error"
			d.FailureReason = &reason
		default:
		}

		return testdb.WalkTo(walk, lifecycle.Download, d.State, to, download.DownloadStep{})
	})

	s.must(err)
	return job
}

func (s *downloadRig) reload(job download.Download) download.Download {
	s.t.Helper()
	job, err := s.Downloads.ByID(s.t.Context(), job.ID)
	s.must(err)
	return job
}

func TestOneActiveDownload(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	var all sync.WaitGroup
	var made atomic.Int64
	ids := make([]int64, 50)

	for i := range ids {
		all.Go(func() {
			job, created, err := s.Downloads.Create(t.Context(), s.ask(s.ann), core.Event{Type: "enqueued", To: "queued"})
			if err != nil {
				t.Error(err)
			}
			if created {
				made.Add(1)
			}
			ids[i] = job.ID
		})
	}

	all.Wait()
	for _, id := range ids {
		if id != ids[0] || made.Load() != 1 {
			t.Fatalf("jobs %v, %d made", ids, made.Load())
		}
	}

	events, err := s.Notices.EventsOf(t.Context(), "download", fmt.Sprint(ids[0]))
	boards, boardErr := s.Notices.ClaimLiveMessages(t.Context(), 10, time.Minute)
	if err != nil || len(events) != 1 || *events[0].OwnerID != s.ann.ID || boardErr != nil || len(boards) != 1 || boards[0].Workload != lifecycle.WorkloadDownload {
		t.Errorf("%+v %v, %+v %v", events, err, boards, boardErr)
	}

	s.download(s.bob) // another reader's is another job
	audio := s.ask(s.ann)
	audio.MediaType = download.MediaAudio
	if _, created, err := s.Downloads.Create(t.Context(), audio, core.Event{Type: "enqueued", To: "queued"}); err != nil || !created {
		t.Error(created, err)
	}

	first := s.move(s.reload(download.Download{ID: ids[0]}), lifecycle.DownloadCanceled)
	second := s.download(s.ann)
	if second.ID == first.ID || second.WorkflowID() != first.WorkflowID() {
		t.Errorf("%+v", second)
	}

	nowhere := s.ask(s.ann)
	nowhere.BookID = 99
	if _, _, err := s.Downloads.Create(t.Context(), nowhere, core.Event{Type: "enqueued", To: "queued"}); fault.CodeOf(err) != fault.BookNotFound {
		t.Error(err)
	}
}

func TestCompletionFillsTheLibrary(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	if s.book.State != download.BookArchive || len(s.book.Media) != 0 {
		t.Fatalf("%+v", s.book)
	}

	job := s.move(s.download(s.ann), lifecycle.DownloadDownloading)
	s.must(s.Downloads.SaveFile(ctx, job.ID, 1, []byte("file"), "", ""))
	job = s.move(job, lifecycle.DownloadCompleted)
	book, err := s.Downloads.BookByID(ctx, s.book.ID)
	want := download.MediaAsset{
		MediaType: "text", Status: "available", Path: job.ContentPath, SourceURL: "magnet:1", OwnerID: &s.ann.ID,
	}
	if err != nil || book.State != download.BookLibrary || len(book.Media) != 1 || !reflect.DeepEqual(book.Media[0], want) {
		t.Errorf("%+v, %v", book, err)
	}
	if file, err := s.Downloads.File(ctx, job.ID); err != nil || file != nil {
		t.Errorf("the file is kept: %q, %v", file, err)
	}

	// Another download of the same medium: a new path, the old source.
	s.exec(`UPDATE media_assets SET status = 'deleted'; UPDATE books SET state = 'Archive'`)
	other := s.ask(s.bob)
	other.SourceURL = "magnet:2"
	again, _, err := s.Downloads.Create(ctx, other, core.Event{Type: "enqueued", To: "queued"})
	s.must(err)
	again = s.move(s.move(again, lifecycle.DownloadDownloading), lifecycle.DownloadCompleted)
	want.Path = again.ContentPath
	if book, err = s.Downloads.BookByID(ctx, s.book.ID); err != nil || book.State != download.BookLibrary || len(book.Media) != 1 || !reflect.DeepEqual(book.Media[0], want) {
		t.Errorf("%+v, %v", book, err)
	}

	// While it is there, another user's download completes without replacing it; the book's creator and administrators
	// replace it.
	admin, err := s.Accounts.CreateUser(ctx, account.User{Status: account.UserActive, Role: account.RoleAdmin}, account.NewToken())
	s.must(err)
	for _, c := range []struct {
		who      account.User
		replaces bool
	}{{s.bob, false}, {s.ann, true}, {s.bob, false}, {admin, true}} {
		done := s.move(s.move(s.download(c.who), lifecycle.DownloadDownloading), lifecycle.DownloadCompleted)
		if c.replaces {
			want.Path = done.ContentPath
		}
		book, err := s.Downloads.BookByID(ctx, s.book.ID)
		if err != nil || done.State != lifecycle.DownloadCompleted || !reflect.DeepEqual(book.Media, []download.MediaAsset{want}) {
			t.Errorf("user %d, %s: %+v, %v", c.who.ID, done.ContentPath, book.Media, err)
		}
	}

	// A download for a deleted book does not complete, and nothing is written.
	lost := s.move(s.download(s.ann), lifecycle.DownloadDownloading)
	s.exec(`DELETE FROM books WHERE id = $1`, s.book.ID)
	_, err = s.Downloads.Change(ctx, lost.ID, func(walk *download.DownloadWalk) error {
		walk.Row.CompletedAt, walk.Row.ContentPath = &walk.Row.Now, "/x"
		return walk.Take(download.DownloadStep{Action: lifecycle.DownloadActionComplete})
	})
	if after := s.reload(lost); fault.CodeOf(err) != fault.BookNotFound || after.State != lifecycle.DownloadDownloading || after.RowVersion != lost.RowVersion || after.BookTitle != "" {
		t.Errorf("%+v, %v", after, err)
	}
}

// TestDownloadsKeepTheirRules violates the record's own rules.
func TestDownloadsKeepTheirRules(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	job := s.download(s.ann)
	to := func(walk *download.DownloadWalk, state lifecycle.DownloadState) error {
		return testdb.WalkTo(walk, lifecycle.Download, walk.Row.State, state, download.DownloadStep{})
	}

	for name, wrong := range map[string]func(*download.DownloadWalk) error{
		"completed without a path": func(w *download.DownloadWalk) error {
			w.Row.CompletedAt = &w.Row.Now
			return to(w, lifecycle.DownloadCompleted)
		},
		"completed without a time": func(w *download.DownloadWalk) error {
			w.Row.ContentPath = "/x"
			err := to(w, lifecycle.DownloadCompleted)
			w.Row.CompletedAt = nil
			return err
		},
		"failed without a reason": func(w *download.DownloadWalk) error {
			err := to(w, lifecycle.DownloadFailed)
			w.Row.FailureReason = nil
			return err
		},
		"a reason without a failure": func(w *download.DownloadWalk) error {
			reason := "x"
			w.Row.FailureReason = &reason
			w.Note("x")
			return nil
		},
		"too much progress": func(w *download.DownloadWalk) error { w.Row.Progress = 1.01; w.Note("x"); return nil },
		"an unknown status": func(w *download.DownloadWalk) error { w.Row.State = "lost"; w.Note("x"); return nil },
	} {
		_, err := s.Downloads.Change(t.Context(), job.ID, wrong)
		if err == nil {
			t.Errorf("%s was written", name)
		}
	}

	if after := s.reload(job); after.RowVersion != 1 || after.State != lifecycle.DownloadQueued {
		t.Errorf("%+v", after)
	}
	if _, err := s.Downloads.ByID(t.Context(), 77); fault.CodeOf(err) != fault.DownloadNotFound {
		t.Error(err)
	}
}

func TestProgressInBatches(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	first, second, over := s.download(s.ann), s.download(s.bob), s.download(s.user(3))
	over = s.move(over, lifecycle.DownloadCanceled)
	for _, job := range []download.Download{first, second, over} {
		s.must(s.Downloads.MarkAdded(ctx, job.ID, 1))
	}

	if watched, err := s.Downloads.Watched(ctx, 0, 10); err != nil || len(watched) != 2 || watched[0].ID != first.ID || watched[0].WorkflowID() != first.WorkflowID() {
		t.Fatalf("%+v, %v", watched, err)
	}
	if watched, err := s.Downloads.Watched(ctx, first.ID, 10); err != nil || len(watched) != 1 || watched[0].Resumed != nil || watched[0].Idle < 0 {
		t.Fatalf("%+v, %v", watched, err)
	}

	s.exec(`UPDATE download_jobs SET progress_at = now() - interval '30 hours'`)
	eta := int64(7)
	written, err := s.Downloads.SaveProgress(ctx, []download.Progress{
		{ID: first.ID, Place: 1, ExternalJobID: "abc", InfohashV1: fmt.Sprintf("%040d", 1), ContentPath: "/x", Size: 10, Progress: 0.5, Speed: 3, ETA: &eta},
		{ID: second.ID, Place: 1},
		{ID: over.ID, Place: 1, Progress: 1},
		{ID: 77, Place: 1},
	})
	if err != nil || written != 2 {
		t.Fatal(written, err)
	}

	got := s.reload(first)
	if *got.ExternalJobID != "abc" || got.InfohashV1 == "" || got.ContentPath != "/x" || got.Size != 10 || got.Progress != 0.5 || got.Speed != 3 || *got.ETA != 7 || got.RowVersion != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := s.Downloads.SaveProgress(ctx, []download.Progress{{ID: first.ID, Place: 1, Progress: 0.5}}); err != nil {
		t.Error(err)
	}

	got = s.reload(first) // unknown values stay
	if *got.ExternalJobID != "abc" || got.Size != 10 || got.ETA != nil || got.Speed != 0 {
		t.Errorf("%+v", got)
	}

	watched, err := s.Downloads.Watched(ctx, 0, 10)
	if err != nil || watched[0].Idle > time.Hour || watched[1].Idle < 29*time.Hour || s.reload(over).Progress != 0 {
		t.Errorf("%+v, %v", watched, err)
	}

	// One that cannot be written stops the others, and the caller writes them one by one.
	if _, err := s.Downloads.SaveProgress(ctx, []download.Progress{{ID: first.ID, Place: 1, Progress: 0.7}, {ID: second.ID, Place: 1, Progress: 7}}); err == nil || s.reload(first).Progress != 0.5 {
		t.Error(err)
	}

	// What a workflow has written shows what it knows.
	s.must(s.Downloads.MarkResumed(ctx, second.ID))
	s.exec(`UPDATE download_jobs SET first_not_found_at_utc = now(), attention = 'stalled' WHERE id = $1`, second.ID)
	watched, err = s.Downloads.Watched(ctx, 0, 10)
	if err != nil || watched[0].Missing || watched[0].Stalled || watched[0].Resumed != nil || !watched[1].Missing || !watched[1].Stalled || watched[1].Resumed == nil {
		t.Errorf("%+v, %v", watched, err)
	}
}

// TestGraceCountsAnsweredPolls has a case for everything that may happen while a torrent is missing for two minutes.
func TestGraceCountsAnsweredPolls(t *testing.T) {
	t.Parallel()
	const grace, gap = time.Minute, 75 * time.Second
	for name, c := range map[string]struct {
		state       string // of the polls, in SQL
		least, most time.Duration
	}{
		"polls as ever":           {`polled_at = now(), reachable_since = now() - interval '5 hours'`, 0, 0},
		"reachable for 20 s":      {`polled_at = now(), reachable_since = now() - interval '20 seconds'`, 10 * time.Second, 40 * time.Second},
		"away":                    {`polled_at = now() - interval '10 seconds', reachable_since = now() - interval '5 hours', failure = 'PROVIDER_UNAVAILABLE'`, grace, grace},
		"nobody polls":            {`polled_at = now() - interval '76 seconds', reachable_since = now() - interval '5 hours'`, grace, grace},
		"nobody has polled":       {`polled_at = NULL`, grace, grace},
		"the last poll was a bit": {`polled_at = now() - interval '30 seconds', reachable_since = now() - interval '5 hours'`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newDownloadRig(t)
			job := s.download(s.ann)
			s.exec(`UPDATE download_jobs SET first_not_found_at_utc = now() - interval '2 minutes'`)
			s.exec(`UPDATE download_sync SET ` + c.state)
			left, err := s.Downloads.GraceLeft(t.Context(), job.ID, grace, gap)
			if err != nil || left < c.least || left > c.most {
				t.Errorf("%s left, %v; want %s … %s", left, err, c.least, c.most)
			}
		})
	}
}

func TestPollsAreNoted(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	note := func(restarted bool, gap time.Duration) download.DownloadSync {
		t.Helper()
		s.must(s.Downloads.NotePoll(ctx, restarted, gap))
		state, err := s.Downloads.Polls(ctx)
		s.must(err)
		if state.Failure != "" || state.PolledAt == nil {
			t.Errorf("%+v", state)
		}
		return state
	}

	first := note(false, time.Hour)
	if second := note(false, time.Hour); !second.ReachableSince.Equal(*first.ReachableSince) || !second.PolledAt.After(*first.PolledAt) {
		t.Errorf("%+v after %+v", second, first)
	}

	restarted := note(true, time.Hour)
	if !restarted.ReachableSince.After(*first.ReachableSince) {
		t.Error("a restart was not seen")
	}

	s.must(s.Downloads.NotePollFailure(ctx, "PROVIDER_UNAVAILABLE"))
	if state, err := s.Downloads.Polls(ctx); err != nil || state.Failure == "" || state.FailedAt == nil || !state.ReachableSince.Equal(*restarted.ReachableSince) {
		t.Errorf("%+v, %v", state, err)
	}

	back := note(false, time.Hour)
	if !back.ReachableSince.After(*restarted.ReachableSince) {
		t.Error("the outage was forgotten")
	}
	if late := note(false, 0); !late.ReachableSince.After(*back.ReachableSince) {
		t.Error("a pause without polls was not seen")
	}
}

func TestHandoverInTheRecord(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx, job := t.Context(), s.download(s.ann)
	s.must(s.Downloads.NoteTrouble(ctx, job.ID, fault.NoFreeSpace))
	s.must(s.Downloads.NoteElsewhere(ctx, job.ID, "tv"))
	if got := s.reload(job); got.LastError != string(fault.NoFreeSpace) || got.OtherCategory != "tv" {
		t.Errorf("%+v", got)
	}

	s.must(s.Downloads.Place(ctx, job.ID, 1, "/a"))
	s.must(s.Downloads.Place(ctx, job.ID, 1, "/b"))
	s.must(s.Downloads.MarkAdded(ctx, job.ID, 1))
	if got := s.reload(job); got.LastError != "" || got.AddedAt == nil || got.SavePath != "/a" {
		t.Errorf("%+v", got)
	}
}

// askToCancel records that the first reader cancels a job with its files.
func (s *downloadRig) askToCancel(job download.Download) {
	s.t.Helper()
	_, err := s.Downloads.Change(s.t.Context(), job.ID, func(walk *download.DownloadWalk) error {
		walk.Row.CancelRequestedAt, walk.Row.CancelRequestedBy, walk.Row.KeepFiles = &walk.Row.Now, &s.ann.ID, true
		walk.Edited = true
		return nil
	})
	s.must(err)
}

func TestCancelWishes(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx, job := t.Context(), s.download(s.ann)
	s.askToCancel(job)
	s.must(s.Downloads.NoteCancelError(ctx, job.ID, "PROVIDER_UNAVAILABLE"))
	got := s.reload(job)
	if !got.KeepFiles || *got.CancelRequestedBy != s.ann.ID || got.CancelRequestedAt == nil || got.CancelError != "PROVIDER_UNAVAILABLE" {
		t.Errorf("%+v", got)
	}

	s.move(job, lifecycle.DownloadCanceled)
	other := s.move(s.download(s.ann), lifecycle.DownloadFailed)
	done := s.move(s.move(s.download(s.ann), lifecycle.DownloadDownloading), lifecycle.DownloadCompleted)
	live := s.download(s.ann)
	ids := []int64{job.ID, other.ID, done.ID, live.ID, 77}
	if holding, err := s.Downloads.Holding(ctx, ids); err != nil || fmt.Sprint(holding) != fmt.Sprint([]int64{done.ID, live.ID, 77}) {
		t.Errorf("held by %v, %v", holding, err)
	}
	if ended, err := s.Downloads.Ended(ctx, ids); err != nil || len(ended) != 3 {
		t.Errorf("ended %+v, %v", ended, err)
	}
	if listed, err := s.Downloads.List(ctx, download.Filter{UserID: s.ann.ID, Active: true, Limit: 10}); err != nil || len(listed) != 1 || listed[0].ID != live.ID {
		t.Errorf("%+v, %v", listed, err)
	}
}

// TestOneWatcher lets two compete for the lock.
func TestOneWatcher(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	held, release := make(chan struct{}), make(chan struct{})
	var first sync.WaitGroup
	first.Go(func() {
		ours, err := s.Downloads.OnlySync(t.Context(), func(context.Context) error { close(held); <-release; return nil })
		if !ours || err != nil {
			t.Error(ours, err)
		}
	})

	<-held
	if ours, err := s.Downloads.OnlySync(t.Context(), func(context.Context) error { return nil }); ours || err != nil {
		t.Error("two at once", err)
	}

	close(release)
	first.Wait()
	// PostgreSQL notices the end of a connection with a delay
	wait.Eventually(t, "the lock is free", func() bool {
		ours, err := s.Downloads.OnlySync(t.Context(), func(context.Context) error { return nil })
		return ours && err == nil
	})
}

func TestBooks(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	request := core.Request{UserID: s.ann.ID, Key: "k", Asked: "a book"}
	first, err := s.Downloads.CreateBook(ctx, "Ёлка 100%", "", request)
	s.must(err)
	if again, err := s.Downloads.CreateBook(ctx, "Ёлка 100%", "", request); err != nil || again.ID != first.ID {
		t.Errorf("%+v, %v", again, err)
	}

	for words, want := range map[string]int{"": 2, "ёлка": 1, "100%": 1, "%": 1, "_": 0, "tolstoy": 1, "PEACE": 1, "none": 0} {
		if got, err := s.Downloads.Books(ctx, download.BookFilter{Words: words, Limit: 10}); err != nil || len(got) != want {
			t.Errorf("%q: %+v, %v", words, got, err)
		}
	}

	if got, err := s.Downloads.Books(ctx, download.BookFilter{State: download.BookLibrary, Limit: 10}); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Downloads.BookByID(ctx, 99); fault.CodeOf(err) != fault.BookNotFound {
		t.Error(err)
	}
}

// TestABookIsCorrected lets a book's creator change and delete it while it has no media, and administrators always.
func TestABookIsCorrected(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	stranger, err := s.Accounts.CreateUser(ctx, account.User{Status: account.UserActive}, "")
	s.must(err)
	admin := account.User{ID: stranger.ID, Role: account.RoleAdmin, Status: account.UserActive}

	book, err := s.Downloads.ChangeBook(ctx, s.ann, s.book.ID, "Peace", "Nobody")
	s.must(err)
	if found, err := s.Downloads.Books(ctx, download.BookFilter{Words: "nobody peace", Limit: 10}); err != nil || len(found) != 1 || book.Title != "Peace" {
		t.Errorf("%+v, %v", found, err)
	}
	s.exec(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, 'text', 1, 'missing', 'a', 'magnet:x')`, s.book.ID)
	book, err = s.Downloads.BookByID(ctx, s.book.ID)
	s.must(err)
	for name, user := range map[string]account.User{"the creator of a book with media": s.ann, "a stranger": stranger} {
		if _, err := s.Downloads.ChangeBook(ctx, user, s.book.ID, "x", ""); fault.CodeOf(err) != fault.InsufficientAccess || book.MayChange(user) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Downloads.DeleteBook(ctx, user, s.book.ID); fault.CodeOf(err) != fault.InsufficientAccess {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Downloads.ChangeBook(ctx, admin, s.book.ID, "War", ""); err != nil || !book.MayChange(admin) {
		t.Error(err)
	}
	s.must(s.Downloads.DeleteBook(ctx, admin, s.book.ID))
	if err := s.Downloads.DeleteBook(ctx, admin, s.book.ID); fault.CodeOf(err) != fault.BookNotFound {
		t.Error(err)
	}
	if _, err := s.Downloads.ChangeBook(ctx, admin, s.book.ID, "x", ""); fault.CodeOf(err) != fault.BookNotFound {
		t.Error(err)
	}
}

// TestABookIsDeletedByItsPeople lets the creator's agent delete a book, but not the creator while another user
// downloads it, or if a medium arrives concurrently. Files that no download has left are deleted with it.
func TestABookIsDeletedByItsPeople(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	ctx := t.Context()
	agent := account.User{ID: s.bob.ID, OwnerID: &s.ann.ID, Status: account.UserActive}
	s.must(s.Downloads.DeleteBook(ctx, agent, s.addBook("Peace").ID))

	job := s.download(s.bob)
	if err := s.Downloads.DeleteBook(ctx, s.ann, s.book.ID); fault.CodeOf(err) != fault.InsufficientAccess {
		t.Errorf("while Bob downloads it: %v", err)
	}
	s.move(job, lifecycle.DownloadFailed)

	conn := testdb.Connect(t, s.url)
	arrival, err := conn.Begin(ctx)
	s.must(err)
	_, err = arrival.Exec(ctx, `SELECT FROM books WHERE id = $1 FOR UPDATE`, s.book.ID)
	s.must(err)
	over, refusal := make(chan struct{}), error(nil)
	go func() {
		defer close(over)
		refusal = s.Downloads.DeleteBook(ctx, s.ann, s.book.ID)
	}()
	s.blocked(over)
	_, err = arrival.Exec(ctx, `INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url)
		VALUES ($1, 'text', 999, 'available', 'a', 'magnet:x')`, s.book.ID)
	s.must(err)
	_, err = arrival.Exec(ctx, `INSERT INTO library_files (job_id, place, path, folded, size) VALUES (999, 1, 'a', 'a', 1)`)
	s.must(err)
	_, err = arrival.Exec(ctx, `UPDATE books SET state = 'Library' WHERE id = $1`, s.book.ID)
	s.must(err)
	s.must(arrival.Commit(ctx))
	<-over
	if fault.CodeOf(refusal) != fault.InsufficientAccess {
		t.Errorf("as a medium arrives: %v", refusal)
	}

	s.must(s.Downloads.DeleteBook(ctx, account.User{ID: s.bob.ID, Role: account.RoleAdmin, Status: account.UserActive}, s.book.ID))
	if n := s.number(`SELECT count(*) FROM library_files`); n != 0 {
		t.Errorf("%d files of no download are left", n)
	}
}
