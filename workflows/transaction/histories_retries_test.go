package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
)

// TestRecordHistoriesOfRetries saves histories of failed orders that the system retries.
func TestRecordHistoriesOfRetries(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, retries(time.Hour, 3*time.Second), func(s *setup) {
		s.server = testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=60")
	})

	ctx := t.Context()
	fails := func(receiver string) (hash string) { // never searched for
		w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"})
		hash = w.deposit(1, receiver+" 50")
		wait.Eventually(w, "it is to be tried again", func() bool { return w.get(hash).RetryAt != nil })
		w.fragment.ClearFaults()
		return hash
	}

	save := func(name, hash string) { w.save(version, name, hash) }

	save("retried-by-itself", fails("durov"))

	faster := fails("anna_s")
	_, err := w.client.Retry(ctx, w.admin, faster, "at once", "")
	w.must(err)
	save("retried-before-its-time", faster)

	stopped := fails("boris")
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(stopped), ""))
	save("cancelled-before-its-retry", stopped)

	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "something"})
	unknown := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is given up", func() bool { return w.get(unknown).GivenUpAt != nil })
	w.fragment.ClearFaults()
	_, err = w.client.Retry(ctx, w.admin, unknown, "once more", "")
	w.must(err)
	save("given-up", unknown)
}
