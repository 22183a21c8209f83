package transaction_test

import (
	"testing"

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

	save := func(name, hash string) { w.save(version, name, hash) }

	save("confirmed-by-a-second-source", w.deposit(2, "durov 50"))

	w.lie(tonsim.Lies{Missing: true})
	accepted, kept := w.deposit(2, "durov 50"), w.deposit(2, "durov 50")
	for _, hash := range []string{accepted, kept} {
		w.disputed(hash, lifecycle.TransactionProcessing)
	}

	w.resolved(accepted, lifecycle.TransactionProcessing, "reviewed")
	save("disputed-and-accepted", accepted)
	w.resolved(kept, lifecycle.TransactionFailed, "reviewed")
	w.disputed(kept, lifecycle.TransactionFailed)
	_, err := w.client.WriteOff(t.Context(), w.admin, kept, "it was never paid", "")
	w.must(err)
	save("disputed-and-written-off", kept)
}
