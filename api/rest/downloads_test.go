package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
)

const magnet = "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=Wheels"

// download requests a torrent.
func (w *rig) download(token, book, medium string) reply {
	w.t.Helper()
	return w.send(
		token, "POST", "/v1/downloads", map[string]any{"book_id": book, "media_type": medium, "source_url": magnet},
	)
}

// end sets a download's status directly in the record.
func (w *rig) end(id string, status lifecycle.DownloadState) {
	w.t.Helper()
	w.exec(`UPDATE download_jobs SET status = $2, completed_at_utc = CASE WHEN $2 = 'completed' THEN now() END, content_path = '/d/x',
		failure_reason = CASE WHEN $2 = 'failed' THEN 'missing_external_job' END WHERE id = $1`, id, string(status))
}

func TestADownload(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	made := w.download(w.adaToken, book, "text").ok(http.StatusCreated).body
	id := made["id"].(string)

	for name, want := range map[string]any{
		"user_id": fmt.Sprint(w.ada.ID), "book_id": book, "book_title": "Wheels", "media_type": "text", "status": "queued", "source": "magnet",
		"source_url": magnet, "external_job_id": nil, "content_path": nil, "progress": 0.0, "size": 0.0, "speed": 0.0, "eta_seconds": nil, "failure_reason": nil,
		"last_error": nil, "attention": nil, "cancel_requested": false, "completed_at_utc": nil, "first_not_found_at_utc": nil,
		"workflow_id": fmt.Sprintf("download/%d/%s/text", w.ada.ID, book), "allowed_actions": "[cancel]",
	} {
		if got, ok := made[name]; !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}

	if made["created_at_utc"] == nil || made["updated_at_utc"] == nil {
		t.Errorf("times of %v", made)
	}

	join := func() any { // with an unused key
		body := map[string]any{"book_id": book, "media_type": "text", "source_url": magnet}
		return w.send(w.adaToken, "POST", "/v1/downloads", body, "Idempotency-Key", "joins").ok(http.StatusOK).body["id"]
	}
	if joined := join(); joined != id {
		t.Errorf("asked again: %v", joined)
	}
	if theirs := w.download(w.bobToken, book, "text").ok(http.StatusCreated).body; theirs["id"] == id {
		t.Errorf("another's: %v", theirs)
	}

	named := map[string]any{"book_id": book, "media_type": "audio", "source_url": magnet, "source": " my indexer "}
	if audio := w.send(w.adaToken, "POST", "/v1/downloads", named).ok(http.StatusCreated).body; audio["id"] == id || audio["source"] != "my indexer" {
		t.Errorf("another medium: %v", audio)
	}
	if len(w.temporal.started) != 3 {
		t.Errorf("started %v", w.temporal.started)
	}

	w.exec(`UPDATE download_jobs SET status = 'downloading', external_job_id = 'abc', progress = 0.25, size = 4000, speed = 100, eta_seconds = 30,
		first_not_found_at_utc = now(), attention = 'stalled', last_error = 'X' WHERE id = $1`, id)
	got := w.send(w.adaToken, "GET", "/v1/downloads/"+id, nil).ok(http.StatusOK).body
	for name, want := range map[string]any{
		"status": "downloading", "external_job_id": "abc", "progress": 0.25, "size": 4000.0, "speed": 100.0, "eta_seconds": 30.0,
		"attention": "stalled", "last_error": "X", "content_path": nil,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}

	if at, _ := got["first_not_found_at_utc"].(string); !strings.HasSuffix(at, "Z") {
		t.Errorf("missing since %v", got["first_not_found_at_utc"])
	}

	cancelled := w.send(w.adaToken, "POST", "/v1/downloads/"+id+"/cancel", nil).ok(http.StatusOK).body
	if cancelled["status"] != "canceled" || cancelled["cancel_requested"] != true || fmt.Sprint(cancelled["allowed_actions"]) != "[]" {
		t.Errorf("cancelled %v", cancelled)
	}

	if joined := join(); joined != id {
		t.Errorf("the same key after the end: %v", joined)
	}
	again := w.send(
		w.adaToken, "POST", "/v1/downloads/"+id+"/cancel", nil,
	).refused(http.StatusConflict, fault.InvalidTransition, "")
	if details := again.body["details"].(map[string]any); details["current"] != "canceled" || details["requested"] != "cancel" {
		t.Errorf("details %v", details)
	}

	events := w.send(w.adaToken, "GET", "/v1/downloads/"+id+"/events", nil).ok(http.StatusOK).items()
	if len(events) != 2 || events[0]["type"] != "enqueued" || events[0]["to"] != "queued" || events[1]["to"] != "canceled" ||
		events[1]["actor_id"] != fmt.Sprint(w.ada.ID) {
		t.Errorf("events %v", events)
	}

	for _, status := range []lifecycle.DownloadState{lifecycle.DownloadCompleted, lifecycle.DownloadFailed} {
		next := w.download(w.adaToken, book, "text").ok(http.StatusCreated).body["id"].(string)
		if next == id {
			t.Error("a download that is over is given again")
		}

		w.end(next, status)
		ended := w.send(w.adaToken, "GET", "/v1/downloads/"+next, nil).ok(http.StatusOK).body
		if (ended["completed_at_utc"] != nil) != (status == lifecycle.DownloadCompleted) || (ended["failure_reason"] != nil) != (status == lifecycle.DownloadFailed) {
			t.Errorf("%s: %v", status, ended)
		}

		w.send(
			w.adaToken, "POST", "/v1/downloads/"+next+"/cancel", `{}`,
		).refused(http.StatusConflict, fault.InvalidTransition, "")
	}

	if rows := w.audited(); len(rows) != 0 {
		t.Errorf("people who use what is theirs are audited: %v", rows)
	}
}

// TestRetryImport retries a failed import: once.
func TestRetryImport(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.download(w.adaToken, w.book("Wheels"), "text").ok(http.StatusCreated).body["id"].(string)
	retry := func(token string) reply { return w.send(token, "POST", "/v1/downloads/"+id+"/retry-import", nil) }
	fail := func() {
		w.exec(`UPDATE download_jobs SET status = 'downloading', attention = 'import_failed', last_error = 'MEDIUM_UNSUITABLE',
			progress = 1, content_path = '/x', cancel_requested_at = NULL WHERE id = $1`, id)
	}

	retry(w.adaToken).refused(http.StatusConflict, fault.InvalidTransition, "")
	fail()
	shown := w.send(w.adaToken, "GET", "/v1/downloads/"+id, nil).ok(http.StatusOK).body
	if fmt.Sprint(shown["allowed_actions"]) != "[retry_import cancel]" || shown["waits_for"] != "import" || shown["attention"] != "import_failed" {
		t.Errorf("%v", shown)
	}
	retry(w.bobToken).refused(http.StatusNotFound, fault.DownloadNotFound, "")
	w.temporal.setDown(true)
	retry(w.adaToken).refused(http.StatusServiceUnavailable, fault.TemporalUnavailable, "")
	w.temporal.setDown(false)
	if again := retry(w.adaToken).ok(http.StatusOK).body; again["attention"] != nil || again["last_error"] != nil || again["status"] != "downloading" {
		t.Errorf("%v", again)
	}
	retry(w.adaToken).refused(http.StatusConflict, fault.InvalidTransition, "")

	fail()
	w.exec(`UPDATE download_jobs SET cancel_requested_at = now() WHERE id = $1`, id)
	retry(w.adaToken).refused(http.StatusConflict, fault.InvalidTransition, "")
	fail()
	retry(w.adminToken).ok(http.StatusOK)
	if rows := w.audited(); len(rows) != 2 || !strings.Contains(fmt.Sprint(rows), "1 retry-download-import download/"+id+" done http") {
		t.Errorf("another's attempt and an administrator's are audited: %v", rows)
	}

	events := w.send(w.adaToken, "GET", "/v1/downloads/"+id+"/events", nil).ok(http.StatusOK).items()
	if len(events) != 3 || events[1]["type"] != "import_retried" || events[1]["from"] != events[1]["to"] || events[1]["actor_id"] != fmt.Sprint(w.ada.ID) {
		t.Errorf("events %v", events)
	}
}

func TestACancelThatIsNotConfirmed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	begin := func() (id int64, cancel func(body any) reply) {
		path := w.download(w.adaToken, w.book("Wheels"), "text").ok(http.StatusCreated).body["id"].(string)
		id, err := strconv.ParseInt(path, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return id, func(body any) reply { return w.send(w.adaToken, "POST", "/v1/downloads/"+path+"/cancel", body) }
	}

	for _, code := range []fault.Code{fault.ProviderUnavailable, fault.ProviderUnauthorized, fault.ProviderRejected} {
		_, cancel := begin()
		w.torrents.set(false, code)
		for range 2 { // the second request is a no-op
			answer := cancel(nil)
			answer.refused(http.StatusServiceUnavailable, fault.ProviderUnavailable, "")
			if details, _ := answer.body["details"].(map[string]any); code != fault.ProviderUnavailable && details["reason"] != string(code) {
				t.Errorf("%s: details %v", code, answer.body)
			}
		}
	}

	id, cancel := begin()
	w.temporal.setDown(true)
	cancel(`{"keep_files":true}`).refused(http.StatusServiceUnavailable, fault.TemporalUnavailable, "")
	w.temporal.setDown(false)
	if still, err := w.store.Downloads.ByID(t.Context(), id); err != nil || still.State != lifecycle.DownloadQueued || still.CancelRequestedAt != nil {
		t.Errorf("nobody has taken it, yet %+v, %v", still, err)
	}

	patience := w.downloads.CancelPatience
	w.torrents.set(true, "")
	w.downloads.CancelPatience = 200 * time.Millisecond
	cancel(`{"keep_files":true}`).refused(http.StatusServiceUnavailable, fault.ProviderUnavailable, "")
	w.torrents.set(false, "")
	w.downloads.CancelPatience = patience
	cancel(nil).ok(http.StatusOK)
	if job, err := w.store.Downloads.ByID(t.Context(), id); err != nil || !job.KeepFiles || job.State != lifecycle.DownloadCanceled {
		t.Errorf("%+v, %v", job, err)
	}
}

func TestWithoutQBittorrent(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	off := &downloads.Service{Temporal: w.torrents, Store: w.store, Off: true}
	_, _, err := off.Start(t.Context(), w.ada, downloads.Ask{BookID: 1, MediaType: "text", SourceURL: magnet})
	if fault.CodeOf(err) != fault.ProviderUnavailable {
		t.Errorf("%v", err)
	}
}

func TestListsOfDownloads(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var adas []string
	books := []string{w.book("One"), w.book("Two"), w.book("Three")}
	for _, book := range books {
		adas = append(adas, w.download(w.adaToken, book, "text").ok(http.StatusCreated).body["id"].(string))
		w.download(w.bobToken, book, "text").ok(http.StatusCreated)
	}

	w.end(adas[0], lifecycle.DownloadCompleted)
	slices.Reverse(adas)

	for query, want := range map[string][]string{
		"status=completed": adas[2:], "status=queued": adas[:2], "status=failed": nil, "book_id=" + books[1]: adas[1:2], "book_id=999999": nil,
		"book_id=" + books[0] + "&status=queued": nil,
	} {
		if got := w.walk(w.adaToken, "/v1/downloads?"+query, "id"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}

	for query, field := range map[string]string{
		"status=QUEUED": "status", "status=NONE": "status", "book_id=x": "book_id", "book_id=0": "book_id", "book_id=9999999999999999999": "book_id",
	} {
		w.send(w.adaToken, "GET", "/v1/downloads?"+query, nil).refused(unprocessable, fault.Validation, field)
	}
}

func TestDownloadBodiesThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	long := func(n int) string { return strings.Repeat("x", n) }
	right := func(more string) string {
		return fmt.Sprintf(`{"book_id":"%s","media_type":"text","source_url":"%s",%s}`, book, magnet, more)
	}

	link := func(url string) string {
		return fmt.Sprintf(`{"book_id":"%s","media_type":"text","source_url":"%s"}`, book, url)
	}

	id := w.download(w.adaToken, book, "audio").ok(http.StatusCreated).body["id"].(string)
	w.wrongBodies(w.adaToken, map[string][]wrongBody{
		"POST /v1/books": {
			{`{}`, "title"},
			{`{"title":""}`, "title"},
			{`{"title":" "}`, "title"},
			{`{"title":null}`, "title"},
			{`{"title":7}`, "title"},
			{`{"title":"a\nb"}`, "title"},
			{`{"title":"a\u0000"}`, "title"},
			{`{"title":"` + long(501) + `"}`, "title"},
			{`{"title":"x","author":7}`, "author"},
			{`{"title":"x","author":"a\nb"}`, "author"},
			{`{"title":"x","author":"` + long(501) + `"}`, "author"},
			{`{"title":"x","state":"Library"}`, "state"},
			{`{"title":"x","media":[]}`, "media"},
			{`{"Title":"x"}`, "title"},
			{`[]`, "body"},
		},
		"POST /v1/downloads": {
			{`{"media_type":"text","source_url":"` + magnet + `"}`, "book_id"},
			{`{"book_id":"` + book + `","source_url":"` + magnet + `"}`, "media_type"},
			{`{"book_id":"` + book + `","media_type":"text"}`, "source_url"},
			{`{"book_id":1,"media_type":"text","source_url":"` + magnet + `"}`, "book_id"},
			{`{"book_id":"x","media_type":"text","source_url":"` + magnet + `"}`, "book_id"},
			{`{"book_id":"9999999999999999999","media_type":"text","source_url":"` + magnet + `"}`, "book_id"},
			{`{"book_id":"` + book + `","media_type":"video","source_url":"` + magnet + `"}`, "media_type"},
			{`{"book_id":"` + book + `","media_type":"TEXT","source_url":"` + magnet + `"}`, "media_type"},
			{`{"book_id":"` + book + `","media_type":null,"source_url":"` + magnet + `"}`, "media_type"},
			{right(`"source":7`), "source"},
			{right(`"source":"` + long(101) + `"`), "source"},
			{right(`"source":"a\nb"`), "source"},
			{right(`"status":"completed"`), "status"},
			{right(`"user_id":"1"`), "user_id"},
			{right(`"save_path":"/etc"`), "save_path"},
			{link(""), "source_url"},
			{link("x"), "source_url"},
			{link("magnet:?xt=urn:btih:abc"), "source_url"},
			{link("magnet:?dn=x"), "source_url"},
			{link("ftp://example.org/x.torrent"), "source_url"},
			{link("file:///etc/passwd"), "source_url"},
			{link("http://"), "source_url"},
			{link("https://example.org/" + long(8200)), "source_url"},
			{link("http://example.org/a\\nb"), "source_url"},
			{link(`http://example.org/a\u0000`), "source_url"},
			{link(magnet + `\n` + magnet), "source_url"},
			{link("javascript:alert(1)"), "source_url"},
			{`[]`, "body"},
		},
		"POST /v1/downloads/" + id + "/cancel": {
			{`{"keep_files":1}`, "keep_files"}, {`{"keep_files":"yes"}`, "keep_files"}, {`{"keep":true}`, "keep"}, {`[]`, "body"}, {`7`, "body"},
		},
	})
	w.download(w.adaToken, "999999", "text").refused(http.StatusNotFound, fault.BookNotFound, "book_id")
	if got := w.walk(w.adaToken, "/v1/downloads", "status"); !slices.Equal(got, []string{"queued"}) {
		t.Errorf("wrong requests left downloads %v", got)
	}
}
