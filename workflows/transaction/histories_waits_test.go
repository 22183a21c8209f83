package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
)

// TestRecordHistoriesOfWaits saves histories of steps that wait for long and are sent many signals meanwhile.
func TestRecordHistoriesOfWaits(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, func(s *setup) {
		s.server = testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=40")
		s.settings.PaymentTTL, s.settings.Refund = time.Minute, true
		s.flow.RetryInterval, s.flow.RebroadcastEvery = 5*time.Second, time.Minute
	})

	ctx := t.Context()
	hint := func(hash, signal string) {
		for range 12 {
			w.must(w.server.Client.SignalWorkflow(ctx, lifecycle.TransactionID(hash), "", signal, nil))
			time.Sleep(150 * time.Millisecond)
		}
	}

	w.must(w.client.Pause(ctx, w.admin, "a test"))
	held, owed := w.deposit(1, "durov 50"), w.deposit(1, "no order at all")
	w.eventually("they wait for their turns", func() bool { return w.inLine(held) && w.inLine(owed) })
	hint(held, "turn")
	hint(owed, "turn")
	w.must(w.client.Resume(ctx))
	w.save(version, "waited-long-for-its-turn", held)
	w.save(version, "refund-waited-long-for-its-turn", owed)

	late := int64(8000)
	w.must(w.chain.Steer(tonsim.Steering{DelayMS: &late}))
	signed := w.deposit(1, "durov 50")
	w.eventually("it is signed", func() bool { return w.states(signed) == "purchase signed" })
	hint(signed, "settled")
	w.save(version, "proved-after-many-hints", signed)
	late = 0
	w.must(w.chain.Steer(tonsim.Steering{DelayMS: &late}))

	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "503", Times: 4})
	resting := w.deposit(1, "durov 50")
	w.eventually("it rests", func() bool { return w.get(resting).QuoteNano > 0 && !w.inLine(resting) })
	hint(resting, "turn")
	w.save(version, "rested-with-many-hints", resting)
}
