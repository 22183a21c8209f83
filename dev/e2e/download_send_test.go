package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/workflows/reconciler"
)

// shelve puts a file of a book's text, as if a user's download from a link had provided it, into the library folder and
// the record, and returns its sha256.
func (s *rig) shelve(book int64, path, content, link string, owner int64) (sum string) {
	s.Helper()
	file := filepath.Join(s.env["STAGECOACH_LIBRARY_DIR"], filepath.FromSlash(path))
	must(s, os.MkdirAll(filepath.Dir(file), 0o755))
	must(s, os.WriteFile(file, []byte(content), 0o644))

	s.sql(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url, owner_id)
		VALUES ($1, 'text', 1000 + $1::bigint, 'available', '/d', $2, $3) ON CONFLICT DO NOTHING`, book, link, owner)
	s.sql(`INSERT INTO library_files VALUES (1000 + $1::bigint, 1, $2, lower($2), $3)
		ON CONFLICT (folded) DO UPDATE SET size = $3`, book, path, len(content))
	digest := sha256.Sum256([]byte(content))
	return hex.EncodeToString(digest[:])
}

// TestLibrary sends a book from the library folder to chats: its bytes only once per version, whoever asks. A reading
// app gets it over HTTP.
func TestLibrary(t *testing.T) {
	t.Parallel()
	s := newRig(t, map[string]string{"STAGECOACH_LIBRARY_DIR": t.TempDir()})
	s.startWorker()
	s.startAPI()
	_, ann := s.apiUser("Ann", 100)
	_, ben := s.apiUser("Ben", 101)
	s.call("POST", "/v1/books", ann, map[string]any{"title": "Wheels"}).want(t, 201)
	path := "Cartwright/Wheels & <Axles>.epub"
	sum := s.shelve(1, path, strings.Repeat("wheels ", 30_000), "m", 1)
	send := func(token, key string) delivery.Job {
		made := s.call("POST", "/v1/books/1/media/text/send", token, nil, "Idempotency-Key", key).want(t, 200)["deliveries"].([]any)
		if len(made) != 1 {
			t.Fatalf("made %v", made)
		}
		job := s.ended(s.jobOf(made[0].(map[string]any)["delivery_id"].(string)))
		s.wantState(job, lifecycle.DeliveryDelivered, "")
		return job
	}

	first := send(ann, "one")
	if again := send(ann, "one"); again.ID != first.ID {
		t.Errorf("the same key made %d and %d", first.ID, again.ID)
	}
	// Different bytes with the same size and time prove that the file is not read again.
	file := filepath.Join(s.env["STAGECOACH_LIBRARY_DIR"], filepath.FromSlash(path))
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.WriteFile(file, []byte(strings.Repeat("unread ", 30_000)), 0o644))
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	send(ben, "one")
	for _, chat := range []int64{100, 101} {
		s.wantDocument(chat, sum)
	}

	changed := s.shelve(1, path, strings.Repeat("axles ", 30_000), "m", 1)
	send(ben, "two")
	if got := s.documents(101); len(got) != 2 || got[1].SHA256 != changed || got[1].Name != "Wheels & <Axles>.epub" {
		t.Errorf("after a change: %+v", got)
	}

	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.apiURL+"/opds/books/1/text/1/x", nil)
	must(t, err)
	ask.SetBasicAuth("reader", ann)
	ask.Header.Set("Range", "bytes=6-10")
	answer, err := http.DefaultClient.Do(ask)
	must(t, err)
	defer answer.Body.Close()
	part, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusPartialContent || string(part) != "axles" {
		t.Errorf("by OPDS: %s, %q, %v", answer.Status, part, err)
	}
}

// TestLongSentWhenItIsThere kills the worker as soon as a download whose owner wants it in the chat has completed: it
// arrives there, once.
func TestLongSentWhenItIsThere(t *testing.T) {
	night.Only(t)
	t.Parallel()
	l := newLibrary(t, newStandInWithFiles(t), map[string]string{"STAGECOACH_LIBRARY_DIR": t.TempDir()})
	l.downloads.Library = true
	worker := l.startWorker()
	for i := range 2 {
		reader := l.rig.user(int64(200 + i))
		made := l.torrent(fmt.Sprintf("sent-%d.epub", i), torrentsim.TorrentSpec{NoSeed: true, Size: 1000})
		job := l.added(l.wishes(reader, made.URL))
		l.torrents.release(l, made)
		job = l.over(job)
		time.Sleep(time.Duration(i) * 15 * time.Millisecond)
		worker.kill()
		worker = l.startWorker()

		l.becomes(job, "sent", func(d download.Download) bool { return d.SentAt != nil })
		l.completes(job)
		if trouble := l.missent(reader, made.SHA256); trouble != "" {
			t.Error(trouble)
		}
	}
}

// TestOwnCopyIsSent has Mal download another file for Ann's book before her: each gets what they have downloaded, and
// the book has Ann's.
func TestOwnCopyIsSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := newLibrary(t, newStandInWithFiles(t), map[string]string{"STAGECOACH_LIBRARY_DIR": dir})
	l.startWorker()
	l.startAPI()
	_, ann := l.apiUser("Ann", 200)
	_, mal := l.apiUser("Mal", 201)
	book := l.call("POST", "/v1/books", ann, map[string]any{"title": "War and Peace"}).want(t, 201)["id"]

	downloads := func(token, name string) (download.Download, *torrentsim.SeededTorrent) {
		made := l.torrent(name, torrentsim.TorrentSpec{NoSeed: true, Size: 1000})
		asked := l.call("POST", "/v1/downloads", token, map[string]any{
			"book_id": book, "media_type": "text", "source_url": made.URL, "send": true,
		}).want(t, 201)
		id, err := strconv.ParseInt(asked["id"].(string), 10, 64)
		must(t, err)
		job, err := l.store.Downloads.ByID(t.Context(), id)
		must(t, err)
		job = l.added(job)
		l.torrents.release(l, made)
		return l.becomes(job, "sent", func(d download.Download) bool { return d.SentAt != nil }), made
	}
	want := func(chat int64, made ...*torrentsim.SeededTorrent) {
		t.Helper()
		var sums, wanted []string
		wait.Eventually(l, "the files are in the chat", func() bool { return len(l.documents(chat)) >= len(made) })
		for _, document := range l.documents(chat) {
			sums = append(sums, document.SHA256)
		}
		for _, one := range made {
			wanted = append(wanted, one.SHA256)
		}
		if !slices.Equal(sums, wanted) {
			t.Errorf("chat %d has %q, want %q", chat, sums, wanted)
		}
	}

	early, evil := downloads(mal, "evil.epub")
	mine, real := downloads(ann, "real.epub")
	late, again := downloads(mal, "again.epub")
	want(200, real)
	want(201, evil, again)
	for job, inBook := range map[*download.Download]bool{&early: false, &mine: true, &late: false} {
		if now := l.now(*job); now.InBook != inBook || now.FileCount != 1 || !now.Imported {
			t.Errorf("%+v", now)
		}
	}
	shown, err := l.store.Downloads.BookByID(t.Context(), mine.BookID)
	must(t, err)
	kept, err := os.ReadFile(filepath.Join(dir, shown.Media[0].Path))
	if sum := sha256.Sum256(kept); err != nil || hex.EncodeToString(sum[:]) != real.SHA256 {
		t.Errorf("the book has %d other bytes, %v", len(kept), err)
	}
}

// TestLongUnsentAfterTermination terminates a workflow whose job has completed and whose delivery cannot be created
// yet: the reconciler sends the book.
func TestLongUnsentAfterTermination(t *testing.T) {
	night.Only(t)
	t.Parallel()
	l := newLibrary(t, newStandInWithFiles(t), map[string]string{"STAGECOACH_LIBRARY_DIR": t.TempDir()})
	l.downloads.Library = true
	worker := l.startWorker()
	reader := l.rig.user(200)
	l.sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()`)

	made := l.torrent("terminated.epub", torrentsim.TorrentSpec{NoSeed: true, Size: 1000})
	job := l.added(l.wishes(reader, made.URL))
	l.torrents.release(l, made)
	job = l.over(job)
	worker.kill() // an attempt in progress outlives its workflow
	must(t, l.client.TerminateWorkflow(t.Context(), job.WorkflowID(), "", "by an operator"))
	l.sql(`DROP TRIGGER refuse ON jobs; UPDATE download_jobs SET completed_at_utc = completed_at_utc - interval '1 hour'`)
	l.startWorker()

	must(t, reconciler.Trigger(t.Context(), l.client))
	l.becomes(job, "sent", func(d download.Download) bool { return d.SentAt != nil })
	if trouble := l.missent(reader, made.SHA256); trouble != "" {
		t.Error(trouble)
	}
	l.wantDocument(200, made.SHA256)
}

// missent waits for the end of the only delivery to a user, and explains what is wrong with it; empty: nothing. The
// chat has one document with the content if it was delivered, and may have it if the outcome is unknown.
func (s *rig) missent(reader account.User, sum string) (trouble string) {
	s.Helper()
	made, err := s.store.Deliveries.List(s.Context(), delivery.Filter{UserID: reader.ID, Limit: 10})
	must(s, err)
	if len(made) != 1 {
		return fmt.Sprintf("chat %d has %d deliveries", *reader.TelegramID, len(made))
	}

	job, got := s.ended(made[0]), s.documents(*reader.TelegramID)
	ends := job.State == lifecycle.DeliveryDelivered && len(got) == 1 || job.LastError == string(fault.OutcomeUnknown) && len(got) < 2 ||
		job.State != lifecycle.DeliveryDelivered && len(got) == 0
	if !ends || len(got) == 1 && got[0].SHA256 != sum {
		return fmt.Sprintf("delivery %d is %s %q, and chat %d has %+v", job.ID, job.State, job.LastError, *reader.TelegramID, got)
	}
	return ""
}

// sentToChat downloads what is put into a library folder, and then sent to a chat. The folder stays for the following
// parts.
func sentToChat(l *library) {
	l.env["STAGECOACH_LIBRARY_DIR"] = l.whole.TempDir()
	l.whole.worker.stop()
	l.whole.startWorker()

	made := l.unseeded("sent-to-chat.epub")
	job := l.added(l.wishes(l.rig.user(300), made.URL))
	l.torrents.release(l, made)
	l.completes(job)
	wait.Eventually(l, "the book is in the chat", func() bool { return len(l.documents(300)) > 0 })
	l.wantDocument(300, made.SHA256)
}

// wishes requests a download for a new book, including sending it.
func (l *library) wishes(reader account.User, link string) download.Download {
	l.Helper()
	job, _, err := l.downloads.Start(l.Context(), reader, downloads.Ask{
		BookID: l.book(reader).ID, MediaType: download.MediaText, SourceURL: link, Send: true,
	})
	must(l, err)
	return job
}
