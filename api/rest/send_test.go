package rest_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// shelve puts files of a medium into the library: 1,000 bytes each.
func (w *rig) shelve(book, medium string, paths ...string) {
	w.t.Helper()
	w.exec(`INSERT INTO media_assets (book_id, media_type, status, path, source_url) VALUES ($1, $2, 'available', '/d/x', 'm')
		ON CONFLICT DO NOTHING`, book, medium)
	w.exec(`INSERT INTO library_files (book_id, media_type, place, path, size)
		SELECT $1, $2, turn, path, 1000 FROM unnest($3::text[]) WITH ORDINALITY AS given (path, turn)`, book, medium, paths)
}

// sent lists the names of the files that an answer's deliveries send, and their ids.
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

	// A download is its owner's, the library is everybody's.
	send(w.bobToken, path, "k").refused(http.StatusNotFound, fault.DownloadNotFound, "")
	_, theirs := sent(send(w.bobToken, "/v1/books/"+book+"/media/audio/send", "k").ok(http.StatusOK))
	one := w.send(w.bobToken, "GET", "/v1/deliveries/"+theirs[0], nil).ok(http.StatusOK).body
	if one["user_id"] != fmt.Sprint(w.bob.ID) || one["state"] != "QUEUED" {
		t.Errorf("delivery %v", one)
	}

	// Files of the library show in no list of the shared folder, and go when the medium does.
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

// TestIsSentWhenItIsThere wishes at the start that a download's files are sent.
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

	// It may be wished later, too.
	id := w.send(w.adaToken, "POST", "/v1/downloads", ask(false)).ok(http.StatusCreated).body["id"].(string)
	joined := w.send(w.adaToken, "POST", "/v1/downloads", ask(true)).ok(http.StatusOK).body
	if joined["id"] != id || joined["send"] != true || joined["sent_at"] != nil || joined["files"] != 0.0 {
		t.Errorf("joined %v", joined)
	}
	wished(id)
	if got := show(id); deliveries() != 0 || got["attention"] != nil {
		t.Errorf("something was sent before it was there: %v", got)
	}

	// What cannot be sent is said once, and made up for.
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
	wished(id) // the workflow, which was away meanwhile
	if got := show(id); got["sent_at"] == nil || got["attention"] != nil || got["files"] != 2.0 || deliveries() != 2 {
		t.Errorf("sent: %v", got)
	}
	if again := send("by-hand"); fmt.Sprint(again) == fmt.Sprint(first) || deliveries() != 4 {
		t.Errorf("sent again after that: %v", again)
	}

	// A worker that was lost on the way makes each delivery once.
	second := w.send(w.adaToken, "POST", "/v1/downloads", ask(true)).ok(http.StatusCreated).body["id"].(string)
	w.end(second, lifecycle.DownloadCompleted)
	wished(second)
	w.exec(`UPDATE download_jobs SET sent_at = NULL WHERE id = $1`, second)
	w.exec(`DELETE FROM jobs WHERE id = (SELECT max(id) FROM jobs)`)
	wished(second)
	if got := show(second); got["sent_at"] == nil || deliveries() != 6 {
		t.Errorf("%d deliveries, %v", deliveries(), got)
	}

	// What a workflow that was terminated has left unsent, the reconciler sends.
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

	// Without a wish nothing is sent, and without a folder nothing can be wished.
	third := w.send(w.adaToken, "POST", "/v1/downloads", ask(false)).ok(http.StatusCreated).body["id"].(string)
	w.end(third, lifecycle.DownloadCompleted)
	wished(third)
	if deliveries() != 6 {
		t.Error("sent without a wish")
	}
	w.downloads.Library = false
	w.send(w.adaToken, "POST", "/v1/downloads", ask(true)).refused(http.StatusUnprocessableEntity, fault.Validation, "send")
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
