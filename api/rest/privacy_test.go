package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

// TestMetricsAreElsewhere wants no metrics from the API itself: they have a listener of their own.
func TestMetricsAreElsewhere(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.send("", "GET", "/metrics", nil).refused(http.StatusNotFound, fault.NotFound, "")
}

// TestMembersAreNamedOnceTheyAgree asks Bob in: others see him, and his name, only after he has agreed.
func TestMembersAreNamedOnceTheyAgree(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.space(w.adaToken, "Ada's")
	space := "/v1/workspaces/" + id
	check := func(when string, want ...string) {
		t.Helper()
		for _, token := range []string{w.adaToken, w.adminToken} {
			if names := w.walk(token, space+"/members", "name"); !slices.Equal(names, want) {
				t.Errorf("%s: %v", when, names)
			}
		}
	}

	for range 2 {
		w.asks(w.adaToken, id, w.bob.ID)
		check("asked in", w.ada.Name)
	}

	w.send(w.bobToken, "POST", space+"/agree", nil).ok(http.StatusNoContent)
	check("after he has agreed", w.ada.Name, w.bob.Name)
	w.send(w.adaToken, "DELETE", fmt.Sprintf("%s/members/%d", space, w.bob.ID), nil).ok(http.StatusNoContent)
	w.send(w.bobToken, "POST", space+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.asks(w.adaToken, id, w.bob.ID)
	check("asked in anew", w.ada.Name)

	// An agent has its owner's name beside its own.
	agent, _ := w.agentOf(w.adaToken, "read", "tasks")
	w.send(w.adaToken, "PUT", space+"/members/"+agent, nil).ok(http.StatusNoContent)
	check("with an agent", w.ada.Name, "night shift")
	if owners := w.walk(w.adaToken, space+"/members", "owner_name"); !slices.Equal(owners, []string{"", w.ada.Name}) {
		t.Errorf("the owners are %v", owners)
	}
	w.send(w.adaToken, "DELETE", space+"/members/"+agent, nil).ok(http.StatusNoContent)

	// An administrator is no member until they add themselves.
	w.send(w.adminToken, "POST", space+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(w.adminToken, "PUT", space+"/members/1", nil).ok(http.StatusNoContent)
	check("with an administrator", w.admin.Name, w.ada.Name)
}
