package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestLeasesOverHTTP claims with a lease, renews it, and acts with the claim's token until the claim has ended.
func TestLeasesOverHTTP(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.task(w.adaToken, w.workspace(), nil)["id"]
	path := fmt.Sprintf("/v1/tasks/%v/", id)
	for _, seconds := range []any{0, 59, 86_401, -1, "60"} {
		body := map[string]any{"comment": "c", "lease_seconds": seconds}
		w.send(w.bobToken, "POST", path+"claim", body).refused(http.StatusUnprocessableEntity, "VALIDATION_ERROR", "lease_seconds")
	}

	claimed := w.send(w.bobToken, "POST", path+"claim", map[string]any{"comment": "c", "lease_seconds": 60}).ok(http.StatusOK).body
	token := claimed["fencing_token"]
	if token == nil || claimed["lease_expires_at"] == nil {
		t.Fatalf("claimed %v", claimed)
	}
	if seen := w.send(w.adaToken, "GET", fmt.Sprintf("/v1/tasks/%v", id), nil).ok(http.StatusOK).body; seen["fencing_token"] != nil {
		t.Error("the token is shown to another user")
	}

	held := map[string]any{"fencing_token": token}
	renewed := w.send(w.bobToken, "POST", path+"heartbeat", held).ok(http.StatusOK).body
	expires := func(claim object) time.Time {
		at, err := time.Parse(time.RFC3339, fmt.Sprint(claim["lease_expires_at"]))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	if !expires(renewed).After(expires(claimed)) || renewed["fencing_token"] != token {
		t.Errorf("renewed %v after %v", renewed, claimed)
	}
	w.send(w.bobToken, "POST", path+"heartbeat", map[string]any{}).ok(http.StatusOK)
	w.send(w.adaToken, "POST", path+"heartbeat", held).refused(conflict, "LEASE_LOST", "")
	w.send(w.adaToken, "POST", "/v1/tasks/999/heartbeat", held).refused(http.StatusNotFound, "TASK_NOT_FOUND", "")

	status := func(to string, token any) map[string]any {
		return map[string]any{"to": to, "comment": "c", "fencing_token": token}
	}
	w.send(w.bobToken, "POST", path+"status", status("NEW", token)).ok(http.StatusOK)
	w.send(w.bobToken, "POST", path+"heartbeat", held).refused(conflict, "LEASE_LOST", "")
	again := w.send(w.bobToken, "POST", path+"claim", map[string]any{"comment": "c"}).ok(http.StatusOK).body
	if again["fencing_token"] == token || again["lease_expires_at"] != nil {
		t.Errorf("claimed again %v", again)
	}
	w.send(w.bobToken, "POST", path+"heartbeat", map[string]any{}).refused(conflict, "NO_LEASE", "") // without a lease
	w.send(w.bobToken, "POST", path+"status", status("DONE", token)).refused(conflict, "LEASE_LOST", "")
	w.send(w.bobToken, "POST", path+"status", status("DONE", again["fencing_token"])).ok(http.StatusOK)
}
