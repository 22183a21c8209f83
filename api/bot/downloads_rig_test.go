package bot

import (
	"context"
	"slices"
	"strings"

	"github.com/mymmrac/telego"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

const (
	magnet      = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a"
	otherMagnet = "magnet:?xt=urn:btih:d12fe1c06bba254a9dc9f519b335aa7c1367a88a"
)

// unremoved is a workflow's answer when it cannot remove a torrent now.
type unremoved struct {
	client.WorkflowUpdateHandle
	now lifecycle.DownloadRecord
}

func (u unremoved) Get(_ context.Context, answer any) error {
	*answer.(*lifecycle.DownloadRecord) = u.now
	return nil
}

// cancelInVain does what a download's workflow would do while the torrent cannot be removed.
func (w *rig) cancelInVain(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	job, err := w.services.Downloads.Request(ctx, lifecycle.DownloadAsked{
		Action: lifecycle.DownloadAction(o.UpdateName), In: o.Args[0].(lifecycle.DownloadInput), RequestID: o.UpdateID,
	})
	if err == nil {
		err = w.store.Downloads.NoteCancelError(ctx, job.ID, string(w.stuck))
	}
	return unremoved{now: lifecycle.DownloadRecord{Status: job.State, CancelRequested: true, CancelError: w.stuck}}, err
}

// addsBook adds a book through the API.
func (w *rig) addsBook(person int64, title, author string) download.Book {
	w.t.Helper()
	book, err := w.services.Downloads.CreateBook(w.t.Context(), w.user(person), title, author, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return book
}

// starts starts a download through the API.
func (w *rig) starts(person int64, book download.Book) download.Download {
	w.t.Helper()
	job, _, err := w.services.Downloads.Start(
		w.t.Context(), w.user(person), downloads.Ask{BookID: book.ID, MediaType: download.MediaText, SourceURL: magnet},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return job
}

// becomes records a transition, or a note, as a workflow would.
func (w *rig) becomes(job download.Download, event core.Event, change func(*download.Download)) {
	w.t.Helper()
	_, err := w.store.Downloads.Change(w.t.Context(), job.ID, func(walk *download.DownloadWalk) error {
		if change != nil {
			change(walk.Row)
		}

		if event.To == "" {
			walk.Note(event.Type)
			return nil
		}
		return testdb.WalkTo(
			walk, lifecycle.Download, walk.Row.State, lifecycle.DownloadState(event.To),
			download.DownloadStep{Actor: event.ActorID, Comment: event.Comment},
		)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *rig) completes(job download.Download) {
	w.t.Helper()
	w.becomes(job, core.Event{Type: "completed", To: string(lifecycle.DownloadCompleted)}, func(d *download.Download) {
		d.CompletedAt, d.ContentPath, d.Progress = &d.Now, "/books/x", 1
	})
}

func (w *rig) fails(job download.Download, reason string) {
	w.t.Helper()
	w.becomes(job, core.Event{Type: "failed", To: string(lifecycle.DownloadFailed), Comment: reason}, func(d *download.Download) {
		d.FailureReason = &reason
	})
}

func (w *rig) cancels(job download.Download, actor *int64, reason string) {
	w.t.Helper()
	w.becomes(
		job, core.Event{Type: "canceled", To: string(lifecycle.DownloadCanceled), ActorID: actor, Comment: reason}, nil,
	)
}

// progresses records what a poll would.
func (w *rig) progresses(job download.Download, seen download.Progress) {
	w.t.Helper()
	seen.ID = job.ID
	if _, err := w.store.Downloads.SaveProgress(w.t.Context(), []download.Progress{seen}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *rig) downloads() []download.Download {
	w.t.Helper()
	jobs, err := w.store.Downloads.List(w.t.Context(), download.Filter{Limit: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	slices.Reverse(jobs)
	return jobs
}

// downloadNotices waits until no notification is pending, and returns the messages about downloads.
func (w *rig) downloadNotices(person int64) (found []telegramsim.Message) {
	w.t.Helper()
	w.eventually("rest", func() bool {
		return !slices.Contains(w.noticeStates(), notice.NoticeDue) && !slices.Contains(w.noticeStates(), notice.NoticeSending)
	})

	for _, m := range w.messages(person) {
		if strings.Contains(m.Text, ") is in the library.") || strings.Contains(m.Text, ") was not downloaded.") ||
			strings.HasPrefix(m.Text, "🚫 The download of ") || strings.HasPrefix(m.Text, "⚠️ The download of ") {
			found = append(found, m)
		}
	}
	return found
}

// answersPress has a bot handle a press that Telegram does not know, of a button that does not exist: the answer is a
// message.
func (w *rig) answersPress(press telego.Update, person int64, words string) {
	w.t.Helper()
	before := len(w.messages(person))
	w.handlesBeside(w.bot(), press)
	if !slices.ContainsFunc(w.messages(person)[before:], func(m telegramsim.Message) bool { return strings.Contains(m.Text, words) }) {
		w.t.Errorf("%s is not answered %q", press.CallbackQuery.Data, words)
	}
}
