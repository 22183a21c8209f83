package rest_test

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// book adds a book and returns its id.
func (w *rig) book(title string) string {
	w.t.Helper()
	return w.send(
		w.adaToken, "POST", "/v1/books", map[string]any{"title": title},
	).ok(http.StatusCreated).body["id"].(string)
}

func TestABook(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	made := w.send(
		w.adaToken, "POST", "/v1/books", `{"title":" Wheels 🛞 ","author":" Ë. Cartwright"}`,
	).ok(http.StatusCreated).body

	for name, want := range map[string]any{
		"title": "Wheels 🛞", "author": "Ë. Cartwright", "state": "Archive", "media": "[]", "creator_id": fmt.Sprint(w.ada.ID),
	} {
		if got, ok := made[name]; !ok || fmt.Sprint(got) != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}

	if made["created_at"] == nil || made["updated_at"] == nil {
		t.Errorf("times of %v", made)
	}

	target := fmt.Sprint("/v1/books/", made["id"])
	w.exec(
		`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, 'text', 1, 'available', '/d/wheels.epub', 'magnet:x')`,
		made["id"],
	)
	w.exec(`UPDATE books SET state = 'Library' WHERE id = $1`, made["id"])
	got := w.send(w.bobToken, "GET", target, nil).ok(http.StatusOK).body
	if got["state"] != "Library" || fmt.Sprint(got["media"]) != "[map[files:0 media_type:text path:/d/wheels.epub source_url:<nil> status:available]]" {
		t.Errorf("Bob sees %v", got)
	}
	if bare := w.send(w.bobToken, "POST", "/v1/books", `{"title":"x"}`).ok(http.StatusCreated).body; bare["author"] != "" {
		t.Errorf("without an author: %v", bare)
	}

	for _, nobodys := range []string{"999999", "abc", "0", "-1", "01", "99999999999999999999", "%00", "a%2Fb"} {
		w.send(w.adaToken, "GET", "/v1/books/"+nobodys, nil).refused(http.StatusNotFound, fault.BookNotFound, "")
	}
}

// TestABookIsCorrected has a book changed and deleted by its creator, and refuses others.
func TestABookIsCorrected(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	target := "/v1/books/" + w.book("Weels")
	got := w.send(w.adaToken, "PATCH", target, `{"title":" Wheels ","author":"A. Cartwright"}`).ok(http.StatusOK).body
	if got["title"] != "Wheels" || got["author"] != "A. Cartwright" || got["may_change"] != true {
		t.Errorf("the book is %v", got)
	}
	if got := w.send(w.adaToken, "PATCH", target, `{"author":""}`).ok(http.StatusOK).body; got["title"] != "Wheels" || got["author"] != "" {
		t.Errorf("without an author: %v", got)
	}
	w.send(w.adaToken, "PATCH", target, `{"title":"\u200b"}`).refused(http.StatusUnprocessableEntity, fault.Validation, "title")
	w.send(w.bobToken, "PATCH", target, `{"title":"x"}`).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(w.bobToken, "DELETE", target, nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	if got := w.send(w.bobToken, "GET", target, nil).ok(http.StatusOK).body; got["may_change"] != false {
		t.Errorf("Bob sees %v", got)
	}
	w.send(w.adaToken, "DELETE", target, nil).ok(http.StatusNoContent)
	subject := "book/" + path.Base(target)
	for _, want := range []string{"change-book " + subject + " refused", "delete-book " + subject + " refused", "delete-book " + subject + " done"} {
		if !strings.Contains(fmt.Sprint(w.audited()), want) {
			t.Errorf("%s is not in the audit log %v", want, w.audited())
		}
	}
	w.send(w.adminToken, "DELETE", target, nil).refused(http.StatusNotFound, fault.BookNotFound, "")
	other := "/v1/books/" + w.book("Carts")
	w.send(w.adminToken, "PATCH", other, `{"title":"Carts and Wheels"}`).ok(http.StatusOK)
	w.send(w.adminToken, "DELETE", other, nil).ok(http.StatusNoContent)
}

// TestAMediumIsMarked has an administrator mark media as missing or deleted.
func TestAMediumIsMarked(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.book("Wheels")
	for _, medium := range []string{"text", "audio"} {
		w.exec(
			`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) VALUES ($1, $2, length($2), 'available', '/d/wheels', 'magnet:x')`,
			id, medium,
		)
	}

	w.exec(`UPDATE books SET state = 'Library' WHERE id = $1`, id)
	text, audio := "/v1/books/"+id+"/media/text/mark", "/v1/books/"+id+"/media/audio/mark"

	w.send(w.adaToken, "POST", text, `{"status":"missing"}`).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(w.adminToken, "POST", text, `{"status":"available"}`).refused(unprocessable, fault.Validation, "status")
	w.send(
		w.adminToken, "POST", "/v1/books/999999/media/text/mark", `{"status":"missing"}`,
	).refused(http.StatusNotFound, fault.BookNotFound, "")
	w.send(
		w.adminToken, "POST", "/v1/books/"+w.book("Spokes")+"/media/text/mark", `{"status":"missing"}`,
	).refused(http.StatusNotFound, fault.NotFound, "")

	if got := w.send(w.adminToken, "POST", text, `{"status":"missing"}`).ok(http.StatusOK).body; got["state"] != "Library" {
		t.Errorf("one medium is left, and the book is %v", got)
	}

	got := w.send(w.adminToken, "POST", audio, `{"status":"deleted"}`).ok(http.StatusOK).body
	if media := fmt.Sprint(got["media"]); got["state"] != "Archive" || !strings.Contains(media, "status:missing") || !strings.Contains(media, "status:deleted") {
		t.Errorf("none is left, and the book is %v", got)
	}

	audit := fmt.Sprint(w.send(w.adminToken, "GET", "/v1/audit", nil).ok(http.StatusOK).body)
	if !strings.Contains(audit, "mark-medium") {
		t.Errorf("the audit log says %v", audit)
	}
}

func TestTheSameKeyIsTheSameBook(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	add := func(token, title string) reply {
		return w.send(token, "POST", "/v1/books", map[string]any{"title": title}, "Idempotency-Key", "k")
	}

	first := add(w.adaToken, "Wheels").ok(http.StatusCreated).body["id"]
	if again := add(w.adaToken, "Wheels").ok(http.StatusCreated).body["id"]; again != first {
		t.Errorf("books %v and %v", first, again)
	}
	if other := add(w.bobToken, "Wheels").ok(http.StatusCreated).body["id"]; other == first {
		t.Error("another's key is not one's own")
	}

	add(w.adaToken, "Axles").refused(unprocessable, fault.Validation, "Idempotency-Key")
}

func TestListsOfBooks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var all []string
	for i := range 7 {
		all = append(all, w.book(fmt.Sprintf("Volume %d", i)))
	}

	special := w.send(
		w.adaToken, "POST", "/v1/books", `{"title":"100% Wheels_","author":"ЁЖ"}`,
	).ok(http.StatusCreated).body["id"].(string)

	w.exec(`UPDATE books SET state = 'Library' WHERE id = $1`, special)
	slices.Reverse(all)
	for _, limit := range []int{1, 3, 200} {
		want := append([]string{special}, all...)
		if got := w.walk(w.bobToken, fmt.Sprintf("/v1/books?limit=%d", limit), "id"); !slices.Equal(got, want) {
			t.Errorf("limit %d: %v, want %v", limit, got, want)
		}
		if got := w.walk(w.bobToken, fmt.Sprintf("/v1/books?q=volume&limit=%d", limit), "id"); !slices.Equal(got, all) {
			t.Errorf("limit %d: found %v, want %v", limit, got, all)
		}
	}

	for query, want := range map[string][]string{
		"q=WHEELS": {special}, "q=%D1%91%D0%B6": {special}, "q=100%25": {special}, "q=s_": {special}, "q=%25%25": nil, "q=nothing": nil,
		"state=Library": {special}, "state=Archive": all, "state=Library&q=volume": nil,
	} {
		if got := w.walk(w.bobToken, "/v1/books?"+query, "id"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}

	for query, field := range map[string]string{
		"state=library": "state", "state=NONE": "state", "q=%00": "q", "q=%ff": "q", "q=a%0Ab": "q", "q=" + strings.Repeat("a", 501): "q",
	} {
		w.send(w.adaToken, "GET", "/v1/books?"+query, nil).refused(unprocessable, fault.Validation, field)
	}
}
