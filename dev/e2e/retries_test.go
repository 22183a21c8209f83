package e2e

import (
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
)

// TestOrdersAreTriedAgain fails one order for a passing reason, and another for a permanent one. The first is bought
// without a manual step, whatever happens to the worker meanwhile. Administrators get an alert about the second when
// its time is over.
func TestOrdersAreTriedAgain(t *testing.T) {
	t.Parallel()
	night.Only(t)
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	l := newPaymentRig(t, server, "retries")
	l.env["STAGECOACH_TX_RETRY_FOR"], l.env["STAGECOACH_TX_RETRY_PAUSE"] = "1h", "3s"
	worker := l.startWorker()
	refuse := func() { l.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"}) }

	refuse()
	mends := l.deposit("durov 50")
	l.eventually(patience, "it is to be tried again", func() bool {
		found, _ := l.store.TransactionByHash(t.Context(), mends)
		return found.NextRetry() != nil
	})
	worker.kill()
	l.fragment.ClearFaults()
	l.env["STAGECOACH_TX_RETRY_FOR"], l.env["STAGECOACH_TX_RETRY_PAUSE"] = "3s", "200ms"
	l.startWorker()
	if got := l.becomes(mends, lifecycle.TransactionProcessed); got.Attempt < 2 {
		t.Errorf("bought at attempt %d", got.Attempt)
	}

	refuse()
	lasts := l.deposit("anna 50")
	l.eventually(patience, "it is given up", func() bool {
		found, _ := l.store.TransactionByHash(t.Context(), lasts)
		return found.GivenUp() && l.alerts(notice.AlertTransactionGivenUp)
	})
	if events := l.eventTypes(lasts); !strings.Contains(events, "failed retried") || strings.Count(events, "given_up") != 1 {
		t.Errorf("events: %s", events)
	}
	if _, states := l.payments(lasts); states != "" {
		t.Errorf("payments: %s", states)
	}

	l.fragment.ClearFaults()
	admin, err := l.store.CreateUser(
		t.Context(), account.User{Name: "operator", Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken(),
	)

	must(t, err)
	_, err = l.orders.Retry(t.Context(), admin, lasts, "it can be gifted again", "")
	must(t, err)
	l.becomes(lasts, lifecycle.TransactionProcessed)
	l.eventually(patience, "the alert is over", func() bool { return !l.alerts(notice.AlertTransactionGivenUp) })
	if sold := l.sold(); len(sold) != 2 {
		t.Errorf("sold %+v", sold)
	}

	l.balances()
}

// alerts reports whether an alert is open.
func (l *paymentRig) alerts(kind string) bool {
	l.Helper()
	open, err := l.store.Incidents(l.Context(), true, 0, 100)
	must(l, err)
	return slices.ContainsFunc(open, func(a notice.Incident) bool { return a.Kind == kind })
}

// eventTypes lists the types of a transaction's events.
func (l *paymentRig) eventTypes(hash string) string {
	l.Helper()
	events, err := l.store.EventsOfTransaction(l.Context(), hash)
	must(l, err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
	}
	return strings.Join(types, " ")
}
