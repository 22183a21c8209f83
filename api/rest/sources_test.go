package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// TestSourcesOfADownload passes several sources: each torrent is used once, in order, without those that have failed
// before. No response shows the links of the later ones.
func TestSourcesOfADownload(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	link := func(n int) string { return fmt.Sprintf("magnet:?xt=urn:btih:%040d", n) }
	source := func(link string, more ...any) map[string]any {
		one := map[string]any{"source_url": link}
		for i := 0; i < len(more); i += 2 {
			one[more[i].(string)] = more[i+1]
		}
		return one
	}
	ask := func(medium string, sources ...any) reply {
		return w.send(w.adaToken, "POST", "/v1/downloads", map[string]any{
			"book_id": book, "media_type": medium, "source_url": link(1), "sources": sources,
		})
	}
	shown := func(of map[string]any) string {
		text := fmt.Sprintf("%v %v:", of["source_place"], of["source"])
		for _, one := range of["sources"].([]any) {
			s := one.(map[string]any)
			hash := s["infohash"].(string)
			text += fmt.Sprintf(" %v %v %.1s %v,", s["place"], s["title"], hash[max(0, len(hash)-1):], s["outcome"])
		}
		return strings.TrimSuffix(text, ",")
	}

	made := ask("text",
		source(link(1), "title", "One", "indexer", "Books", "size", 5),
		source("https://example.org/2?apikey=planted", "title", "Two", "infohash", fmt.Sprintf("%040d", 2)),
		source(link(2), "title", "Two again"), source(link(3), "title", "Three"), source(link(1)+"&dn=one"),
		source("https://example.org/4?apikey=planted"), source("https://example.org/4?apikey=planted"),
	).ok(http.StatusCreated)
	want := "1 Books: 1 One 1 <nil>, 2 Two 2 <nil>, 3 Three 3 <nil>, 4   <nil>"
	if got := shown(made.body); got != want || strings.Contains(made.raw, "planted") {
		t.Errorf("%s, want %s; %s", got, want, made.raw)
	}

	id := made.body["id"].(string)
	for _, path := range []string{"/v1/downloads/" + id, "/v1/downloads"} {
		if answer := w.send(w.adaToken, "GET", path, nil).ok(http.StatusOK); strings.Contains(answer.raw, "planted") {
			t.Errorf("%s: %s", path, answer.raw)
		}
	}

	var number int64
	_, _ = fmt.Sscan(id, &number)
	job, err := w.store.Downloads.Switch(t.Context(), lifecycle.DownloadSwitch{JobID: number, From: 1, Outcome: fault.Stalled})
	if err != nil || job.SourcePlace != 2 {
		t.Fatalf("%+v, %v", job, err)
	}
	if got := shown(w.send(w.adaToken, "GET", "/v1/downloads/"+id, nil).ok(http.StatusOK).body); !strings.HasPrefix(got, "2 torrent: 1 One 1 stalled, 2 Two 2 <nil>,") {
		t.Error(got)
	}
	found := w.send(w.adaToken, "GET", "/v1/releases?q=wheels&media_type=text&book_id="+book, nil).ok(http.StatusOK).body
	if items := found["items"].([]any); items[0].(map[string]any)["failed_before"] != false {
		t.Errorf("%v", items)
	}

	// A source that has failed for the book is only tried if it comes first. A claimed infohash is ignored.
	_, err = w.store.Downloads.Switch(t.Context(), lifecycle.DownloadSwitch{JobID: number, From: 2, Outcome: fault.EnqueueFailed})
	if err != nil {
		t.Fatal(err)
	}
	w.end(id, lifecycle.DownloadFailed)
	again := ask("text", source("https://example.org/2?apikey=planted"), source(link(2)), source(link(5), "title", "Five")).ok(http.StatusCreated)
	if got, want := shown(again.body), "1 magnet: 1  1 <nil>, 2  2 <nil>, 3 Five 5 <nil>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if alone := ask("audio", source(link(1))).ok(http.StatusCreated).body; shown(alone) != "1 magnet:" {
		t.Error(shown(alone))
	}
}

// TestADownloadAgain repeats a download with all its sources, failed ones last, and once per key.
func TestADownloadAgain(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	link := func(n int) string { return fmt.Sprintf("magnet:?xt=urn:btih:%040d", n) }
	var sources []map[string]any
	for n := 1; n <= 4; n++ {
		sources = append(sources, map[string]any{"source_url": link(n), "title": fmt.Sprint("Number ", n), "indexer": "Books"})
	}
	made := w.send(w.adaToken, "POST", "/v1/downloads", map[string]any{
		"book_id": book, "media_type": "text", "source": "A friend", "source_url": link(1), "sources": sources, "send": true,
	}).ok(http.StatusCreated).body
	again := func(of map[string]any, key string, status int) map[string]any {
		path := fmt.Sprintf("/v1/downloads/%v/again", of["id"])
		return w.send(w.adaToken, "POST", path, nil, "Idempotency-Key", key).ok(status).body
	}
	wants := func(made map[string]any, titles, source, url string) {
		t.Helper()
		got := ""
		for _, one := range made["sources"].([]any) {
			got += strings.TrimPrefix(one.(map[string]any)["title"].(string), "Number ")
		}
		if got != titles || made["source"] != source || made["source_url"] != url || made["media_type"] != "text" || made["send"] != true {
			t.Errorf("%s, want %s: %v", got, titles, made)
		}
	}

	if now := again(made, "active", http.StatusOK); now["id"] != made["id"] {
		t.Errorf("%v", now)
	}
	w.end(made["id"].(string), lifecycle.DownloadCanceled)
	second := again(made, "canceled", http.StatusCreated)
	wants(second, "1234", "A friend", link(1))

	var number int64
	_, _ = fmt.Sscan(second["id"].(string), &number)
	for _, by := range []lifecycle.DownloadSwitch{{From: 1, Outcome: fault.Stalled}, {From: 2, Outcome: fault.MediumUnsuitable}} {
		by.JobID = number
		if _, err := w.store.Downloads.Switch(t.Context(), by); err != nil {
			t.Fatal(err)
		}
	}
	w.end(second["id"].(string), lifecycle.DownloadFailed) // with the third one
	third := again(second, "failed", http.StatusCreated)
	wants(third, "4123", "Books", link(4))

	w.exec(`UPDATE download_sources SET outcome = 'provider_error' WHERE job_id = $1`, third["id"])
	w.end(third["id"].(string), lifecycle.DownloadFailed)
	if same := again(second, "failed", http.StatusOK); same["id"] != third["id"] {
		t.Errorf("%v", same)
	}
	wants(again(third, "all-failed", http.StatusCreated), "4123", "Books", link(4))

	for _, token := range []string{w.bobToken, w.adminToken} { // not even for an administrator
		w.send(token, "POST", fmt.Sprintf("/v1/downloads/%v/again", third["id"]), nil).refused(http.StatusNotFound, fault.DownloadNotFound, "")
	}
}

// TestSourcesThatAreWrong are refused with the invalid field.
func TestSourcesThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	ask := func(first string, sources ...any) reply {
		return w.send(w.adaToken, "POST", "/v1/downloads", map[string]any{
			"book_id": book, "media_type": "text", "source_url": first, "sources": sources,
		})
	}
	link := func(n int) map[string]any {
		return map[string]any{"source_url": fmt.Sprintf("https://example.org/%d", n)}
	}
	var ten []any
	for n := range 10 {
		ten = append(ten, link(n))
	}

	ask(magnet, ten...).refused(unprocessable, fault.Validation, "sources")
	ask(magnet, append(ten, link(10))...).refused(unprocessable, fault.Validation, "sources")
	ask(magnet, link(1), map[string]any{"source_url": "gopher://x"}).refused(unprocessable, fault.Validation, "sources[1].source_url")
	for field, value := range map[string]any{
		"title": "a\nb", "indexer": strings.Repeat("x", 101), "size": -1, "infohash": "ABC",
	} {
		one := link(1)
		one[field] = value
		ask(magnet, one).refused(unprocessable, fault.Validation, "sources[0]."+field)
	}
	ask("https://example.org/0", ten...).ok(http.StatusCreated)

	w.send(w.adaToken, "GET", "/v1/releases?q=a&media_type=text&book_id=x", nil).refused(unprocessable, fault.Validation, "book_id")
}

// TestPastedLinks are accepted as people paste them, and passed on escaped.
func TestPastedLinks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for pasted, want := range map[string]string{
		"  " + magnet + "&dn=A Treatise, 100%\n":  magnet + "&dn=A%20Treatise,%20100%25",
		magnet + "&dn=A\u00a0B":                   magnet + "&dn=A%20B",
		"https://x.example/A [2020] 50%.torrent":  "https://x.example/A%20[2020]%2050%25.torrent",
		"https://x.example/A%20B.torrent?k=a%2Fb": "https://x.example/A%20B.torrent?k=a%2Fb",
		magnet + "&dn=a\nb":                       "",
		"A Treatise on Wheels":                    "",
	} {
		asked := map[string]any{"book_id": w.book("Wheels"), "media_type": "text", "source_url": pasted}
		answer := w.send(w.adaToken, "POST", "/v1/downloads", asked)
		switch {
		case want == "" && (answer.status != http.StatusUnprocessableEntity || !strings.Contains(answer.raw, "source_url")):
			t.Errorf("%q: %s", pasted, answer.raw)
		case want != "" && answer.ok(http.StatusCreated).body["source_url"] != want:
			t.Errorf("%q: %v, want %q", pasted, answer.body["source_url"], want)
		}
	}
}
