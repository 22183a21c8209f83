package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestRecordHistoriesOfWaits saves histories of orders that wait for a long time: in the queue, for room in the 24-hour
// limit, and of one whose worker stops meanwhile.
func TestRecordHistoriesOfWaits(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, func(s *setup) {
		s.server = testtemporal.Own(t)
		s.settings.Refund = true
		s.settings.Limits = transaction.Limits{PerDay: 1_500_000_000}
	})

	ctx := t.Context()
	w.must(w.client.Pause(ctx, w.admin, "a test"))
	held, owed := w.deposit(1, "durov 50"), w.deposit(1, "no order at all")
	wait.Eventually(w, "they wait for their turns", func() bool { return w.inLine(held) && w.inLine(owed) })
	time.Sleep(2 * time.Second)
	w.must(w.client.Resume(ctx))
	w.save(version, "waited-long-for-its-turn", held)
	w.save(version, "refund-waited-long-for-its-turn", owed)

	w.must(w.chain.Hold())
	signed := w.deposit(1, "durov 50")
	w.signed(signed)
	w.payer.Stop()
	w.startPayer()
	w.must(w.chain.Release())
	w.save(version, "interrupted-while-signed", signed)

	full := w.deposit(3, "durov 150")
	wait.Eventually(w, "it is deferred", func() bool { return w.get(full).DeferredUntil != nil })
	w.paymentActivities.Settings.Limits.PerDay = 0
	w.must(w.client.RetryDeferred(ctx))
	w.save(version, "waited-for-room-in-the-limit", full)
	w.becomes(full, lifecycle.TransactionProcessed)
}
