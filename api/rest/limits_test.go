package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"testing"

	"stagecoach/api/rest"
	"stagecoach/dev/wait"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// TestRequestsOfAUserAreBounded floods the API as one user.
func TestRequestsOfAUserAreBounded(t *testing.T) {
	t.Parallel()
	w := newRigWith(t, func(o *rest.Options) { o.Requests = allowance.NewUsers(1) })
	var refused *reply
	for range 200 {
		if r := w.send(w.adaToken, "GET", "/v1/workspaces", nil); r.status == http.StatusTooManyRequests {
			refused = &r
			break
		}
	}

	if refused == nil {
		t.Fatal("200 requests got through at once where one a second may")
	}

	refused.refused(http.StatusTooManyRequests, fault.RateLimited, "")
	if seconds, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || seconds < 1 || seconds > 10 {
		t.Errorf("Retry-After: %q", refused.header.Get("Retry-After"))
	}

	w.send(w.bobToken, "GET", "/v1/workspaces", nil).ok(http.StatusOK)
	for range 50 {
		w.send(w.adminToken, "GET", "/v1/workspaces", nil).ok(http.StatusOK)
	}
}

// TestWrongTokensAreRefusedBeforeTheyAreLookedUp guesses tokens from the address that everyone else in this test uses
// too.
func TestWrongTokensAreRefusedBeforeTheyAreLookedUp(t *testing.T) {
	t.Parallel()
	w := newRigWith(t, func(o *rest.Options) { o.Guesses = allowance.NewGuesses(1) })
	w.send(w.adaToken, "GET", "/v1/workspaces", nil).ok(http.StatusOK)
	limited := false

	for i := range 200 {
		r := w.send(fmt.Sprintf("sc_%d", i), "GET", "/v1/workspaces", nil)
		if limited = r.status == http.StatusTooManyRequests; limited {
			r.refused(http.StatusTooManyRequests, fault.RateLimited, "")
			break
		}
		r.refused(http.StatusUnauthorized, fault.Unauthenticated, "")
	}

	if !limited {
		t.Error("200 wrong tokens were looked up at once")
	}

	w.send(w.adaToken, "GET", "/v1/workspaces", nil).ok(http.StatusOK)
	w.send("", "GET", "/health", nil).ok(http.StatusOK)
}

// TestQuotasOverHTTP creates one more entity of each kind than a user may have.
func TestQuotasOverHTTP(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.store.SetQuotas(core.Quotas{"tasks": 2, "deliveries": 1, "downloads": 1, "workspaces": 1, "members": 2, "books": 2})
	exceeded := func(r reply, limit string, maximum int) {
		t.Helper()
		r.refused(http.StatusConflict, fault.QuotaExceeded, "")
		if details, _ := r.body["details"].(map[string]any); details["limit"] != limit || details["maximum"] != float64(maximum) {
			t.Errorf("details: %v", r.body["details"])
		}
	}

	file := w.file("/a.txt", 10)
	post := func(path string, body any, key string) reply {
		return w.send(w.adaToken, "POST", path, body, "Idempotency-Key", key)
	}

	space := post("/v1/workspaces", map[string]any{"name": "w"}, "w1").ok(http.StatusCreated)
	exceeded(post("/v1/workspaces", map[string]any{"name": "v"}, "w2"), "workspaces", 1)
	post("/v1/workspaces", map[string]any{"name": "w"}, "w1").ok(http.StatusCreated)

	members := "/v1/workspaces/" + fmt.Sprint(space.body["id"]) + "/members/"
	w.joins(fmt.Sprint(space.body["id"]), w.bob.ID, w.bobToken)
	exceeded(w.send(w.adaToken, "PUT", members+fmt.Sprint(w.admin.ID), nil), "members", 2)
	w.send(w.adminToken, "PUT", members+fmt.Sprint(w.admin.ID), nil).ok(http.StatusNoContent)

	task := map[string]any{"workspace_id": space.body["id"], "title": "A task"}
	post("/v1/tasks", task, "t1").ok(http.StatusCreated)
	exceeded(post("/v1/tasks/batch", map[string]any{"workspace_id": space.body["id"], "tasks": []any{
		map[string]any{"title": "Another"}, map[string]any{"title": "And one"},
	}}, "t2"), "tasks", 2)
	post("/v1/tasks", task, "t3").ok(http.StatusCreated)
	exceeded(post("/v1/tasks", task, "t4"), "tasks", 2)
	post("/v1/tasks", task, "t1").ok(http.StatusCreated)

	book := post("/v1/books", map[string]any{"title": "One"}, "b1").ok(http.StatusCreated)
	second := post("/v1/books", map[string]any{"title": "Two"}, "b2").ok(http.StatusCreated)
	exceeded(post("/v1/books", map[string]any{"title": "Three"}, "b3"), "books", 2)

	download := func(book reply, key string) reply {
		return post("/v1/downloads", map[string]any{
			"book_id": book.body["id"], "media_type": "text", "source_url": "magnet:?xt=urn:btih:0123456789abcdef0123456789abcdef01234567",
		}, key)
	}

	download(book, "d1").ok(http.StatusCreated)
	exceeded(download(second, "d2"), "downloads", 1)
	download(book, "d1").ok(http.StatusOK)
	download(book, "d3").ok(http.StatusOK) // the active one

	post("/v1/deliveries", map[string]any{"file_id": fmt.Sprint(file.ID)}, "f1").ok(http.StatusCreated)
	exceeded(post("/v1/deliveries", map[string]any{"file_id": fmt.Sprint(file.ID)}, "f2"), "deliveries", 1)
	post("/v1/deliveries", map[string]any{"file_id": fmt.Sprint(file.ID)}, "f1").ok(http.StatusOK)

	w.store.SetQuotas(core.Quotas{"tasks": 2, "deliveries": 1, "downloads": 1, "workspaces": 1, "members": 2, "books": 1})
	want := []any{
		map[string]any{"user_id": fmt.Sprint(w.ada.ID), "limit": "members", "maximum": 2., "count": 3.},
		map[string]any{"user_id": fmt.Sprint(w.ada.ID), "limit": "books", "maximum": 1., "count": 2.},
	}
	wait.Eventually(t, fmt.Sprint("above limits are ", want), func() bool { // a search that takes two seconds is given up
		above := w.send(w.adminToken, "GET", "/v1/status", nil).ok(http.StatusOK).body["above_limits"]
		return reflect.DeepEqual(above, want)
	})
}

// TestRefusalsAreCounted reaches each kind of limit: every refused request counts once, under the name of its limit.
func TestRefusalsAreCounted(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	counted := map[string]int{}
	w := newRigWith(t, func(o *rest.Options) {
		o.Requests, o.Guesses = allowance.NewUsers(1), allowance.NewGuesses(1)
		o.OnRefused = func(limit string) {
			mu.Lock()
			defer mu.Unlock()
			counted[limit]++
		}
	})

	w.store.SetQuotas(core.Quotas{"books": 1, "tokens": 1})

	want := map[string]int{"books": 1, "tokens": 1}
	w.send(w.adaToken, "POST", "/v1/books", map[string]any{"title": "One"}, "Idempotency-Key", "1").ok(http.StatusCreated)
	w.send(
		w.adaToken, "POST", "/v1/books", map[string]any{"title": "Two"}, "Idempotency-Key", "2",
	).refused(http.StatusConflict, fault.QuotaExceeded, "")
	w.send(
		w.adaToken, "POST", "/v1/tokens", `{"name":"more","scopes":["read"]}`,
	).refused(http.StatusConflict, fault.QuotaExceeded, "")

	for i := range 60 {
		if w.send(w.bobToken, "GET", "/v1/workspaces", nil).status == http.StatusTooManyRequests {
			want["requests"]++
		}
		if w.send(fmt.Sprintf("sc_%d", i), "GET", "/v1/workspaces", nil).status == http.StatusTooManyRequests {
			want["wrong_tokens"]++
		}
	}

	mu.Lock()
	defer mu.Unlock()

	if !maps.Equal(counted, want) || len(want) != 4 {
		t.Errorf("counted %v, want %v", counted, want)
	}
}
