package bot

import (
	"slices"
	"strings"

	"github.com/mymmrac/telego"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"

	"stagecoach/dev/sim/telegramsim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

const (
	magnet      = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a"
	otherMagnet = "magnet:?xt=urn:btih:d12fe1c06bba254a9dc9f519b335aa7c1367a88a"
)

// hearCancels lets Temporal take signals to workflows that are not there.
func (w *rig) hearCancels() {
	w.temporal.On("SignalWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything, mock.Anything).
		Return(serviceerror.NewNotFound("none")).Maybe()
}

// addsBook lets a person add a book over the API.
func (w *rig) addsBook(person int64, title, author string) download.Book {
	w.t.Helper()
	book, err := w.services.Downloads.CreateBook(w.t.Context(), w.user(person), title, author, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return book
}

// starts lets a person start a download over the API.
func (w *rig) starts(person int64, book download.Book) download.Download {
	w.t.Helper()
	job, _, err := w.services.Downloads.Start(
		w.t.Context(), w.user(person), service.DownloadAsk{BookID: book.ID, MediaType: download.MediaText, SourceURL: magnet},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return job
}

// becomes writes a transition, or a note, as a workflow would.
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

// progresses writes what a poll would.
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

// downloadNotices waits until no notice is pending, and gives the messages that tell of downloads.
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

// answersPress lets a bot handle a press that Telegram does not know, of a button that is nowhere: it is answered by a
// message.
func (w *rig) answersPress(press telego.Update, person int64, words string) {
	w.t.Helper()
	before := len(w.messages(person))
	w.handlesBeside(w.bot(), press)
	if !slices.ContainsFunc(w.messages(person)[before:], func(m telegramsim.Message) bool { return strings.Contains(m.Text, words) }) {
		w.t.Errorf("%s is not answered %q", press.CallbackQuery.Data, words)
	}
}
