package rest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// TestLinksAreForTheirOwners shows a medium's link to whose download brought it and to administrators, in the list and alone.
func TestLinksAreForTheirOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	book := w.book("Wheels")
	w.exec(`INSERT INTO media_assets (book_id, media_type, status, path, source_url, owner_id) VALUES ($1, 'text', 'available', '/d/a', 'magnet:adas', $2)`, book, w.ada.ID)
	w.exec(`INSERT INTO media_assets (book_id, media_type, status, path, source_url) VALUES ($1, 'audio', 'available', '/d/b', 'magnet:nobodys')`, book)
	for name, c := range map[string]struct {
		token      string
		text, rest any
	}{
		"owner":         {w.adaToken, "magnet:adas", nil},
		"administrator": {w.adminToken, "magnet:adas", "magnet:nobodys"},
		"somebody":      {w.bobToken, nil, nil},
	} {
		alone := w.send(c.token, "GET", "/v1/books/"+book, nil).ok(http.StatusOK).body
		for _, shown := range []map[string]any{alone, w.send(c.token, "GET", "/v1/books", nil).ok(http.StatusOK).items()[0]} {
			links := map[string]any{}
			for _, m := range shown["media"].([]any) {
				medium := m.(map[string]any)
				links[medium["media_type"].(string)] = medium["source_url"]
			}
			if links["text"] != c.text || links["audio"] != c.rest {
				t.Errorf("%s sees %v", name, links)
			}
		}
	}
}

// metrics gives what the listener of the metrics would answer.
func (w *world) metrics() string {
	answer := httptest.NewRecorder()
	w.measures.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestMetricsAreElsewhere and the old path says where.
func TestMetricsAreElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.send("", "GET", "/metrics", nil).refused(http.StatusGone, fault.MetricsMoved, "")
	if !strings.Contains(a.raw, "STAGECOACH_API_METRICS_ADDR") || strings.Contains(a.raw, "go_goroutines") {
		t.Errorf("the old path answers %s", a.raw)
	}
}
