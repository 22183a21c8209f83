package rest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// TestLinksAreForTheirOwners shows a medium's link only to the user whose download provided it and to administrators,
// in the list and alone.
func TestLinksAreForTheirOwners(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	book := w.book("Wheels")
	w.exec(
		`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url, owner_id) VALUES ($1, 'text', 1, 'available', '/d/a', 'magnet:adas', $2)`,
		book, w.ada.ID,
	)
	w.exec(
		`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, 'audio', 2, 'available', '/d/b', 'magnet:nobodys')`,
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

// TestCreatorsAreForThemselves shows who created a book only to that user and to administrators: for others neither the
// API nor a tool has the creator's number or name.
func TestCreatorsAreForThemselves(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	const number = "7700123"
	w.exec(`ALTER SEQUENCE users_id_seq RESTART ` + number)
	_, creator := w.user("Planted Creator", 555, account.RoleUser, account.UserActive)
	book := w.send(creator, "POST", "/v1/books", `{"title":"Wheels","author":"Cartwright"}`).ok(http.StatusCreated).body
	if book["creator_id"] != number {
		t.Errorf("created: %v", book)
	}

	for name, c := range map[string]struct {
		token string
		want  any
	}{"creator": {creator, number}, "administrator": {w.adminToken, number}, "somebody": {w.bobToken, nil}} {
		answers := []reply{
			w.send(c.token, "GET", "/v1/books/"+book["id"].(string), nil), w.send(c.token, "GET", "/v1/books", nil),
			w.send(c.token, "GET", "/v1/books?q=wheels", nil),
		}
		for _, answer := range answers {
			shown := answer.ok(http.StatusOK).body
			if items, listed := shown["items"].([]any); listed {
				shown = items[0].(map[string]any)
			}
			if shown["title"] != "Wheels" || shown["creator_id"] != c.want {
				t.Errorf("%s sees %v", name, shown)
			}
		}
	}

	found := fmt.Sprint(w.agent(w.bobToken).call("books_find", map[string]any{"words": "wheels"}))
	if !strings.Contains(found, "Wheels") || strings.Contains(found, number) || strings.Contains(found, "Planted") {
		t.Errorf("an agent of somebody finds %s", found)
	}
}

// metrics returns what the metrics listener would respond.
func (w *rig) metrics() string {
	answer := httptest.NewRecorder()
	w.measures.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	return answer.Body.String()
}

// TestMetricsAreElsewhere expects no metrics on the API itself: they have their own listener.
func TestMetricsAreElsewhere(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.send("", "GET", "/metrics", nil).refused(http.StatusNotFound, fault.NotFound, "")
}

// TestMembersAreNamedOnceTheyAgree invites Bob: others see him, and his name, only after he has accepted.
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

	// An agent is shown with its own name and its owner's.
	agent, _ := w.agentOf(w.adaToken, "read", "tasks")
	w.send(w.adaToken, "PUT", space+"/members/"+agent, nil).ok(http.StatusNoContent)
	check("with an agent", w.ada.Name, "night shift")
	if owners := w.walk(w.adaToken, space+"/members", "owner_name"); !slices.Equal(owners, []string{"", w.ada.Name}) {
		t.Errorf("the owners are %v", owners)
	}
	w.send(w.adaToken, "DELETE", space+"/members/"+agent, nil).ok(http.StatusNoContent)

	// An administrator is not a member until they add themselves.
	w.send(w.adminToken, "POST", space+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(w.adminToken, "PUT", space+"/members/1", nil).ok(http.StatusNoContent)
	check("with an administrator", w.admin.Name, w.ada.Name)
}
