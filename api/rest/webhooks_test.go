package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

const receiver = "https://receiver.example/private-path"

// hook creates a webhook of Ada's.
func (w *rig) hook(body string) map[string]any {
	w.t.Helper()
	return w.send(w.adaToken, "POST", "/v1/webhooks", body).ok(http.StatusCreated).body
}

// TestWebhooks follows a webhook from its creation to its end.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	made := w.hook(`{"address":"` + receiver + `","workloads":["task","delivery"]}`)
	path := "/v1/webhooks/" + made["id"].(string)
	if secret, _ := made["secret"].(string); !strings.HasPrefix(secret, "whsec_") || made["state"] != "ACTIVE" || made["address"] != receiver {
		t.Errorf("made %v", made)
	}

	shown := w.send(w.adaToken, "GET", path, nil).ok(http.StatusOK).body
	if shown["secret"] != nil || fmt.Sprint(shown["workloads"]) != "[task delivery]" || shown["previous_secret_until"] != nil || shown["test"] != nil {
		t.Errorf("shown %v", shown)
	}

	changed := w.send(w.adaToken, "PATCH", path, `{"workloads":[],"state":"PAUSED"}`).ok(http.StatusOK).body
	if changed["state"] != "PAUSED" || changed["reason"] != string(fault.PausedByOwner) || fmt.Sprint(changed["workloads"]) != "[]" || changed["address"] != receiver {
		t.Errorf("paused %v", changed)
	}
	if again := w.send(w.adaToken, "PATCH", path, `{"state":"PAUSED"}`).ok(http.StatusOK).body; again["state"] != "PAUSED" {
		t.Errorf("paused again %v", again)
	}
	if resumed := w.send(w.adaToken, "PATCH", path, `{"state":"ACTIVE","address":"https://other.example"}`).ok(http.StatusOK).body; resumed["state"] != "ACTIVE" || resumed["reason"] != nil || resumed["address"] != "https://other.example" {
		t.Errorf("resumed %v", resumed)
	}

	rotated := w.send(w.adaToken, "POST", path+"/rotate", nil).ok(http.StatusOK).body
	if rotated["secret"] == made["secret"] || rotated["secret"] == nil || rotated["previous_secret_until"] == nil {
		t.Errorf("rotated %v", rotated)
	}
	if once := w.send(w.adaToken, "POST", path+"/rotate", `{"overlap_seconds":0}`).ok(http.StatusOK).body; once["previous_secret_until"] != nil {
		t.Errorf("rotated without an overlap %v", once)
	}

	tested := w.send(w.adaToken, "POST", path+"/test", nil).ok(http.StatusOK).body // no worker runs
	if test, _ := tested["test"].(map[string]any); test["asked_at"] == nil || test["at"] != nil || test["error"] != nil {
		t.Errorf("tested %v", tested)
	}

	replayed := w.send(
		w.adaToken, "POST", path+"/replay", `{"cursor":"`+made["cursor"].(string)+`"}`,
	).ok(http.StatusOK).body
	if replayed["cursor"] != made["cursor"] {
		t.Errorf("replayed %v", replayed)
	}

	w.send(w.adaToken, "POST", path+"/replay", `{"cursor":"99999999999-1"}`).refused(http.StatusGone, fault.CursorGone, "")
	w.send(w.adaToken, "POST", path+"/replay", `{"cursor":"soon"}`).refused(
		http.StatusUnprocessableEntity, fault.Validation, "cursor",
	)

	if list := w.send(w.adaToken, "GET", "/v1/webhooks", nil).ok(http.StatusOK).items(); len(list) != 1 || list[0]["id"] != made["id"] {
		t.Errorf("the list has %v", list)
	}

	w.send(w.adaToken, "DELETE", path, nil).ok(http.StatusNoContent)
	w.send(w.adaToken, "GET", path, nil).refused(http.StatusNotFound, fault.WebhookNotFound, "")

	w.temporal.mu.Lock()
	defer w.temporal.mu.Unlock()

	if id := "webhook/" + made["id"].(string); len(w.temporal.woken) < 8 || slices.ContainsFunc(w.temporal.woken, func(one string) bool { return one != id }) {
		t.Errorf("signalled were %v", w.temporal.woken)
	}
}

// TestWebhooksOfOneRequest repeats a request with its key: there is one webhook, only the first response has its
// secret, and the stored response has neither secret nor URL.
func TestWebhooksOfOneRequest(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	create := func(token, body string) reply {
		return w.send(token, "POST", "/v1/webhooks", body, "Idempotency-Key", "once")
	}

	body := `{"address":"` + receiver + `","workloads":["task"]}`
	made := create(w.adaToken, body).ok(http.StatusCreated).body
	again := create(w.adaToken, body).ok(http.StatusCreated).body
	if made["secret"] == nil || again["id"] != made["id"] || again["secret"] != nil || again["address"] != receiver {
		t.Errorf("made %v, then %v", made, again)
	}
	if list := w.send(w.adaToken, "GET", "/v1/webhooks", nil).ok(http.StatusOK).items(); len(list) != 1 {
		t.Errorf("%d webhooks were made", len(list))
	}

	create(w.adaToken, `{"address":"`+receiver+`"}`).refused(
		http.StatusUnprocessableEntity, fault.Validation, "Idempotency-Key",
	)
	if bobs := create(w.bobToken, body).ok(http.StatusCreated).body; bobs["id"] == made["id"] || bobs["secret"] == nil {
		t.Errorf("another user's with the same key: %v", bobs)
	}

	var kept string
	err := w.db.QueryRow(t.Context(), `SELECT string_agg(a::text, ' ') FROM answers a`).Scan(&kept)
	if err != nil || kept == "" {
		t.Fatal(kept, err)
	}

	for _, secret := range []string{made["secret"].(string), "whsec", "receiver", "private-path"} {
		if strings.Contains(kept, secret) {
			t.Errorf("the kept answer has %q: %s", secret, kept)
		}
	}

	w.send(w.adaToken, "DELETE", "/v1/webhooks/"+made["id"].(string), nil).ok(http.StatusNoContent)
	create(w.adaToken, body).refused(http.StatusNotFound, fault.WebhookNotFound, "")
}

// TestWebhooksAreTheirOwners hides a person's webhooks from others, including administrators, and their URLs from the
// logs.
func TestWebhooksAreTheirOwners(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	path := "/v1/webhooks/" + w.hook(`{"address":"` + receiver + `"}`)["id"].(string)
	for _, token := range []string{w.bobToken, w.adminToken} {
		for _, call := range []struct{ method, path, body string }{
			{"GET", "", ""},
			{"PATCH", "", `{"state":"PAUSED"}`},
			{"PATCH", "", `{"address":"https://thief.example"}`},
			{"DELETE", "", ""},
			{"POST", "/test", ""},
			{"POST", "/rotate", ""},
			{"POST", "/replay", `{"cursor":"1-1"}`},
		} {
			var body any
			if call.body != "" {
				body = call.body
			}
			w.send(token, call.method, path+call.path, body).refused(http.StatusNotFound, fault.WebhookNotFound, "")
		}

		if list := w.send(token, "GET", "/v1/webhooks", nil).ok(http.StatusOK).items(); len(list) != 0 {
			t.Errorf("another sees %v", list)
		}
	}

	w.temporal.setDown(true) // the record has it; the reconciler signals later
	w.hook(`{"address":"` + receiver + `"}`)
	if log := w.log.String(); strings.Contains(log, "receiver.example") || strings.Contains(log, "whsec_") {
		t.Errorf("the log has an address or a secret:\n%s", log)
	}
}

// TestWebhookAddresses refuses URLs by which events could be read inside the network, or by others.
func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for _, address := range []string{
		"http://receiver.example", "ftp://receiver.example", "receiver.example/path", "https://", "https:receiver.example",
		"https://:443/",
		"https://user:password@receiver.example", "https://receiver.example/#part", "https://127.0.0.1/", "https://[::1]/",
		"https://10.0.0.1",
		"https://169.254.169.254/latest/meta-data", "https://[::ffff:127.0.0.1]/", "https://receiver.example/\n",
		"https://%zz",
	} {
		w.send(
			w.adaToken, "POST", "/v1/webhooks", map[string]any{"address": address},
		).refused(http.StatusUnprocessableEntity, fault.Validation, "address")
	}

	id := w.hook(`{"address":"` + receiver + `"}`)["id"].(string)
	w.send(
		w.adaToken, "PATCH", "/v1/webhooks/"+id, `{"address":"https://127.0.0.1/"}`,
	).refused(http.StatusUnprocessableEntity, fault.Validation, "address")
	w.send(w.adaToken, "POST", "/v1/webhooks", map[string]any{"address": receiver, "workloads": []string{"task", "task"}}).
		refused(http.StatusUnprocessableEntity, fault.Validation, "workloads")
}

// TestWebhooksNeedTheScopeOfEvents refuses a token that may manage webhooks but not read what they would send.
func TestWebhooksNeedTheScopeOfEvents(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	blind, _ := w.token(w.ada, account.ScopeWebhooks)
	path := "/v1/webhooks/" + w.hook(`{"address":"` + receiver + `"}`)["id"].(string)
	w.send(blind, "GET", path, nil).ok(http.StatusOK)
	w.send(
		blind, "POST", "/v1/webhooks", map[string]any{"address": receiver},
	).refused(http.StatusForbidden, fault.InsufficientScope, "")
	w.send(
		blind, "PATCH", path, map[string]any{"address": receiver},
	).refused(http.StatusForbidden, fault.InsufficientScope, "")
	w.send(
		blind, "POST", path+"/replay", map[string]any{"cursor": "1-1"},
	).refused(http.StatusForbidden, fault.InsufficientScope, "")
}

// TestForgottenWebhooks forgets a person with a webhook.
func TestForgottenWebhooks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.hook(`{"address":"` + receiver + `"}`)
	w.send(w.adminToken, "POST", fmt.Sprintf("/v1/users/%d/forget", w.ada.ID), nil).ok(http.StatusOK)
	if live, err := w.store.Webhooks.Live(t.Context(), 0, 0, 10); err != nil || len(live) != 0 {
		t.Errorf("left are %v of %s, %v", live, lifecycle.WebhookEvents, err)
	}
}
