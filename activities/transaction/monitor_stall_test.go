package transaction

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// readRig is a wallet on a chain whose clock the test advances, and a monitor that reads it on request.
type readRig struct {
	*testing.T
	store   *store.Store
	chain   *tonsim.TonCenter
	monitor *Monitor
	later   atomic.Int64
}

func newReadRig(t *testing.T) *readRig {
	t.Helper()
	r := &readRig{T: t}
	now := func() time.Time { return time.Now().Add(time.Duration(r.later.Load())) }
	key, err := ton.ParseKey(strings.Repeat("5e", 32))
	r.must(err)
	wallet, err := ton.NewWallet(key, ton.Mainnet)
	r.must(err)
	r.store, err = store.Open(t.Context(), testdb.URL(t), testdb.Key)
	r.must(err)
	t.Cleanup(r.store.Close)

	r.chain, err = tonsim.NewTonCenter(tonsim.TonCenterOptions{PublicKey: wallet.PublicKey(), Clock: now})
	r.must(err)
	t.Cleanup(func() { _ = r.chain.Close() })
	url, stop, err := sim.Start("127.0.0.1:0", r.chain)
	r.must(err)
	t.Cleanup(stop)

	r.monitor = &Monitor{
		Store: r.store.Transactions, Alerts: r.store.Notices, Wallet: wallet.Address(),
		Chain:    toncenter.New(toncenter.Options{URL: url, RequestsPerSecond: 1e6, Now: now}),
		Settings: Settings{WholeHistory: true, MinDeposit: 1}, Metrics: metrics.New().Transaction(),
		Log: slog.New(slog.DiscardHandler), Decided: func() {},
	}
	return r
}

func (r *readRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *readRig) deposit() {
	r.Helper()
	_, err := r.chain.Deposit(tonsim.Deposit{AmountNano: 1e9, Comment: "durov 50"})
	r.must(err)
}

// read reads the chain once, and returns what is then known of the wallet.
func (r *readRig) read() transaction.Wallet {
	r.Helper()
	var environment testsuite.WorkflowTestSuite
	worker := environment.NewTestActivityEnvironment()
	read := func(ctx context.Context) error {
		r.monitor.read(ctx, time.Now())
		return nil
	}
	worker.RegisterActivity(read)
	_, err := worker.ExecuteActivity(read)
	r.must(err)
	wallet, err := r.store.Transactions.WalletByAddress(r.Context(), r.monitor.Wallet.Raw())
	r.must(err)
	return wallet
}

func (r *readRig) wantOrders(when string, n int) {
	r.Helper()
	loose, err := r.store.Transactions.Loose(r.Context(), r.monitor.Wallet.Raw(), 100, 1)
	if err != nil || len(loose.Unstarted) != n {
		r.Errorf("%s: %d orders, want %d: %v", when, len(loose.Unstarted), n, err)
	}
}

func (r *readRig) wantAlerts(when string, want ...string) {
	r.Helper()
	open, err := r.store.Notices.Incidents(r.Context(), true, 0, 10)
	var got []string
	for _, alert := range open {
		got = append(got, alert.Kind)
	}
	if err != nil || !slices.Equal(got, want) {
		r.Errorf("%s: alerts %v, want %v: %v", when, got, want, err)
	}
}

// TestNothingBecomesFinal lets a transfer wait for its finality while the chain advances: administrators are alerted
// after minutes, and the transfer becomes an order once it is final.
func TestNothingBecomesFinal(t *testing.T) {
	t.Parallel()
	r := newReadRig(t)
	r.must(r.chain.Steer(tonsim.Steering{Unsettled: new(true)}))
	r.read()
	r.deposit()
	r.read()
	r.wantAlerts("at first")

	r.later.Store(int64(awayFor - time.Minute))
	r.read()
	r.wantAlerts("for less than awayFor")

	r.later.Store(int64(awayFor + time.Minute))
	r.read()
	r.wantAlerts("for more than awayFor", notice.AlertChain)
	r.wantOrders("before it is final", 0)

	r.must(r.chain.Steer(tonsim.Steering{Unsettled: new(false)}))
	r.read()
	r.wantAlerts("once it is final")
	r.wantOrders("once it is final", 1)
}

// TestHistoryWithoutAnswer reads a chain whose 200 answers are empty: the known end of the history stays, and transfers
// received meanwhile are found later.
func TestHistoryWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"not_ok", "empty", "null"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newReadRig(t)
			before := r.read()
			r.deposit()
			r.later.Store(int64(awayFor + time.Minute))
			r.chain.AddFault(sim.Fault{Match: "/transactions?", Kind: kind, Times: 1})
			if after := r.read(); before.ScannedTo == nil || !after.ScannedTo.Equal(*before.ScannedTo) {
				t.Errorf("from %v to %v without an answer", before.ScannedTo, after.ScannedTo)
			}
			r.wantOrders("without an answer", 0)
			r.read()
			r.wantOrders("with an answer", 1)
		})
	}
}

// TestPagesOfRepeatedRows follows a history of more than a page whose answers contain each transaction twice.
func TestPagesOfRepeatedRows(t *testing.T) {
	t.Parallel()
	r := newReadRig(t)
	r.must(r.chain.Steer(tonsim.Steering{Twice: new(true)}))
	const number = historyPage/2 + 3
	for range number {
		r.deposit()
	}
	r.read()
	r.wantOrders("in one read", number)
	r.wantAlerts("after it")
}
