package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/download"
)

// TestMediaChange changes media one after the other, and requires the book to follow and each change to leave an event.
func TestMediaChange(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	execIn(t, url, `INSERT INTO books (title, creator_id, state) VALUES ('b', 1, 'Library'), ('bare', 1, 'Archive')`)
	execIn(t, url, `INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url)
		VALUES (1, 'text', 1, 'available', '/d/a', 'x'), (1, 'audio', 2, 'available', '/d/b', 'x')`)

	for i, c := range []struct {
		change download.MediumChange
		done   bool
		code   fault.Code
		state  string
	}{
		{download.MediumChange{BookID: 1, MediaType: "text", To: download.MediaMissing, From: download.MediaAvailable, Path: "/d/elsewhere"}, false, "", download.BookLibrary},
		{download.MediumChange{BookID: 1, MediaType: "text", To: download.MediaMissing, From: download.MediaAvailable, Path: "/d/a"}, true, "", download.BookLibrary},
		{download.MediumChange{BookID: 1, MediaType: "text", To: download.MediaMissing}, false, "", download.BookLibrary},
		{download.MediumChange{BookID: 1, MediaType: "audio", To: download.MediaDeleted}, true, "", download.BookArchive},
		{download.MediumChange{BookID: 1, MediaType: "audio", To: download.MediaAvailable, From: download.MediaMissing}, false, "", download.BookArchive},
		{download.MediumChange{BookID: 1, MediaType: "text", To: download.MediaAvailable, From: download.MediaMissing}, true, "", download.BookLibrary},
		{download.MediumChange{BookID: 2, MediaType: "text", To: download.MediaMissing}, false, fault.NotFound, download.BookLibrary},
		{download.MediumChange{BookID: 9, MediaType: "text", To: download.MediaMissing}, false, fault.BookNotFound, download.BookLibrary},
	} {
		done, err := s.Downloads.ChangeMedium(t.Context(), c.change)
		if done != c.done || fault.CodeOf(err) != c.code {
			t.Errorf("%d: changed %v, %v, want %v, %q", i, done, err, c.done, c.code)
		}
		book, err := s.Downloads.BookByID(t.Context(), 1)
		if err != nil || book.State != c.state {
			t.Errorf("%d: the book is in %s, %v, want %s", i, book.State, err, c.state)
		}
	}

	events, err := s.Notices.EventsOf(t.Context(), "book", "1")
	if err != nil || len(events) != 3 || events[1].Type != "medium_deleted" || events[1].Comment != "audio" || events[2].Seq != 3 {
		t.Errorf("events %+v, %v", events, err)
	}

	lying, err := s.Downloads.LyingMedia(t.Context(), download.LyingMedium{}, 10)
	if err != nil || len(lying) != 1 || lying[0].Path != "/d/a" {
		t.Errorf("lying media %+v, %v", lying, err)
	}
}
