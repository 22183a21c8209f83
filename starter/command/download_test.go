package command

import (
	"net/http"
	"strings"
	"testing"

	"stagecoach/internal/lifecycle"
)

const (
	bookJSON     = `{"id":"4","title":"On Wheels","author":"A. Cartwright","state":"Library","media":[{"media_type":"text","status":"available","path":"/d/job-9/w.epub","source_url":"magnet:?a"}],"creator_id":"3","created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"}`
	sendingJSON  = `{"deliveries":[{"delivery_id":"17","file_name":"w.epub","size":1000}]}`
	downloadJSON = `{"id":"9","user_id":"3","book_id":"4","book_title":"On Wheels","media_type":"text","status":"STATUS","source":"magnet","source_url":"magnet:?a&b","external_job_id":"c12fe1","progress":0.9999,"size":2097152,"speed":1200000,"eta_seconds":355,"failure_reason":REASON,"last_error":null,"attention":null,"cancel_requested":false,"allowed_actions":["cancel"],"workflow_id":"download/3/4/text","created_at_utc":"2026-03-01T12:00:00Z","updated_at_utc":"2026-03-01T12:00:03Z","completed_at_utc":COMPLETED,"first_not_found_at_utc":null}`
)

func downloadIn(status lifecycle.DownloadState) string {
	reason, completed := "null", "null"
	switch status {
	case lifecycle.DownloadFailed:
		reason = `"missing_external_job"`
	case lifecycle.DownloadCompleted:
		completed = `"2026-03-01T12:01:05Z"`
	case lifecycle.DownloadQueued, lifecycle.DownloadDownloading, lifecycle.DownloadCanceled:
	}
	return strings.NewReplacer("STATUS", string(status), "REASON", reason, "COMPLETED", completed).Replace(downloadJSON)
}

func TestDownloadCommands(t *testing.T) {
	t.Parallel()
	queued, downloading, completed, canceled := downloadIn("queued"), downloadIn("downloading"), downloadIn("completed"), downloadIn("canceled")
	answers := map[string][]string{
		"POST /v1/books":                                        {"201 " + bookJSON},
		"GET /v1/books/4":                                       {"200 " + bookJSON},
		"GET /v1/books?limit=50":                                {"200 " + list(bookJSON)},
		"GET /v1/books?limit=1&q=wheels&state=Library":          {`200 {"items":[` + bookJSON + `],"next_cursor":"c2"}`},
		"POST /v1/downloads":                                    {"201 " + queued},
		"GET /v1/downloads/9":                                   {"200 " + downloading, "200 " + completed},
		"GET /v1/downloads/9/events":                            {"200 " + list(`{"seq":1,"type":"enqueued","actor_id":"3","from":"","to":"queued","comment":"","created_at":"2026-03-01T12:00:00Z"}`)},
		"GET /v1/downloads?limit=50":                            {"200 " + list(downloading, downloadIn("failed"))},
		"GET /v1/downloads?book_id=4&limit=50&status=completed": {"200 " + list(completed)},
		"POST /v1/downloads/9/cancel":                           {"200 " + canceled},
		"POST /v1/downloads/9/retry-import":                     {"200 " + downloading},
		"POST /v1/books/4/media/text/mark":                      {"200 " + bookJSON},
		"POST /v1/downloads/9/again":                            {"201 " + queued},
		"POST /v1/downloads/9/send":                             {"200 " + sendingJSON},
		"POST /v1/books/4/media/audio/send":                     {"200 " + sendingJSON},
	}

	runCommands(t, answers, []commandTest{
		{line: "book add Wheels", want: []string{"On Wheels", "4"}, json: bookJSON, body: `{"title":"Wheels"}`},
		{line: "book add Wheels --author Ada", body: `{"author":"Ada","title":"Wheels"}`},
		{line: "book show 4", want: []string{"available at /d/job-9/w.epub", "from magnet:?a", "Library"}, json: bookJSON},
		{line: "book medium 4 text missing", want: []string{"On Wheels"}, json: bookJSON, body: `{"status":"missing"}`},
		{line: "book list", want: []string{"4", "text available", "A. Cartwright"}, json: list(bookJSON)},
		{line: "book list --search wheels --in-state Library --limit 1", want: []string{"--cursor c2"}},
		{
			line: "download 4 magnet:?a&b",
			want: []string{"download 9 of On Wheels, text is requested", "starter download show 9"}, json: queued,
			body: `{"book_id":"4","media_type":"text","source_url":"magnet:?a\u0026b"}`,
		},
		{line: "download 4 magnet:?a&b --type audio --source Shelf", body: `{"book_id":"4","media_type":"audio","source":"Shelf","source_url":"magnet:?a\u0026b"}`},
		{line: "download 4 magnet:?a&b --wait", want: []string{"download 9  downloading  On Wheels, text", "completed", "2.0 MB in 1 min 05 s"}, json: completed},
		{line: "download 4 magnet:?a --send", body: `{"book_id":"4","media_type":"text","send":true,"source_url":"magnet:?a"}`},
		{line: "download again 9", want: []string{"queued"}, json: queued},
		{line: "download send 9", want: []string{"17", "1000 B", "w.epub"}, json: sendingJSON},
		{line: "book send 4 audio", want: []string{"17", "w.epub"}, json: sendingJSON},
		{
			line: "download 4 magnet:?a&b magnet:?c https://example.org/d --source Shelf",
			body: `{"book_id":"4","media_type":"text","source":"Shelf","source_url":"magnet:?a\u0026b",` +
				`"sources":[{"source_url":"magnet:?a\u0026b"},{"source_url":"magnet:?c"},{"source_url":"https://example.org/d"}]}`,
		},
		{line: "download list", want: []string{"99 %", "1.1 MB/s, 5 min 55 s left", "missing_external_job"}, json: list(downloading, downloadIn("failed"))},
		{line: "download list --in-status COMPLETED --book 4", want: []string{"completed"}},
		{line: "download show 9", want: []string{"downloading", "c12fe1", "download/3/4/text", "cancel", "On Wheels (id 4)"}, json: downloading},
		{line: "download events 9", want: []string{"enqueued", "queued"}},
		{line: "download retry 9", want: []string{"downloading"}, json: downloading},
		{line: "download cancel 9", want: []string{"canceled"}, json: canceled, body: `{"keep_files":false}`},
		{line: "download cancel 9 --keep-files", body: `{"keep_files":true}`},
	})
}

func TestDownloadsThatExist(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{"POST /v1/downloads": {"200 " + downloadIn("downloading")}})
	for link, want := range map[string]string{"magnet:?a&b": "is already active\n", "magnet:?other": "is already active from another link: cancel it"} {
		if code, out, errs := api.starter(t, "download", "4", link); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, output %q, errors %q", link, code, out, errs)
		}
	}
}

func TestDownloadsThatDoNotComplete(t *testing.T) {
	t.Parallel()
	for status, want := range map[lifecycle.DownloadState]string{
		lifecycle.DownloadFailed:   "download 9 ended failed: missing_external_job",
		lifecycle.DownloadCanceled: "download 9 ended canceled",
	} {
		api := newFakeAPI(t, map[string][]string{
			"POST /v1/downloads":  {"201 " + downloadIn("queued")},
			"GET /v1/downloads/9": {problemJSON(http.StatusServiceUnavailable, "STORE_UNAVAILABLE"), "200 " + downloadIn(status)},
		})
		code, out, errs := api.starter(t, "download", "4", "magnet:?a", "--wait", "--json")
		if code != 1 || !strings.Contains(out, `"status":"`+string(status)+`"`) || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
		}
	}
}
