package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// paymentSoak sells Stars and refunds with two processes that both hold the wallet.
type paymentSoak struct {
	*paymentRig
	workers        [2]*program
	orders, owed   []string // bought ones, and refunded ones
	kills, trouble int
}

// TestSoakPayments takes orders in rounds for as long as STAGECOACH_SOAK says, while payment processes are killed with
// -9 and Fragment and the chain fail. After each round every order is bought once or refunded once, the wallet has made
// no other payment, and the ledger agrees with the chain and with Fragment to the nanoTON.
func TestSoakPayments(t *testing.T) {
	length := soakTime(t)
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	l := &paymentSoak{paymentRig: newPaymentRig(t, server, "soak-payments")}
	for i := range l.workers {
		l.workers[i] = l.startWorker()
	}

	rounds := 0
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); rounds++ {
		l.round()
		l.compare()
	}
	t.Logf("%d rounds, %d orders bought, %d refunded, %d kills, %d faults", rounds, len(l.orders), len(l.owed), l.kills, l.trouble)
}

// round takes twenty orders.
func (l *paymentSoak) round() {
	l.Helper()
	for range 20 {
		if rand.IntN(3) == 0 {
			l.owed = append(l.owed, l.deposit("no order at all"))
		} else {
			l.orders = append(l.orders, l.deposit(fmt.Sprintf("soaker%d 50", len(l.orders))))
		}

		switch rand.IntN(10) {
		case 0:
			i := rand.IntN(len(l.workers))
			l.workers[i].kill()
			l.workers[i] = l.startWorker()
			l.kills++
		case 1:
			l.fragment.AddFault(sim.Fault{Kind: "500", Times: 2})
			l.trouble++
		case 2:
			l.chain.AddFault(sim.Fault{Kind: "500", Times: 3})
			l.trouble++
		case 3:
			l.chain.AddFault(sim.Fault{Match: "/api/v3/message", Kind: "lost_answer", Times: 1})
			l.trouble++
		}
		time.Sleep(rand.N(500 * time.Millisecond))
	}
}

// compare waits until all orders have ended.
func (l *paymentSoak) compare() {
	l.Helper()
	for _, hash := range l.orders {
		l.becomes(hash, lifecycle.TransactionProcessed)
		if n := l.paid(hash, transaction.Purchase); n != 1 {
			l.Errorf("%.8s was bought %d times", hash, n)
		}
	}
	for _, hash := range l.owed {
		l.becomes(hash, lifecycle.TransactionFailed)
		wait.Eventually(l, "the sender has it", func() bool { return l.paid(hash, transaction.Refund) > 0 && l.find(hash).RefundDueNano == 0 })
		if n := l.paid(hash, transaction.Refund); n != 1 {
			l.Errorf("%.8s was refunded %d times", hash, n)
		}
	}

	if sold := len(l.sold()); sold != len(l.orders) {
		l.Errorf("Fragment has sold %d times for %d orders", sold, len(l.orders))
	}
	l.sent(len(l.orders) + len(l.owed) - *l.before)
	l.balances()
}

// paid counts the payments of one kind that have reached their receiver.
func (l *paymentSoak) paid(hash string, kind transaction.PaymentKind) (n int) {
	l.Helper()
	payments, _ := l.payments(hash)
	for _, p := range payments {
		if p.Kind == kind && p.KeptAt != nil {
			n++
		}
	}
	return n
}
