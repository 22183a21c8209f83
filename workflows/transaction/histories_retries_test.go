package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
)

// TestRecordHistoriesOfRetries saves histories of failed orders that the system tries again.
func TestRecordHistoriesOfRetries(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, retries(time.Hour, 3*time.Second), func(s *setup) {
		s.server = testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=60")
	})

	ctx := t.Context()
	run := func(hash string) string {
		return w.history(hash)[0].GetWorkflowExecutionStartedEventAttributes().OriginalExecutionRunId
	}

	fails := func() (hash string) {
		w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"})
		hash = w.deposit(1, "durov 50")
		w.eventually("it is to be tried again", func() bool { return w.get(hash).NextRetry() != nil })
		w.fragment.ClearFaults()
		return hash
	}

	save := func(name, hash string) {
		_ = w.over(hash)
		version.Save(t, "", name, w.history(hash))
	}

	save("retried-by-itself", fails())

	faster := fails()
	_, err := w.client.Retry(ctx, w.admin, faster, "at once", "")
	w.must(err)
	save("retried-before-its-time", faster)

	stopped := fails()
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(stopped), ""))
	save("cancelled-before-its-retry", stopped)

	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "something"})
	unknown := w.deposit(1, "durov 50")
	first := ""
	w.eventually("its first run", func() bool {
		if w.get(unknown).WorkflowStartedAt == nil {
			return false
		}
		first = run(unknown)
		return true
	})

	w.eventually("it is given up", func() bool { return w.get(unknown).GivenUp() })
	w.fragment.ClearFaults()
	_, err = w.client.Retry(ctx, w.admin, unknown, "once more", "")
	w.must(err)
	_ = w.over(unknown)
	version.Save(t, "", "given-up", w.runOf(unknown, first))
	if last := run(unknown); last != first {
		version.Save(t, "", "given-up-next", w.runOf(unknown, last))
	}
}
