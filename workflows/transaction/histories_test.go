package transaction_test

import (
	"strings"
	"testing"
	"time"

	historypb "go.temporal.io/api/history/v1"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
)

// TestRecordHistories saves the histories that are replayed.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=60")
	w := newRig(t, func(s *setup) {
		s.server = server
		s.settings.PaymentTTL, s.settings.Refund = 5*time.Second, true
		s.settings.ConfirmPatience, s.settings.StuckAfter = 2*time.Second, 3*time.Second
		s.settings.TurnPatience = time.Second
	})

	ctx := t.Context()
	write := func(name string, events []*historypb.HistoryEvent) { version.Save(t, "", name, events) }
	save := func(name, hash string) { w.save(version, name, hash) }

	retry := func(hash string) {
		_, err := w.client.Retry(ctx, w.admin, hash, "again", "")
		w.must(err)
	}

	resolve := func(hash string, outcome lifecycle.TransactionState) {
		wait.Eventually(w, "it needs review", func() bool { return w.get(hash).NeedsReview })
		_, err := w.client.Resolve(ctx, w.admin, hash, outcome, "", "reviewed", "")
		w.must(err)
	}

	slow := func(ms int64) { w.must(w.chain.Steer(tonsim.Steering{DelayMS: &ms})) }
	drop := func(n int) { w.must(w.chain.Steer(tonsim.Steering{Drop: &n})) }

	save("processed", w.deposit(1, "durov 50"))

	slow(1500)
	first, second := w.deposit(1, "anna 50"), w.deposit(1, "boris 50")
	save("processed-broadcast-again", first)
	save("processed-waited-for-its-turn", second)
	slow(0)

	w.fragment.AddFault(sim.Fault{Kind: "503", Times: 3})
	save("processed-after-a-hold", w.deposit(1, "durov 50"))

	save("refused-and-refunded", w.deposit(1, "no order at all"))
	drop(1000)
	w.name = "second" // each gets one refund a day
	lost := w.deposit(1, "no order either")
	wait.Eventually(w, "the refund is dead", func() bool { return strings.HasPrefix(w.states(lost), "refund dead") })
	drop(0)
	save("refused-and-refunded-twice", lost)

	again := w.failedOnce()
	retry(again)
	save("failed-and-retried-by-update", again)
	again = w.failedOnce()
	w.must(w.server.Client.SignalWorkflow(ctx, lifecycle.TransactionID(again), "", "retry", nil))
	save("failed-and-retried-by-signal", again)

	drop(1000)
	dead := w.deposit(1, "durov 50")
	wait.Eventually(w, "the payment is dead", func() bool { return strings.HasPrefix(w.states(dead), "purchase dead") })
	drop(0)
	w.becomes(dead, lifecycle.TransactionFailed)
	retry(dead)
	save("processed-after-a-dead-payment", dead)

	drop(100_000)
	hopeless := w.deposit(1, "durov 50")
	w.becomes(hopeless, lifecycle.TransactionFailed)
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(hopeless), ""))
	save("failed-dead-payments-cancelled", hopeless)
	drop(0)

	settings := w.fragment.CurrentSettings()
	settings.DoneAfterMS = 1000 * 3600
	w.must(w.fragment.Set(settings))
	bad := w.deposit(1, "durov 50")
	resolve(bad, lifecycle.TransactionFailed)
	good := w.deposit(1, "durov 50")
	resolve(good, lifecycle.TransactionProcessed)
	save("reviewed-failed", bad)
	save("reviewed-processed", good)
	settings.DoneAfterMS = 0
	w.must(w.fragment.Set(settings))

	w.must(w.client.Pause(ctx, w.admin, "a test"))
	stopped := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is in line", func() bool { return w.inLine(stopped) })
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(stopped), ""))
	save("cancelled-while-waiting", stopped)
	w.must(w.client.Resume(ctx))

	slow(4000)
	stuck := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is stuck", func() bool { return w.get(stuck).StuckAlertedAt != nil })
	slow(0)
	save("processed-after-it-was-stuck", stuck)

	w.name = "third"
	owed := w.inReview("no order once more")
	w.must(w.client.Resume(ctx))
	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)
	resolve(owed, lifecycle.TransactionFailed)
	save("refunded-after-a-review", owed)

	slow(1500)
	signed := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is signed", func() bool { return w.states(signed) == "purchase signed" })
	w.must(w.server.Client.CancelWorkflow(ctx, lifecycle.TransactionID(signed), ""))
	save("processed-though-cancelled", signed)
	slow(0)

	w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"})
	long := w.deposit(1, "zoey 50") // never searched for
	w.becomes(long, lifecycle.TransactionFailed)
	run := func(hash string) string { return w.started(hash).OriginalExecutionRunId }
	began := run(long)
	for run(long) == began {
		retry(long)
		w.becomes(long, lifecycle.TransactionFailed)
		time.Sleep(200 * time.Millisecond)
	}

	w.fragment.ClearFaults()
	retry(long)
	save("continued-as-new", long)

	w.must(w.client.Pause(ctx, w.admin, "a test"))
	w.name = "fourth"
	poor := w.deposit(1, "no order, and no money")
	wait.Eventually(w, "its refund waits for its turn", func() bool { return w.get(poor).RefundDueNano > 0 })
	w.must(w.chain.SetBalance("", 100_000_000))
	w.must(w.client.Resume(ctx))
	w.wantAlert(notice.AlertRefund, true)
	w.must(w.chain.SetBalance("", 10_000_000_000))
	save("refund-tried-until-it-is-paid", poor)

	monitor := lifecycle.TonMonitorID(w.wallet.Address().Raw())
	watching := w.server.Client.GetWorkflow(ctx, monitor, "").GetRunID()
	w.stopWorker()
	w.startWorker()
	wait.Eventually(w, "the monitor has handed over", func() bool {
		description, err := w.server.Client.DescribeWorkflowExecution(ctx, monitor, "")
		w.must(err)
		return description.WorkflowExecutionInfo.Execution.RunId != watching
	})

	description, err := w.server.Client.DescribeWorkflowExecution(ctx, monitor, "")
	w.must(err)
	write("monitor", w.server.History(w, monitor, description.WorkflowExecutionInfo.FirstRunId))
}

// save waits until a transaction's workflow has ended, and saves its first run, and its last one if it continued as
// new.
func (w *rig) save(version testtemporal.Version, name, hash string) {
	w.Helper()
	_ = w.over(hash)
	last := w.started(hash)
	version.Save(w, "", name, w.server.History(w, lifecycle.TransactionID(hash), last.FirstExecutionRunId))
	if last.OriginalExecutionRunId != last.FirstExecutionRunId {
		version.Save(w, "", name+"-next", w.history(hash))
	}
}

// started is how the newest run of a transaction's workflow began.
func (w *rig) started(hash string) *historypb.WorkflowExecutionStartedEventAttributes {
	w.Helper()
	return w.history(hash)[0].GetWorkflowExecutionStartedEventAttributes()
}
