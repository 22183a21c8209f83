package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// TestLinksAreForTheirOwners shows a medium's link to whose download brought it and to administrators, in the list and
// alone.
func TestLinksAreForTheirOwners(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	w.exec(
		`INSERT INTO media_assets (book_id, media_type, status, path, source_url, owner_id) VALUES ($1, 'text', 'available', '/d/a', 'magnet:adas', $2)`,
		book, w.ada.ID,
	)
	w.exec(
		`INSERT INTO media_assets (book_id, media_type, status, path, source_url) VALUES ($1, 'audio', 'available', '/d/b', 'magnet:nobodys')`,
		book,
	)

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
func (w *rig) metrics() string {
	answer := httptest.NewRecorder()
	w.measures.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestMetricsAreElsewhere and the old path says where.
func TestMetricsAreElsewhere(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	a := w.send("", "GET", "/metrics", nil).refused(http.StatusGone, fault.MetricsMoved, "")
	if !strings.Contains(a.raw, "STAGECOACH_API_METRICS_ADDR") || strings.Contains(a.raw, "go_goroutines") {
		t.Errorf("the old path answers %s", a.raw)
	}
}

// TestMembersAreNamedOnceTheyAgree lets Bob in: others see his name only after he has agreed, himself and
// administrators before.
func TestMembersAreNamedOnceTheyAgree(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := "/v1/workspaces/" + w.workspace()
	shown := func(token string) (name, agreed any) {
		member := w.send(token, "GET", space+"/members", nil).ok(http.StatusOK).items()[1]
		return member["name"], member["agreed"]
	}

	check := func(when, token string, wantName string, wantAgreed bool) {
		t.Helper()
		if name, agreed := shown(token); name != wantName || agreed != wantAgreed {
			t.Errorf("%s: named %q, agreed %v", when, name, agreed)
		}
	}

	check("to the owner", w.adaToken, "", false)
	check("to himself", w.bobToken, w.bob.Name, false)
	check("to an administrator", w.adminToken, w.bob.Name, false)
	w.task(w.bobToken, strings.TrimPrefix(space, "/v1/workspaces/"), nil) // he may act at once

	w.send(w.adaToken, "PUT", fmt.Sprintf("%s/members/%d", space, w.bob.ID), nil).ok(http.StatusNoContent)
	check("let in again", w.adaToken, "", false)
	for range 2 {
		w.send(w.bobToken, "POST", space+"/agree", nil).ok(http.StatusNoContent)
	}

	check("after he has agreed", w.adaToken, w.bob.Name, true)

	w.send(w.adaToken, "DELETE", fmt.Sprintf("%s/members/%d", space, w.bob.ID), nil).ok(http.StatusNoContent)
	w.send(w.bobToken, "POST", space+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	// not a member
	w.send(w.adminToken, "POST", space+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(w.adaToken, "PUT", fmt.Sprintf("%s/members/%d", space, w.bob.ID), nil).ok(http.StatusNoContent)
	check("let in anew", w.adaToken, "", false)

	w.send(w.adminToken, "PUT", space+"/members/1", nil).ok(http.StatusNoContent) // who adds themselves has agreed
	if first := w.send(w.adaToken, "GET", space+"/members", nil).ok(http.StatusOK).items()[0]; first["user_id"] != "1" || first["agreed"] != true {
		t.Errorf("an administrator who has joined is %v", first)
	}
}
