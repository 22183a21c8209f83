package e2e

import (
	"crypto/rand"
	"maps"
	"net/http"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// TestSecondSource sells Stars for large deposits with a second source that agrees, reports false values, is down, and
// is back; small ones are sold meanwhile. An administrator decides over HTTP about deposits on which the two sources
// disagree.
func TestSecondSource(t *testing.T) {
	t.Parallel()
	night.Only(t)
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	l := newPaymentRig(t, server, "second-source")
	must(t, l.ground.StartSecondSource())
	second := l.ground.Second
	maps.Copy(l.env, l.ground.StandInSettings())
	l.env["STAGECOACH_TX_SECOND_SOURCE_FROM"], l.env["STAGECOACH_TX_SECOND_SOURCE_WAIT"] = "2", "2s"
	l.startWorker()
	l.startAPI()
	small := func() string { return l.deposit("durov 50") }
	large := func() string {
		hash, err := l.chain.Deposit(tonsim.Deposit{From: rand.Text(), AmountNano: 2e9, Comment: "anna 50"})
		must(t, err)
		return hash
	}

	order := func(hash string) map[string]any {
		return l.call("GET", "/v1/transactions/"+hash, adminToken, nil).body
	}

	resolve := func(hash, outcome string) { // the workflow gets the review a moment after the record
		l.eventually(patience, "it is resolved as "+outcome, func() bool {
			return l.call(
				"POST", "/v1/transactions/"+hash+"/resolve", adminToken, map[string]any{"outcome": outcome},
			).status == http.StatusOK
		})
	}

	alerted := func(kind string) bool {
		open, err := l.store.Incidents(t.Context(), true, 0, 100)
		must(t, err)
		for _, alert := range open {
			if alert.Kind == kind {
				return true
			}
		}
		return false
	}

	held := func(hash, status string) {
		l.eventually(patience, "it is held for its deposit", func() bool {
			o := order(hash)
			return o["status"] == status && o["needs_review"] == true && o["review_reason"] == transaction.ReviewDisputed
		})
		if _, states := l.payments(hash); states != "" || !alerted(notice.AlertDeposit) {
			t.Errorf("a disputed deposit has payments %q, alerted: %v", states, alerted(notice.AlertDeposit))
		}
	}

	l.eventually(patience, "the worker has looked at it at its start", func() bool { return len(second.Requests()) == 1 })
	l.becomes(small(), lifecycle.TransactionProcessed)
	if n := len(second.Requests()) - 1; n != 0 {
		t.Errorf("asked %d times for a small deposit", n)
	}

	l.becomes(large(), lifecycle.TransactionProcessed)
	asked := len(second.Requests()) - 1
	if asked != 2 { // the head, the transfer
		t.Errorf("asked %d times for a large deposit", asked)
	}

	must(t, second.Tell(tonsim.Lies{AmountNano: 1}))
	right, wrong := large(), large()
	held(right, "processing")
	held(wrong, "processing")
	l.becomes(small(), lifecycle.TransactionProcessed)
	resolve(right, "processing")
	l.becomes(right, lifecycle.TransactionProcessed)
	resolve(wrong, "failed")
	held(wrong, "failed") // refunds are on: it is not refunded either
	resolve(wrong, "failed")
	l.eventually(
		patience, "the money goes back", func() bool { _, states := l.payments(wrong); return states == "refund paid" },
	)
	l.eventually(patience, "the alert is over", func() bool { return !alerted(notice.AlertDeposit) })

	must(t, second.Tell(tonsim.Lies{}))
	second.AddFault(sim.Fault{Kind: "503"})
	before := len(second.Requests())
	waits := large()
	l.eventually(patience, "it was asked in vain", func() bool { return len(second.Requests()) > before+1 })
	l.becomes(small(), lifecycle.TransactionProcessed)
	if o := order(waits); o["status"] != "processing" || o["needs_review"] != false {
		t.Errorf("%v", o)
	}

	second.ClearFaults()
	l.becomes(waits, lifecycle.TransactionProcessed)

	search(t, "the histories", l.histories("Transaction"), []string{l.ground.StandIns.TonCenter2, "anna"})
	l.balances()
}
