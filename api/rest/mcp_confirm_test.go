package rest_test

import (
	"maps"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// TestDecisionsAreConfirmed shows that a tool that decides about money does nothing without a confirmation, that a
// confirmation is for one caller, one tool, the same arguments and an unchanged transaction, and that it works in every
// process.
func TestDecisionsAreConfirmed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	failed, other := b.failed(
		"Failed to fetch: Network error", lifecycle.Retryable,
	), b.failed("Failed to fetch: Network error", lifecycle.Retryable)

	a := w.agent(w.adminToken)
	status := func(hash string) any { return a.call("transaction_get", map[string]any{"hash": hash})["status"] }
	wrong := func(a agent, name string, arguments map[string]any) {
		t.Helper()
		problem := a.refused(name, arguments, fault.Validation)
		if field := problem["errors"].([]any)[0].(map[string]any)["field"]; field != "confirmation" {
			t.Errorf("%s is refused at %v: %v", name, field, problem)
		}
	}

	asked := map[string]any{"hash": failed, "comment": "the shop is back"}
	preview := a.call("transaction_retry", asked)
	confirmation, _ := preview["confirmation"].(string)
	if preview["done"] != false || confirmation == "" || preview["expires_at"] == nil || status(failed) != "failed" {
		t.Fatalf("the preview is %v, the transaction %v", preview, status(failed))
	}

	with := func(more map[string]any) map[string]any {
		whole := maps.Clone(asked)
		whole["confirmation"] = confirmation
		maps.Copy(whole, more)
		return whole
	}

	wrong(a, "transaction_retry", with(map[string]any{"hash": other}))
	wrong(a, "transaction_retry", with(map[string]any{"comment": "another reason"}))
	wrong(a, "transaction_retry", with(map[string]any{"confirmation": "yes"}))
	wrong(a, "transaction_retry", with(map[string]any{"confirmation": strings.Repeat("A", len(confirmation))}))
	wrong(a, "transaction_resolve", with(map[string]any{"outcome": "failed"}))
	_, second := w.user("Second", 300, account.RoleAdmin, account.UserActive)
	wrong(w.agent(second), "transaction_retry", with(nil))
	token, _ := w.token(w.admin, lifecycle.TransactionScope, account.ScopeRead)
	wrong(w.agent(token), "transaction_retry", with(nil))
	if status(failed) != "failed" {
		t.Fatalf("a refused confirmation has made it %v", status(failed))
	}

	done := a.call("transaction_retry", with(nil))
	if now := done["now"].(map[string]any); done["done"] != true || now["status"] != "processing" || status(failed) != "processing" {
		t.Fatalf("the confirmed call gives %v", done)
	}

	wrong(a, "transaction_retry", with(nil)) // it has changed since

	stale := a.call("transaction_retry", map[string]any{"hash": other})["confirmation"]
	w.exec(`UPDATE transactions SET attempt = attempt + 1 WHERE hash = $1`, other)
	wrong(a, "transaction_retry", map[string]any{"hash": other, "confirmation": stale})

	review := b.inReview()
	end := map[string]any{"hash": review, "outcome": "processed", "comment": "the Stars have come"}
	end["confirmation"] = a.call("transaction_resolve", end)["confirmation"]
	if a.call("transaction_resolve", end); status(review) != "processed" {
		t.Errorf("the resolved transaction is %v", status(review))
	}

	for _, paused := range []bool{true, false} {
		stop := map[string]any{"pause": paused, "reason": "the wallet moves"}
		stop["confirmation"] = a.call("payments_pause", stop)["confirmation"]
		if now := a.call("payments_pause", stop)["now"].(map[string]any); now["paused"] != paused {
			t.Errorf("payments are %v", now)
		}
		if a.call("ledger", nil)["paused"] != paused {
			t.Errorf("the ledger says %v", a.call("ledger", nil))
		}
	}
}
