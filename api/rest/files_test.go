package rest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.disk.put("/b.txt", 5)
	w.disk.put("/z/deep/film.mkv", 7)
	w.disk.put("/z/other/film.mkv", 7)
	w.disk.put("/a.txt", 0)
	top := w.send(w.adaToken, "GET", "/v1/files", nil).ok(http.StatusOK)
	var names []string

	for _, item := range top.items() {
		names = append(names, fmt.Sprint(item["name"], " ", item["kind"], " ", item["path"], " ", item["size"]))
		if item["file_id"] == "" || !strings.HasSuffix(item["modified_at"].(string), "Z") {
			t.Errorf("item %v", item)
		}
	}

	if want := []string{"z folder /z 0", "a.txt file /a.txt 0", "b.txt file /b.txt 5"}; !slices.Equal(names, want) {
		t.Errorf("listed %v, want %v", names, want)
	}
	if top.body["total"] != 3.0 || top.body["stale"] != false || top.body["next_cursor"] != nil || top.body["folder"].(map[string]any)["path"] != "/" {
		t.Errorf("list %s", top.raw)
	}

	w.send(w.adaToken, "GET", "/v1/files?path=/z/deep", nil).ok(http.StatusOK)
	w.send(w.adaToken, "GET", "/v1/files?path=/nothing", nil).refused(http.StatusNotFound, fault.FileNotFound, "path")
	w.send(w.adaToken, "GET", "/v1/files?path=/a.txt", nil).refused(unprocessable, fault.Validation, "path")

	w.disk.fail(fault.New(fault.YandexUnavailable, "the file storage limits our rate").After(1500 * time.Millisecond))
	busy := w.send(w.adaToken, "GET", "/v1/files?path=/z/other", nil).refused(
		http.StatusServiceUnavailable, fault.YandexUnavailable, "",
	)
	if busy.header.Get("Retry-After") != "2" {
		t.Errorf("Retry-After is %q", busy.header.Get("Retry-After"))
	}

	w.exec(`UPDATE listings SET listed_at = now() - interval '1 day'`)
	if stale := w.send(w.adaToken, "GET", "/v1/files", nil).ok(http.StatusOK); stale.body["stale"] != true || len(stale.items()) != 3 {
		t.Errorf("stale list %s", stale.raw)
	}
}

func TestOddNames(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	odd := []string{
		`say "hi" & 'bye' <b>`, "😀🎬.mkv", "100%2F2%00.txt", "a+b=c?d#e;f", `back\slash`, " spaces ", "tab\there",
		strings.Repeat("я", 125) + "_.mkv",
	}

	for _, name := range odd {
		w.disk.put("/odd/"+name+"/inside.txt", 1)
	}

	seen := map[string]bool{}
	for _, item := range w.send(w.adaToken, "GET", "/v1/files?path=/odd", nil).ok(http.StatusOK).items() {
		seen[item["name"].(string)] = true
		inside := w.send(
			w.adaToken, "GET", "/v1/files?path="+url.QueryEscape(item["path"].(string)), nil,
		).ok(http.StatusOK).items()
		if len(inside) != 1 || inside[0]["path"] != item["path"].(string)+"/inside.txt" {
			t.Errorf("%v holds %v", item["path"], inside)
		}
	}

	for _, name := range odd {
		if !seen[name] {
			t.Errorf("%q is missing", name)
		}
	}
}

func TestNightALargeFolder(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	const entries = 10_000
	for i := range entries {
		w.disk.put(fmt.Sprintf("/big/%05d.txt", i), 1)
	}

	got := w.walk(w.adaToken, "/v1/files?path=/big&limit=200", "name")
	if len(got) != entries || len(slices.Compact(slices.Sorted(slices.Values(got)))) != entries {
		t.Fatalf("saw %d entries", len(got))
	}
	if got = w.walk(w.adaToken, "/v1/files?path=/big&limit=199", "file_id"); len(got) != entries {
		t.Fatalf("saw %d entries", len(got))
	}
}

func TestSearchingFiles(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for i := range 25 {
		w.disk.put(fmt.Sprintf("/d%d/Film %02d.mkv", i%3, i), 1)
	}

	var found reply
	wait.Eventually(t, "the files are indexed", func() bool {
		found = w.send(w.adaToken, "GET", "/v1/files?q=fiLM", nil).ok(http.StatusOK)
		return found.body["indexing"] == false
	})
	if len(found.items()) != 25 || found.body["folder"] != nil {
		t.Fatalf("found %s", found.raw)
	}

	if got := w.walk(w.adaToken, "/v1/files?q=film&limit=4", "file_id"); len(got) != 25 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 25 {
		t.Errorf("found %v", got)
	}
}
