package bot

import (
	"strings"
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
)

// newLibraryReader is newReader with a library folder.
func newLibraryReader(t *testing.T) *rig {
	t.Helper()
	w := newRig(t)
	w.library = true
	w.services = w.newServices()
	w.run(w.bot())
	w.known(anna, "en")
	w.known(boris, "ru")
	return w
}

// shelves records a file of a book's text in the library folder.
func (w *rig) shelves(book download.Book, path string) {
	w.t.Helper()
	db := testdb.Connect(w.t, w.wire.URL)
	exec := func(sql string, args ...any) {
		_, err := db.Exec(w.t.Context(), sql, args...)
		w.must(err)
	}
	exec(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, 'text', 1000 + $1::bigint, 'available', '/d', 'm')
		ON CONFLICT DO NOTHING`, book.ID)
	exec(`INSERT INTO library_files SELECT job_id, 1, $2, lower($2), 10 FROM media_assets WHERE book_id = $1`, book.ID, path)
}

// sends lists the file names of a person's deliveries, newest first.
func (w *rig) sends(person int64) string {
	w.t.Helper()
	jobs, err := w.store.Deliveries.List(w.t.Context(), delivery.Filter{UserID: w.user(person).ID, Limit: 10})
	w.must(err)
	var names []string
	for _, job := range jobs {
		names = append(names, job.FileName)
	}
	return strings.Join(names, ", ")
}

func TestABookIsSentHere(t *testing.T) {
	t.Parallel()
	w := newLibraryReader(t)
	book := w.addsBook(anna, "Wheels", "")

	// A download requested in a chat is sent there once it is complete.
	w.writes(anna, "en", "/download 1 "+magnet)
	w.sees(anna, "📥 #1 <b>Wheels</b> (text)", "📤 It will be sent here once it is downloaded")
	job := w.downloads()[0]
	if !job.Send {
		t.Errorf("%+v", job)
	}

	// It cannot be sent, and a notification says so; its button makes up for it, once.
	w.completes(job)
	w.must(w.services.Downloads.SendWished(t.Context(), job.ID))
	w.sees(anna, "⚠️ <b>Wheels</b> (text) is downloaded, but was not sent.", "The library has no files for it.", "📤 Send it here")
	w.shelves(book, "Wheels/Wheels.epub")
	w.presses(anna, "📤 Send it here")
	w.eventually("a delivery", func() bool { return w.sends(anna) == "Wheels.epub" })
	w.must(w.services.Downloads.SendWished(t.Context(), job.ID))
	if got := w.sends(anna); got != "Wheels.epub" {
		t.Errorf("sent %s", got)
	}

	// Everybody may use the library: on the card, in Russian.
	w.writes(boris, "ru", "/book 1")
	w.sees(boris, "<b>Wheels</b>", "📤 текст")
	w.presses(boris, "📤 текст")
	w.eventually("a delivery", func() bool { return w.sends(boris) == "Wheels.epub" })
	w.presses(boris, "📤 текст") // the same press again
	w.writes(boris, "ru", "/books")
	w.sees(boris, "📚 <b>Книги</b>")
	if got := w.sends(boris); got != "Wheels.epub" {
		t.Errorf("sent %s", got)
	}
}

// TestADownloadFromElsewhereIsOffered expects a button on the notification of a download for which sending was not
// requested.
func TestADownloadFromElsewhereIsOffered(t *testing.T) {
	t.Parallel()
	w := newLibraryReader(t)
	book := w.addsBook(anna, "Wheels", "")
	job := w.starts(anna, book)
	w.becomes(job, core.Event{Type: "completed", To: string(lifecycle.DownloadCompleted)}, func(d *download.Download) {
		d.CompletedAt, d.ContentPath, d.Progress = &d.Now, "/books/x", 1
		d.Folder, d.Brought = "Wheels.epub", []download.LibraryFile{{Path: "Wheels.epub", Size: 10}}
	})
	w.sees(anna, "✅ <b>Wheels</b> (text) is in the library.", "📖 Open the book", "📤 Send it here")
	w.presses(anna, "📤 Send it here")
	w.eventually("a delivery", func() bool { return w.sends(anna) == "Wheels.epub" })

	// Another person's download of the book stays with that person, who is notified.
	theirs := w.starts(boris, book)
	w.becomes(theirs, core.Event{Type: "completed", To: string(lifecycle.DownloadCompleted)}, func(d *download.Download) {
		d.CompletedAt, d.ContentPath, d.Progress = &d.Now, "/books/y", 1
		d.Folder, d.Brought, d.LeftOut = "Wheels (2).epub", []download.LibraryFile{{Path: "Wheels (2).epub", Size: 10}}, 2
	})
	w.sees(boris, "✅ <b>Wheels</b> (текст) — загружено.", "📎 У книги другая копия. Эта остаётся при загрузке.", "они пропущены: 2.", "📤 Прислать сюда")
	w.presses(boris, "📤 Прислать сюда")
	w.eventually("a delivery", func() bool { return w.sends(boris) == "Wheels (2).epub" })
	w.writes(boris, "en", "/downloads")
	w.sees(boris, "✅ Downloaded,", "📎 The book has another copy.", "more files of this kind, which were skipped: 2.")

	w.becomes(job, core.Event{Type: lifecycle.DownloadNotSent}, func(d *download.Download) { d.Attention = "QUOTA_EXCEEDED" })
	w.sees(anna, "was not sent.", "You have reached the limit for one person.")
}
