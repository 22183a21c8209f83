package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestRecordHistoriesOfWaits saves histories of orders that wait for a long time: in the queue, for room in the 24-hour
// limit, and of one whose worker stops meanwhile.
func TestRecordHistoriesOfWaits(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, func(s *setup) {
		s.server = testtemporal.Own(t)
		s.settings.PaymentTTL, s.settings.Refund = time.Minute, true
		s.settings.Limits = transaction.Limits{PerDay: 1_500_000_000}
	})

	ctx := t.Context()
	w.must(w.client.Pause(ctx, w.admin, "a test"))
	held, owed := w.deposit(1, "durov 50"), w.deposit(1, "no order at all")
	w.eventually("they wait for their turns", func() bool { return w.inLine(held) && w.inLine(owed) })
	time.Sleep(2 * time.Second)
	w.must(w.client.Resume(ctx))
	w.save(version, "waited-long-for-its-turn", held)
	w.save(version, "refund-waited-long-for-its-turn", owed)

	late := int64(6000)
	w.must(w.chain.Steer(tonsim.Steering{DelayMS: &late}))
	signed := w.deposit(1, "durov 50")
	w.eventually("it is signed", func() bool { return w.states(signed) == "purchase signed" })
	w.payer.Stop()
	w.startPayer()
	w.save(version, "interrupted-while-signed", signed)
	late = 0
	w.must(w.chain.Steer(tonsim.Steering{DelayMS: &late}))

	full := w.deposit(3, "durov 150")
	w.eventually("it is deferred", func() bool { return w.get(full).DeferredUntil != nil })
	w.paymentActivities.Settings.Limits.PerDay = 0
	w.must(w.client.RetryDeferred(ctx))
	w.save(version, "waited-for-room-in-the-limit", full)
	w.becomes(full, lifecycle.TransactionProcessed)
}
