package rest_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// TestDoctor follows a request for checks from the administrator who asks to the last process that answers.
func TestDoctor(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	starts := func(identity string) {
		t.Helper()
		if err := w.store.SaveHeartbeat(ctx, operations.Process{Identity: identity, Service: "worker", Version: "0.2.0", StartedAt: time.Now()}, nil); err != nil {
			t.Fatal(err)
		}
	}

	finds := func(identity string, request int64, checks ...operations.Check) {
		t.Helper()
		if err := w.store.SaveChecks(ctx, identity, request, checks); err != nil {
			t.Fatal(err)
		}
	}

	queues := operations.Check{System: "queues", State: operations.CheckWorks, Detail: "stagecoach, delivery"}
	works := func(method string, want bool) map[string]any {
		t.Helper()
		body := w.send(w.adminToken, method, "/v1/doctor", nil).ok(http.StatusOK).body
		if body["works"] != want {
			t.Fatalf("works is %v, want %v, in %v", body["works"], want, body)
		}
		return body
	}

	w.send(w.adaToken, "POST", "/v1/doctor", nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	none := works("GET", false)
	if none["request"] != "0" || none["asked_at"] != nil || len(none["processes"].([]any)) != 0 || len(none["unserved_queues"].([]any)) != 1 {
		t.Errorf("without any process: %v", none)
	}

	starts("a")
	works("GET", false) // it has not checked yet
	finds("a", 0, queues, operations.Check{System: "yandex", State: operations.CheckOff})
	works("GET", true)

	if asked := works("POST", false); asked["request"] != "1" || asked["asked_at"] == nil {
		t.Errorf("asked: %v", asked)
	}
	if again := works("POST", false); again["request"] != "2" {
		t.Errorf("asked again: %v", again)
	}

	starts("b")
	finds("a", 1, queues)
	works("GET", false) // a has answered an older request
	finds("a", 2, queues)
	works("GET", false) // b has not answered
	finds(
		"b", 2,
		operations.Check{
			System: "telegram", State: operations.CheckRefused, Code: fault.TelegramUnauthorized, Account: "@bot", Detail: "what",
			Next: "do it",
		},
	)

	body := works("GET", false)
	processes := body["processes"].([]any)
	b := processes[1].(map[string]any)
	check := b["checks"].([]any)[0].(map[string]any)
	if len(processes) != 2 || b["identity"] != "b" || b["answered"] != true || check["state"] != "refused" || check["code"] != "TELEGRAM_UNAUTHORIZED" ||
		check["account"] != "@bot" || check["detail"] != "what" || check["next"] != "do it" || check["found_at"] == nil {
		t.Errorf("processes: %v", processes)
	}

	finds("b", 2, operations.Check{System: "telegram", State: operations.CheckUnverified})
	works("GET", false)
	finds("b", 2, operations.Check{System: "telegram", State: operations.CheckWorks})
	works("GET", true)

	// Once there is a wallet, somebody has to serve payments.
	if _, err := w.store.OpenWallet(ctx, "0:"+hashOf("a wallet"), transaction.WalletStart{}); err != nil {
		t.Fatal(err)
	}
	if unserved := works("GET", false)["unserved_queues"].([]any); len(unserved) != 1 || unserved[0] != "payments" {
		t.Errorf("unserved: %v", unserved)
	}

	finds("b", 2, operations.Check{System: "queues", State: operations.CheckWorks, Detail: "quotes, payments"})
	works("GET", true)

	// A wallet with a name has task queues of its own.
	if _, err := w.store.OpenWallet(ctx, "0:"+hashOf("another wallet"), transaction.WalletStart{Name: "b"}); err != nil {
		t.Fatal(err)
	}
	if unserved := works("GET", false)["unserved_queues"].([]any); len(unserved) != 1 || unserved[0] != "payments-b" {
		t.Errorf("unserved: %v", unserved)
	}
	w.exec(`UPDATE ton_wallets SET updated_at = now() - interval '25 hours' WHERE name = 'b'`)
	works("GET", true)

	// A process that is gone is missed by its queues, and by nothing else.
	w.exec(`UPDATE processes SET beat_at = now() - interval '1 minute' WHERE identity = 'b'`)
	if gone := works("GET", false); len(gone["processes"].([]any)) != 1 {
		t.Errorf("a process that is gone is shown: %v", gone)
	}

	if rows := w.audited(); !slices.Contains(rows, "1 ask-doctor  done http") || slices.Contains(rows, "1 get-doctor  done http") {
		t.Errorf("audited: %v", rows)
	}

	w.exec(`ALTER TABLE check_requests RENAME TO away`)
	for _, method := range []string{"GET", "POST"} {
		w.send(w.adminToken, method, "/v1/doctor", nil).refused(http.StatusInternalServerError, fault.Internal, "")
	}
}
