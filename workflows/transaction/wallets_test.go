package transaction_test

import (
	"context"
	"slices"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// twoWallets are two shops with one record: the second one's wallet is "b".
func twoWallets(t *testing.T) (one, two *rig) {
	t.Helper()
	one = newRig(t)
	return one, newRig(t, func(s *setup) { s.beside = one })
}

// queues are the task queues of a workflow's activities, but for those of the main one.
func (w *rig) queues(hash string) (names []string) {
	w.Helper()
	for _, event := range w.history(hash) {
		if event.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			names = append(names, event.GetActivityTaskScheduledEventAttributes().TaskQueue.Name)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == lifecycle.MainQueue })
}

// TestWalletsAreServedApart buys with two wallets. Each one's money is moved by the process that has its key, and by its
// session. A pause of one leaves the other alone.
func TestWalletsAreServedApart(t *testing.T) {
	t.Parallel()
	one, two := twoWallets(t)
	first, second := one.deposit(1, "durov 50"), two.deposit(1, "alice 60")
	one.becomes(first, lifecycle.TransactionProcessed)
	two.becomes(second, lifecycle.TransactionProcessed)
	if got := one.queues(first); !slices.Equal(got, []string{"payments", "quotes"}) {
		t.Errorf("the first one's activities were in %v", got)
	}
	if got := two.queues(second); !slices.Equal(got, []string{"payments-b", "quotes-b"}) {
		t.Errorf("the second one's activities were in %v", got)
	}

	one.must(one.client.Pause(t.Context(), one.admin, "b", "it moves"))
	waits := two.deposit(1, "bob_by 70")
	one.becomes(one.deposit(1, "carl_c 80"), lifecycle.TransactionProcessed)
	two.eventually("it is in line", func() bool { return two.inLine(waits) })
	if got := two.states(waits); got != "" {
		t.Errorf("payments of the paused wallet: %s", got)
	}

	queue, err := one.client.Queue(t.Context(), "", 10)
	one.must(err)
	if len(queue.Line) != 1 || queue.Line[0].TransactionHash != waits || queue.Line[0].Wallet != two.wallet.Address().Raw() {
		t.Errorf("%+v", queue.Line)
	}
	one.wantCode(one.client.Resume(t.Context(), "c"), fault.Validation)
	one.must(one.client.Resume(t.Context(), "b"))
	two.becomes(waits, lifecycle.TransactionProcessed)

	one.wantSold(2)
	two.wantSold(2)
	one.balances()
	two.balances()
}

// TestCustomersAreToldTheShorterLine asks where to pay while one wallet has the longer line, and while one is stopped.
func TestCustomersAreToldTheShorterLine(t *testing.T) {
	t.Parallel()
	one, two := twoWallets(t)
	one.client.Price = func(context.Context, int64) (int64, error) { return 1e9, nil }
	one.client.Friendly = func(wallet string) string { return wallet }
	told := func(want *rig) {
		t.Helper()
		one.eventually("customers are told the right wallet", func() bool {
			terms, err := one.client.Terms(t.Context(), "", 0)
			one.must(err)
			return terms.Address == want.wallet.Address().Raw()
		})
	}

	told(one)
	one.must(one.client.Pause(t.Context(), one.admin, "", "a test"))
	waits := one.deposit(1, "durov 50")
	one.eventually("it is in line", func() bool { return one.inLine(waits) })
	told(two)

	for _, comment := range []string{"durov 51", "durov 52"} {
		hash := two.deposit(1, comment)
		two.eventually("it is in line", func() bool { return two.inLine(hash) })
	}
	told(one)

	one.must(one.client.Pause(t.Context(), one.admin, one.wallet.Address().Raw(), "a test"))
	told(two)
}

// TestRecordWallets saves the history of an order of a wallet with a name, and of its monitor.
func TestRecordWallets(t *testing.T) {
	version := testtemporal.Record(t)
	_, two := twoWallets(t)
	hash := two.deposit(1, "durov 50")
	two.becomes(hash, lifecycle.TransactionProcessed)
	version.Save(t, "", "processed-by-a-named-wallet", two.history(hash))
}
