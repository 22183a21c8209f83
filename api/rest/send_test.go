package rest_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// shelve puts files of a medium into the library, from its last download: 1,000 bytes each.
func (w *rig) shelve(book, medium string, paths ...string) {
	w.t.Helper()
	w.exec(`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url)
		SELECT $1, $2, coalesce(max(id), 1000 + $1::bigint), 'available', '/d/x', 'm' FROM download_jobs WHERE book_id = $1 AND media_type = $2
		ON CONFLICT DO NOTHING`, book, medium)
	w.exec(`INSERT INTO library_files (job_id, place, path, folded, size) SELECT job_id, turn, given.path, lower(given.path), 1000
		FROM media_assets, unnest($3::text[]) WITH ORDINALITY AS given (path, turn) WHERE book_id = $1 AND media_type = $2`, book, medium, paths)
}

// brings gives a download its own files in the library.
func (w *rig) brings(download string, paths ...string) {
	w.t.Helper()
	w.exec(`INSERT INTO library_files (job_id, place, path, folded, size)
		SELECT $1, turn, path, lower(path), 1000 FROM unnest($2::text[]) WITH ORDINALITY AS given (path, turn)`, download, paths)
}

// sent lists the names of the files that a response's deliveries send, and the deliveries' ids.
func sent(r reply) (names, ids []string) {
	for _, one := range r.body["deliveries"].([]any) {
		names = append(names, one.(map[string]any)["file_name"].(string))
		ids = append(ids, one.(map[string]any)["delivery_id"].(string))
	}
	return names, ids
}

func TestABookIsSentToTheChat(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	id := w.download(w.adaToken, book, "audio").ok(http.StatusCreated).body["id"].(string)
	send := func(token, path, key string) reply { return w.send(token, "POST", path, nil, "Idempotency-Key", key) }
	path := "/v1/downloads/" + id + "/send"

	send(w.adaToken, path, "k").refused(http.StatusConflict, fault.MediaNotReady, "")
	w.end(id, lifecycle.DownloadCompleted)
	send(w.adaToken, path, "k").refused(http.StatusConflict, fault.MediaNotReady, "")
	send(w.adaToken, "/v1/books/99/media/text/send", "k").refused(http.StatusNotFound, fault.BookNotFound, "")

	w.shelve(book, "audio", "Cartwright/Wheels/2.mp3", "Cartwright/Wheels/1.mp3")
	names, ids := sent(send(w.adaToken, path, "k").ok(http.StatusOK))
	if fmt.Sprint(names) != "[2.mp3 1.mp3]" {
		t.Errorf("sent %v: not in reading order", names)
	}
	if _, again := sent(send(w.adaToken, path, "k").ok(http.StatusOK)); fmt.Sprint(again) != fmt.Sprint(ids) {
		t.Errorf("the same key made %v, then %v", ids, again)
	}
	if _, other := sent(send(w.adaToken, path, "l").ok(http.StatusOK)); fmt.Sprint(other) == fmt.Sprint(ids) {
		t.Errorf("another key made the same: %v", other)
	}

	// A download belongs to its owner, the library to everybody.
	send(w.bobToken, path, "k").refused(http.StatusNotFound, fault.DownloadNotFound, "")
	_, theirs := sent(send(w.bobToken, "/v1/books/"+book+"/media/audio/send", "k").ok(http.StatusOK))
	one := w.send(w.bobToken, "GET", "/v1/deliveries/"+theirs[0], nil).ok(http.StatusOK).body
	if one["user_id"] != fmt.Sprint(w.bob.ID) || one["state"] != "QUEUED" {
		t.Errorf("delivery %v", one)
	}

	// Library files are in no list of the shared folder, and disappear with the medium.
	if found := w.send(w.adaToken, "GET", "/v1/files?q=mp3", nil).ok(http.StatusOK).items(); len(found) != 0 {
		t.Errorf("the shared folder shows %v", found)
	}
	file := map[string]any{"file_id": one["file_id"]}
	w.send(w.adaToken, "POST", "/v1/deliveries", file, "Idempotency-Key", "own").ok(http.StatusCreated)
	w.exec(`UPDATE media_assets SET status = 'deleted'`)
	w.send(w.adaToken, "POST", "/v1/deliveries", file, "Idempotency-Key", "gone").refused(http.StatusNotFound, fault.FileNotFound, "file_id")
	send(w.adaToken, path, "m").refused(http.StatusConflict, fault.MediaNotReady, "")

	if rows := w.audited(); len(rows) != 1 || !strings.Contains(fmt.Sprint(rows), "send-download") { // Bob's
		t.Errorf("audited %v", rows)
	}
}

// TestIsSentWhenItIsThere requests up front that a download's files are sent.
func TestIsSentWhenItIsThere(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	ask := func(send bool) map[string]any {
		return map[string]any{"book_id": book, "media_type": "text", "source_url": magnet, "send": send}
	}
	show := func(id string) map[string]any {
		return w.send(w.adaToken, "GET", "/v1/downloads/"+id, nil).ok(http.StatusOK).body
	}
	deliveries := func() int { return len(w.send(w.adaToken, "GET", "/v1/deliveries", nil).ok(http.StatusOK).items()) }
	wished := func(id string) {
		t.Helper()
		number, _ := strconv.ParseInt(id, 10, 64)
		if err := w.downloads.SendWished(t.Context(), number); err != nil {
			t.Error(err)
		}
	}

	// It may be requested later, too.
	id := w.send(w.adaToken, "POST", "/v1/downloads", ask(false)).ok(http.StatusCreated).body["id"].(string)
	joined := w.send(w.adaToken, "POST", "/v1/downloads", ask(true)).ok(http.StatusOK).body
	if joined["id"] != id || joined["send"] != true || joined["sent_at"] != nil || joined["files"] != 0.0 {
		t.Errorf("joined %v", joined)
	}
	wished(id)
	if got := show(id); deliveries() != 0 || got["attention"] != nil {
		t.Errorf("something was sent before it was there: %v", got)
	}

	// A file that cannot be sent is reported once, and can be sent by hand.
	w.end(id, lifecycle.DownloadCompleted)
	wished(id)
	wished(id)
	if got := show(id); got["attention"] != "MEDIA_NOT_READY" || got["sent_at"] != nil || got["status"] != "completed" {
		t.Errorf("not sent: %v", got)
	}
	events := w.send(w.adaToken, "GET", "/v1/downloads/"+id+"/events", nil).ok(http.StatusOK).items()
	if last := events[len(events)-1]; len(events) != 2 || last["type"] != "not_sent" || last["to"] != "completed" {
		t.Errorf("events %v", events)
	}

	w.shelve(book, "text", "1.epub", "2.epub")
	send := func(key string) []string {
		_, ids := sent(w.send(w.adaToken, "POST", "/v1/downloads/"+id+"/send", nil, "Idempotency-Key", key).ok(http.StatusOK))
		return ids
	}
	first := send("by-hand")
	wished(id) // the workflow, which was not running meanwhile
	if got := show(id); got["sent_at"] == nil || got["attention"] != nil || got["files"] != 2.0 || deliveries() != 2 {
		t.Errorf("sent: %v", got)
	}
	if again := send("by-hand"); fmt.Sprint(again) == fmt.Sprint(first) || deliveries() != 4 {
		t.Errorf("sent again after that: %v", again)
	}

	// A worker that crashes in between creates each delivery once.
	second := w.send(w.adaToken, "POST", "/v1/downloads", ask(true)).ok(http.StatusCreated).body["id"].(string)
	w.end(second, lifecycle.DownloadCompleted)
	w.brings(second, "3.epub", "4.epub")
	wished(second)
	w.exec(`UPDATE download_jobs SET sent_at = NULL WHERE id = $1`, second)
	w.exec(`DELETE FROM jobs WHERE id = (SELECT max(id) FROM jobs)`)
	wished(second)
	if got := show(second); got["sent_at"] == nil || deliveries() != 6 {
		t.Errorf("%d deliveries, %v", deliveries(), got)
	}

	// The reconciler sends what a terminated workflow left unsent.
	w.downloads.Off = true // no watcher
	prepare := func() {
		t.Helper()
		if err := w.downloads.Workload().Prepare(t.Context()); err != nil {
			t.Error(err)
		}
	}
	w.exec(`UPDATE download_jobs SET sent_at = NULL WHERE id = $1`, second)
	w.exec(`DELETE FROM jobs WHERE id = (SELECT max(id) FROM jobs)`)
	if prepare(); show(second)["sent_at"] != nil {
		t.Error("the workflow is about to send it")
	}
	w.exec(`UPDATE download_jobs SET completed_at_utc = now() - interval '2 minutes' WHERE id = $1`, second)
	if prepare(); show(second)["sent_at"] == nil || deliveries() != 6 {
		t.Errorf("%d deliveries, %v", deliveries(), show(second))
	}
	w.exec(`UPDATE download_jobs SET sent_at = NULL, attention = 'QUOTA_EXCEEDED' WHERE id = $1`, second)
	if prepare(); show(second)["sent_at"] != nil {
		t.Error("what was refused is tried again")
	}
	w.downloads.Off = false

	// Without a request nothing is sent, and without a folder nothing can be requested.
	third := w.send(w.adaToken, "POST", "/v1/downloads", ask(false)).ok(http.StatusCreated).body["id"].(string)
	w.end(third, lifecycle.DownloadCompleted)
	wished(third)
	if deliveries() != 6 {
		t.Error("sent without a wish")
	}
	w.downloads.Library = false
	w.send(w.adaToken, "POST", "/v1/downloads", ask(true)).refused(http.StatusUnprocessableEntity, fault.Validation, "send")
}

// TestADownloadSendsItsOwnFiles has Bob download a tiny file for Ada's book before her: what Ada downloads is sent to
// her and becomes the book's. What Bob downloads after that stays with his download, and is nobody else's.
func TestADownloadSendsItsOwnFiles(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("War and Peace")
	brings := func(token, file string) string {
		t.Helper()
		ask := map[string]any{"book_id": book, "media_type": "text", "source_url": magnet, "send": true}
		id := w.send(token, "POST", "/v1/downloads", ask).ok(http.StatusCreated).body["id"].(string)
		w.exec(`UPDATE download_jobs SET status = 'downloading', content_path = '/d/x' WHERE id = $1`, id)
		number, _ := strconv.ParseInt(id, 10, 64)
		job, err := w.store.Downloads.ByID(t.Context(), number)
		if err == nil {
			_, err = w.downloads.Complete(t.Context(), job, file, []download.LibraryFile{{Path: file, Size: 7}})
		}
		if err == nil {
			err = w.downloads.SendWished(t.Context(), number)
		}
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	want := func(token, id string, inBook bool, of, file string) {
		t.Helper()
		if got := w.send(token, "GET", "/v1/downloads/"+id, nil).ok(http.StatusOK).body; got["in_book"] != inBook || got["files"] != 1.0 || got["sent_at"] == nil {
			t.Errorf("download %s: %v", id, got)
		}
		if names, _ := sent(w.send(token, "POST", "/v1/downloads/"+id+"/send", nil).ok(http.StatusOK)); fmt.Sprint(names) != "["+file+"]" {
			t.Errorf("download %s sends %v, want %s", id, names, file)
		}
		media := w.send(token, "GET", "/v1/books/"+book, nil).ok(http.StatusOK).body["media"].([]any)
		if got := media[0].(map[string]any); got["path"] != of || got["files"] != 1.0 {
			t.Errorf("the book has %v, want %s", got, of)
		}
	}

	early := brings(w.bobToken, "evil.txt")
	want(w.bobToken, early, true, "evil.txt", "evil.txt")
	real := brings(w.adaToken, "war.epub")
	want(w.adaToken, real, true, "war.epub", "war.epub")
	want(w.bobToken, early, false, "war.epub", "evil.txt")
	late := brings(w.bobToken, "late.txt")
	want(w.bobToken, late, false, "war.epub", "late.txt")
	want(w.adaToken, real, true, "war.epub", "war.epub")

	var wished []any
	for _, one := range w.send(w.adaToken, "GET", "/v1/deliveries", nil).ok(http.StatusOK).items() {
		wished = append(wished, one["file_name"])
	}
	if fmt.Sprint(wished) != "[war.epub war.epub war.epub]" { // the requested one, and two by hand
		t.Errorf("Ada is sent %v", wished)
	}
	for _, one := range w.send(w.bobToken, "GET", "/v1/deliveries", nil).ok(http.StatusOK).items() {
		file := map[string]any{"file_id": one["file_id"]}
		w.send(w.adaToken, "POST", "/v1/deliveries", file, "Idempotency-Key", fmt.Sprint("bobs", one["id"])).refused(http.StatusNotFound, fault.FileNotFound, "file_id")
	}
}

func TestWhatIsNotSentToTheChat(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	many, big := w.book("Many"), w.book("Big")
	paths := make([]string, 21)
	for i := range paths {
		paths[i] = fmt.Sprintf("Many/%02d.mp3", i)
	}

	w.shelve(many, "audio", paths...)
	w.shelve(big, "text", "Big/1.epub", "Big/2.epub")
	w.exec(`UPDATE library_files SET size = 3000000000 WHERE path = 'Big/2.epub'`)
	send := func(token, book, medium string) reply {
		return w.send(token, "POST", "/v1/books/"+book+"/media/"+medium+"/send", nil, "Idempotency-Key", "k")
	}

	refused := send(w.adaToken, many, "audio").refused(http.StatusUnprocessableEntity, fault.TooManyFiles, "")
	if details := fmt.Sprint(refused.body["details"]); details != "map[files:21 maximum:20]" {
		t.Errorf("details %s", details)
	}
	send(w.adaToken, big, "text").refused(http.StatusUnprocessableEntity, fault.FileTooBig, "file_id")
	w.exec(`UPDATE library_files SET size = 3 WHERE path = 'Big/2.epub'`)
	w.exec(`UPDATE users SET telegram_id = NULL WHERE id = $1`, w.bob.ID)
	send(w.bobToken, big, "text").refused(http.StatusConflict, fault.NoTelegramChat, "")

	w.downloads.Library = false
	send(w.adaToken, big, "text").refused(http.StatusConflict, fault.MediaNotReady, "")
	if made := w.send(w.adminToken, "GET", "/v1/deliveries", nil).ok(http.StatusOK).items(); len(made) != 0 {
		t.Errorf("made %v", made)
	}
}
