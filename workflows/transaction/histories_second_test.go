package transaction_test

import (
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
)

// TestRecordHistoriesOfTheSecondSource saves histories of orders that were checked.
func TestRecordHistoriesOfTheSecondSource(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, large, func(s *setup) {
		s.server = testtemporal.Own(t)
		s.settings.Refund = true
	})

	save := func(name, hash string) {
		_ = w.over(hash)
		version.Save(t, "", name, w.history(hash))
	}

	save("confirmed-by-a-second-source", w.deposit(2, "durov 50"))
	save("refund-confirmed-by-a-second-source", w.deposit(2, "no order at all"))

	w.lie(tonsim.Lies{Missing: true})
	accepted, refused, kept := w.deposit(2, "durov 50"), w.deposit(2, "durov 50"), w.deposit(2, "durov 50")
	for _, hash := range []string{accepted, refused, kept} {
		w.disputed(hash, lifecycle.TransactionProcessing)
	}

	w.resolved(accepted, lifecycle.TransactionProcessing, "reviewed")
	save("disputed-and-accepted", accepted)
	for _, hash := range []string{refused, kept} {
		w.resolved(hash, lifecycle.TransactionFailed, "reviewed")
		w.disputed(hash, lifecycle.TransactionFailed)
	}

	w.resolved(refused, lifecycle.TransactionFailed, "reviewed")
	save("disputed-and-given-back", refused)
	_, err := w.client.WriteOff(t.Context(), w.admin, kept, "it was never paid", "")
	w.must(err)
	save("disputed-and-written-off", kept)

	w.lie(tonsim.Lies{})
	w.second.AddFault(sim.Fault{Kind: "503"})
	before := len(w.second.Requests())
	stopped := w.deposit(2, "durov 50")
	w.eventually("it was asked in vain", func() bool { return len(w.second.Requests()) > before })
	w.must(w.server.Client.CancelWorkflow(t.Context(), lifecycle.TransactionID(stopped), ""))
	w.becomes(stopped, lifecycle.TransactionFailed)
	save("cancelled-while-a-second-source-is-away", stopped)
}
