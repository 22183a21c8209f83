package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// paymentRig is a rig that sells Stars: with a wallet on its own chain, and a Fragment.
type paymentRig struct {
	*rig
	chain    *tonsim.TonCenter
	fragment *tonsim.Fragment
	orders   *transactions.Service
	view     *toncenter.Client
	wallet   *ton.Wallet
	database *pgx.Conn // for statements that the product does not have
	before   *int      // payments that the chain had executed at the last call of sent
}

// newPaymentRig starts a rig without a worker, in a namespace of its own.
func newPaymentRig(t testing.TB, temporal *servers.Temporal, namespace string) *paymentRig {
	t.Helper()
	makeNamespace(t, temporal, namespace)
	url := testdb.URL(t)
	l := &paymentRig{before: new(int)}
	l.rig = newRigIn(t, url, temporal, namespace, map[string]string{
		"STAGECOACH_BOT": "false", "STAGECOACH_TX_REFUND": "true",
	})

	l.startShop(tonsim.TonCenterOptions{Balance: -1})
	l.chain, l.fragment, l.wallet = l.ground.Chain, l.ground.Fragment, l.shopWallet()
	l.view = toncenter.New(toncenter.Options{URL: l.ground.StandIns.TonCenter, RequestsPerSecond: 1000})
	l.orders = &transactions.Service{
		Temporal: l.client, Store: l.store, Log: slog.New(slog.DiscardHandler), Patience: 20 * time.Second,
		Balance: func(ctx context.Context, _ string) (int64, int64, error) {
			state, err := l.view.Wallet(ctx, l.wallet.Address())
			return int64(state.LastLT), int64(state.Balance), err
		},
	}

	var err error
	l.database, err = pgx.Connect(t.Context(), url)
	must(t, err)
	t.Cleanup(func() { l.database.Close(context.Background()) })
	return l
}

// makeNamespace creates a namespace and waits until the server knows it.
func makeNamespace(t testing.TB, temporal *servers.Temporal, name string) {
	t.Helper()
	namespaces, err := client.NewNamespaceClient(client.Options{
		HostPort: temporal.Address, Logger: slog.New(slog.DiscardHandler),
	})

	must(t, err)
	defer namespaces.Close()

	must(t, namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	}))
	wait.Eventually(t, "the namespace is there", func() bool {
		_, err := namespaces.Describe(t.Context(), name)
		return err == nil
	})
}

// in passes the rig to a part of its test.
func (l *paymentRig) in(t testing.TB) *paymentRig {
	part, whole := *l, *l.rig
	whole.TB, part.rig = t, &whole
	return &part
}

// deposit pays one TON into the wallet, from its own sender.
func (l *paymentRig) deposit(comment string) string {
	l.Helper()
	hash, err := l.chain.Deposit(tonsim.Deposit{From: rand.Text(), AmountNano: 1e9, Comment: comment})
	must(l, err)
	return hash
}

// becomes waits until a transaction has a status.
func (l *paymentRig) becomes(hash string, status lifecycle.TransactionState) (found transaction.Transaction) {
	l.Helper()
	wait.Eventually(l, fmt.Sprintf("%.8s is %s", hash, status), func() bool {
		found, _ = l.store.Transactions.ByHash(l.Context(), hash)
		return found.State == status
	})
	return found
}

// find returns a transaction.
func (l *paymentRig) find(hash string) transaction.Transaction {
	l.Helper()
	found, err := l.store.Transactions.ByHash(l.Context(), hash)
	must(l, err)
	return found
}

// outgoing counts the payments that the chain has executed for the wallet.
func (l *paymentRig) outgoing() (n int) {
	l.Helper()
	for page := (toncenter.Page{Account: l.wallet.Address(), Limit: 1000}); ; {
		history, _, err := l.view.Transactions(l.Context(), page)
		must(l, err)
		if len(history) == 0 {
			return n
		}

		for _, t := range history {
			n += len(t.Out)
			page.FromLT = t.LT + 1
		}
	}
}

// payments lists a transaction's payments, each as its kind and state.
func (l *paymentRig) payments(hash string) (list []transaction.Payment, states string) {
	l.Helper()
	list, err := l.store.Transactions.PaymentsOf(l.Context(), hash)
	must(l, err)
	var all []string
	for _, p := range list {
		all = append(all, string(p.Kind)+" "+string(p.State))
	}
	return list, strings.Join(all, ", ")
}

// sold lists what Fragment has sold, by the payment's hash. It fails the test on an unmatched payment.
func (l *paymentRig) sold() map[string]tonsim.Purchase {
	l.Helper()
	bought, strays, err := l.fragment.Purchases(l.Context())
	must(l, err)
	if len(strays) > 0 {
		l.Errorf("payments that bought nothing: %+v", strays)
	}

	found := map[string]tonsim.Purchase{}
	for _, p := range bought {
		found[p.Hash] = p
	}

	if len(found) != len(bought) {
		l.Errorf("bought twice with one payment: %+v", bought)
	}
	return found
}

// balances compares the ledger with the chain and with Fragment.
func (l *paymentRig) balances() {
	l.Helper()
	list := []transactions.FragmentPurchase{}
	for hash, p := range l.sold() {
		list = append(
			list,
			transactions.FragmentPurchase{Username: p.Username, Stars: p.Stars, PaidNano: p.PaidNano, PaymentHash: hash, At: p.At},
		)
	}

	var report transactions.LedgerReport
	wait.Eventually(l, "the record is up to date", func() bool {
		var err error
		report, err = l.orders.Reconcile(l.Context(), list)
		return err == nil && report.Chain
	})

	if len(report.Differences) > 0 {
		l.Errorf("differences: %+v\n%+v", report.Differences, report.Balances)
	}
}
