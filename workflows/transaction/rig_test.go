package transaction_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	transactionstore "stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
	"stagecoach/workflows/transaction"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

// rig is one isolated shop: a wallet on its own chain, a Fragment, a record, a worker.
type rig struct {
	testing.TB
	server            *testtemporal.Server
	store             *store.Store
	chain             *tonsim.TonCenter
	fragment          *tonsim.Fragment
	wallet            *ton.Wallet
	toncenter         *toncenter.Client
	client            operated
	settings          activities.Settings
	flow              transaction.Settings
	paymentActivities *activities.PaymentActivities
	purchases         *activities.Activities
	monitor           *activities.Monitor
	worker            worker.Worker
	watcher           worker.Worker
	payer, refunder   worker.Worker
	admin             account.User
	logs              *logs
	name              string // the depositor's

	mu     sync.Mutex
	hashes []string
}

// setup changes a rig's components.
type setup struct {
	settings             activities.Settings
	flow                 transaction.Settings
	retryFor, retryPause time.Duration // of failed orders, by the system
	chain                tonsim.TonCenterOptions
	fragment             tonsim.FragmentOptions
	server               *testtemporal.Server // nil: any
	database             string               // empty: a new one
	chainTimeout         time.Duration        // of a request to the chain: short only where it has to run out
	asleep               bool                 // without a worker and a monitor until start is called
}

// callTimeout is longer than an answer takes on a busy machine.
const callTimeout = 20 * time.Second

func newRig(t testing.TB, change ...func(*setup)) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}

	s := setup{
		settings: activities.Settings{
			MaxStars: 1_000_000, Reserve: 20_000_000, Slippage: 100,
			PaymentTTL: time.Minute, FinalityMargin: time.Second, HoldRetry: 300 * time.Millisecond,
			PollInterval: 50 * time.Millisecond, MinDeposit: 50_000_000, ConfirmPatience: 30 * time.Second,
			LookEvery:        20 * time.Millisecond,
			RebroadcastEvery: 500 * time.Millisecond, TurnPatience: 30 * time.Second, StuckAfter: time.Hour,
		},
		chainTimeout: callTimeout,
	}

	for _, c := range change {
		c(&s)
	}
	s.flow.StuckAfter = s.settings.StuckAfter

	w := &rig{TB: t, settings: s.settings, flow: s.flow, logs: &logs{}}
	if s.database == "" {
		s.database = testdb.URL(t)
	}
	w.store = open(t, s.database)
	wallets := open(t, testdb.AsWallet(t, s.database))
	if w.server = s.server; w.server == nil {
		w.server = testtemporal.Take(t)
	}

	public, private, err := ed25519.GenerateKey(rand.Reader)
	w.must(err)
	key, err := ton.ParseKey(hex.EncodeToString(private.Seed()))
	w.must(err)
	w.wallet, err = ton.NewWallet(key, ton.Mainnet)
	w.must(err)

	s.chain.PublicKey = hex.EncodeToString(public)
	w.chain, err = tonsim.NewTonCenter(s.chain)
	w.must(err)
	chainURL, stopChain, err := sim.Start("127.0.0.1:0", w.chain)
	w.must(err)
	s.fragment.TonCenterURL = chainURL
	w.fragment, err = tonsim.NewFragment(s.fragment)
	w.must(err)
	fragmentURL, stopFragment, err := sim.Start("127.0.0.1:0", w.fragment)
	w.must(err)
	t.Cleanup(func() { stopFragment(); stopChain(); w.fragment.Close(); w.chain.Close() })

	w.toncenter = toncenter.New(toncenter.Options{URL: chainURL, RequestsPerSecond: 10_000, CallTimeout: s.chainTimeout})
	shop, _, err := ton.ParseAddress(w.chain.Shop())
	w.must(err)
	w.client = operated{&transactions.Service{
		Temporal: w.server.Client, Store: w.store, Log: slog.New(slog.DiscardHandler), Patience: time.Minute,
		Failures: failures(s.settings, s.retryFor, s.retryPause),
		Balance: func(ctx context.Context, _ string) (int64, int64, error) {
			state, err := w.toncenter.Wallet(ctx, w.wallet.Address())
			return int64(state.LastLT), int64(state.Balance), err
		},
	}}

	log := slog.New(slog.NewTextHandler(w.logs, nil))
	counted := metrics.New().Transaction()
	w.paymentActivities = &activities.PaymentActivities{
		Store: wallets.Transactions, Alerts: wallets.Notices, Wallet: w.wallet, Chain: w.toncenter, Allow: []ton.Address{shop}, Settings: s.settings,
		Metrics: counted, Log: log, Orders: w.client.Service, Temporal: w.server.Client,
		Fragment: fragment.New(fragment.Options{
			URL: fragmentURL, RequestsPerSecond: 10_000, CallTimeout: callTimeout,
			Cookies: fragment.Cookies{"stel_ssid": "a", "stel_dt": "b", "stel_token": "planted", "stel_ton_token": "d"},
			Wallet: fragment.Account{
				Address: w.wallet.Address(), PublicKey: w.wallet.PublicKey(), StateInit: w.wallet.StateInit(), Network: ton.Mainnet,
			},
		}),
	}

	w.purchases = &activities.Activities{
		Store: w.store.Transactions, Alerts: w.store.Notices, Users: w.store.Accounts, Answers: w.store.Answers, Settings: s.settings, Orders: w.client.Service, Metrics: counted,
	}

	w.monitor = &activities.Monitor{
		Store: wallets.Transactions, Alerts: wallets.Notices, Wallet: w.wallet.Address(), Chain: w.toncenter, Settings: s.settings,
		Decided: w.paymentActivities.Decided.Ring, Metrics: counted, Log: log,
		Start: w.client.Start,
	}

	w.admin, err = w.store.Accounts.CreateUser(
		t.Context(), account.User{Name: "operator", Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken(),
	)
	w.must(err)
	t.Cleanup(w.leaveNothing)
	if !s.asleep {
		w.start()
	}
	return w
}

// start starts a worker and the monitor.
func (w *rig) start() {
	w.Helper()
	w.startWorker()
	w.must(w.client.StartMonitor(w.Context(), w.wallet.Address().Raw()))
	wait.Eventually(w, "the wallet is watched", func() bool {
		_, err := w.store.Transactions.WalletByAddress(w.Context(), w.wallet.Address().Raw())
		return err == nil
	})
}

func (w *rig) startWorker() {
	w.Helper()
	w.startMain()
	w.watcher = worker.New(w.server.Client, lifecycle.WalletQueue, worker.Options{
		WorkerStopTimeout: time.Second, DisableWorkflowWorker: true,
	})

	activities.RegisterWallet(w.watcher, w.paymentActivities, w.monitor)
	w.must(w.watcher.Start())
	w.startPayer()
}

// startPayer starts the worker of the payment queue.
func (w *rig) startPayer() {
	w.Helper()
	w.payer = worker.New(w.server.Client, lifecycle.PaymentQueue, worker.Options{
		WorkerStopTimeout: time.Second, DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 1,
		MaxHeartbeatThrottleInterval: 100 * time.Millisecond,
	})

	activities.RegisterPayments(w.payer, w.paymentActivities)
	w.must(w.payer.Start())
	w.refunder = worker.New(w.server.Client, lifecycle.RefundQueue, worker.Options{
		WorkerStopTimeout: time.Second, DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 1,
	})
	activities.RegisterRefunds(w.refunder, w.paymentActivities)
	w.must(w.refunder.Start())
}

// startMain starts the worker of the main queue.
func (w *rig) startMain() {
	w.Helper()
	w.worker = worker.New(w.server.Client, lifecycle.MainQueue, worker.Options{
		WorkerStopTimeout: time.Second, DeadlockDetectionTimeout: time.Minute, // the machine may be busy
	})
	w.worker.RegisterWorkflowWithOptions(
		(&transaction.Workflow{Settings: w.flow}).Run, workflow.RegisterOptions{Name: lifecycle.TransactionType},
	)
	w.worker.RegisterWorkflowWithOptions(transaction.Monitor, workflow.RegisterOptions{Name: lifecycle.TonMonitorType})
	w.worker.RegisterActivity(w.paymentActivities)
	w.worker.RegisterActivity(w.purchases)
	w.worker.RegisterActivity(w.monitor)
	w.must(w.worker.Start())
}

func (w *rig) stopWorker() {
	w.worker.Stop()
	w.watcher.Stop()
	w.payer.Stop()
	w.refunder.Stop()
}

// leaveNothing ends what this test's rig has left on the shared server.
func (w *rig) leaveNothing() {
	ctx := context.Background()
	for _, id := range append(w.workflowIDs(), lifecycle.TonMonitorID(w.wallet.Address().Raw())) {
		_ = w.server.Client.TerminateWorkflow(ctx, id, "", "the test is over")
	}
	if w.payer != nil {
		w.stopWorker()
	}
	if w.Failed() {
		w.Log(w.logs.String())
	}
}

func (w *rig) workflowIDs() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, hash := range w.hashes {
		ids = append(ids, lifecycle.TransactionID(hash))
	}
	return ids
}

// deposit pays TON into the wallet.
func (w *rig) deposit(tons float64, comment string) string {
	w.Helper()
	return w.depositAs(tonsim.Deposit{From: "somebody" + w.name, AmountNano: int64(tons * 1e9), Comment: comment})
}

func (w *rig) depositAs(d tonsim.Deposit) string {
	w.Helper()
	hash, err := w.chain.Deposit(d)
	w.must(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hashes = append(w.hashes, hash)
	return hash
}

func (w *rig) get(hash string) transactionstore.Transaction {
	w.Helper()
	t, err := w.store.Transactions.ByHash(w.Context(), hash)
	if err != nil && fault.CodeOf(err) != fault.TransactionNotFound {
		w.must(err)
	}
	return t
}

// becomes waits until a transaction has a status.
func (w *rig) becomes(hash string, status lifecycle.TransactionState) transactionstore.Transaction {
	w.Helper()
	wait.Eventually(w, fmt.Sprintf("%.8s is %s", hash, status), func() bool { return w.get(hash).State == status })
	return w.get(hash)
}

// fails waits until a transaction has failed with a message.
func (w *rig) fails(hash, message string, class lifecycle.ErrorClass) transactionstore.Transaction {
	w.Helper()
	t := w.becomes(hash, lifecycle.TransactionFailed)
	if t.ErrorMessage != message || t.ErrorClass != class {
		w.Errorf("failed %q, %s; want %q, %s", t.ErrorMessage, t.ErrorClass, message, class)
	}
	return t
}

// over waits until a transaction's workflow has closed, and returns how.
func (w *rig) over(hash string) error {
	w.Helper()
	wait.Eventually(w, "it was started", func() bool { return w.get(hash).WorkflowStartedAt != nil })
	wait.Eventually(w, "its workflow is over: "+w.events(hash), func() bool {
		description, err := w.server.Client.DescribeWorkflowExecution(w.Context(), lifecycle.TransactionID(hash), "")
		return err == nil && description.WorkflowExecutionInfo.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	return w.server.Client.GetWorkflow(w.Context(), lifecycle.TransactionID(hash), "").Get(w.Context(), nil)
}

func (w *rig) payments(hash string) []transactionstore.Payment {
	w.Helper()
	payments, err := w.store.Transactions.PaymentsOf(w.Context(), hash)
	w.must(err)
	return payments
}

// signed waits until the first payment of an order is signed, and the chain has not decided it.
func (w *rig) signed(hash string) {
	w.Helper()
	wait.Eventually(w, fmt.Sprintf("%.8s is signed", hash), func() bool { return w.states(hash) == "purchase signed" })
}

// expire advances the chain's clock until what is signed now is not valid any more. The chain may be two minutes ahead.
func (w *rig) expire() {
	w.Helper()
	past := w.settings.PaymentTTL + w.settings.FinalityMargin + 2*time.Second
	w.must(w.chain.Steer(tonsim.Steering{AdvanceMS: past.Milliseconds()}))
}

// broadcasts counts the messages to the chain that were answered.
func (w *rig) broadcasts() (n int) {
	for _, r := range w.chain.Requests() {
		if r.Path == "/api/v3/message" && r.Done {
			n++
		}
	}
	return n
}

// failed counts the requests to Fragment that a fault has hit.
func (w *rig) failed() (n int) {
	for _, r := range w.fragment.Requests() {
		if r.Fault != "" {
			n++
		}
	}
	return n
}

// states lists the states of a transaction's payments.
func (w *rig) states(hash string) string {
	w.Helper()
	var states []string
	for _, p := range w.payments(hash) {
		states = append(states, string(p.Kind)+" "+string(p.State))
	}
	return strings.Join(states, ", ")
}

// events lists the types of a transaction's events.
func (w *rig) events(hash string) string {
	w.Helper()
	events, err := w.store.Transactions.EventsOf(w.Context(), hash)
	w.must(err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
	}
	return strings.Join(types, " ")
}

// sold lists Fragment's final sales, and the payments that bought nothing.
func (w *rig) sold() (bought []tonsim.Purchase, strays []tonsim.Payment) {
	w.Helper()
	bought, strays, err := w.fragment.Purchases(w.Context())
	w.must(err)
	return bought, strays
}

// wantSold requires this many purchases, and no stray payment.
func (w *rig) wantSold(n int) []tonsim.Purchase {
	w.Helper()
	bought, strays := w.sold()
	if len(bought) != n || len(strays) != 0 {
		w.Errorf("bought %+v, astray %+v, want %d and none", bought, strays, n)
	}
	return bought
}

// balances checks the books against the chain and Fragment.
func (w *rig) balances() {
	w.Helper()
	bought, _ := w.sold()
	list := []transactions.FragmentPurchase{}
	for _, p := range bought {
		list = append(
			list,
			transactions.FragmentPurchase{Username: p.Username, Stars: p.Stars, PaidNano: p.PaidNano, PaymentHash: p.Hash, At: p.At},
		)
	}

	var report transactions.LedgerReport
	wait.Eventually(w, "the record is up to date", func() (ok bool) {
		var err error
		report, err = w.client.Reconcile(w.Context(), list)
		return err == nil && report.Chain
	})

	if len(report.Differences) > 0 {
		w.Errorf("differences: %+v\n%+v", report.Differences, report.Balances)
	}
}

// history returns the events of a workflow's newest run.
func (w *rig) history(hash string) []*historypb.HistoryEvent {
	w.Helper()
	return w.server.History(w, lifecycle.TransactionID(hash), "")
}

func (w *rig) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v %v", err, errors.Unwrap(err))
	}
}

func (w *rig) wantCode(err error, code fault.Code) {
	w.Helper()
	if fault.CodeOf(err) != code {
		w.Errorf("got %v %v, want %s", err, errors.Unwrap(err), code)
	}
}

// logs keep the activities' log for a failing test.
type logs struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// failures is the failure policy for the settings.
func failures(s activities.Settings, retryFor, pause time.Duration) transactions.FailurePolicy {
	return transactions.FailurePolicy{Refund: s.Refund, RetryFor: retryFor, RetryPause: pause}
}

// open opens the record.
func open(t testing.TB, database string) *store.Store {
	t.Helper()
	record, err := store.Open(t.Context(), database, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)
	return record
}
