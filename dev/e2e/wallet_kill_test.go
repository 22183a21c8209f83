package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// step is a moment in an order at which a worker can be killed: a request to another system, before or after its
// effect, or a statement of the record. The moment after a statement is the one before the next.
type step struct {
	name string
	// A request.
	chain, shop string // a part of it
	applied     bool   // it takes effect, without an answer
	// A statement.
	on   string // the event and the table
	when string // a condition on NEW and OLD; empty: always
}

// lifeOfOrder are the steps of a purchase, in their order.
var lifeOfOrder = []step{
	{name: "the deposit is recorded", on: "INSERT ON transactions"},
	{name: "the start of the workflow is noted", on: "UPDATE ON transactions", when: "NEW.workflow_started_at IS DISTINCT FROM OLD.workflow_started_at"},
	{name: "search", shop: "searchStarsRecipient"},
	{name: "search, answered", shop: "searchStarsRecipient", applied: true},
	{name: "price", shop: "updateStarsPrices"},
	{name: "price, answered", shop: "updateStarsPrices", applied: true},
	{name: "the request gets its number", on: "UPDATE ON ton_wallets", when: "NEW.requests > OLD.requests"},
	{name: "the attempt begins", on: "UPDATE ON transactions", when: "NEW.status = 'processing' AND OLD.status = 'pending'"},
	{name: "request", shop: "initBuyStarsRequest"},
	{name: "request, answered", shop: "initBuyStarsRequest", applied: true},
	{name: "link", shop: "getBuyStarsLink"},
	{name: "link, answered", shop: "getBuyStarsLink", applied: true},
	{name: "balance", chain: "/walletInformation"},
	{name: "balance, answered", chain: "/walletInformation", applied: true},
	{name: "the signed payment is kept", on: "INSERT ON payments"},
	{name: "the payment is marked as sent", on: "UPDATE ON payments", when: "NEW.sent_at IS NOT NULL AND OLD.sent_at IS NULL"},
	{name: "broadcast", chain: "/api/v3/message"},
	{name: "broadcast, answered", chain: "/api/v3/message", applied: true},
	{name: "the payment is found on the chain", on: "UPDATE ON payments", when: "NEW.state = 'paid' AND OLD.state = 'signed'"},
	{name: "what became of the money", chain: "ByMessage?direction=in"},
	{name: "what became of the money, answered", chain: "ByMessage?direction=in", applied: true},
	{name: "the money was kept", on: "UPDATE ON payments", when: "NEW.kept_at IS NOT NULL AND OLD.kept_at IS NULL"},
	{name: "confirmation", shop: "confirmReq"},
	{name: "confirmation, answered", shop: "confirmReq", applied: true},
	{name: "state of the purchase", shop: "updateStarsBuyState"},
	{name: "state of the purchase, answered", shop: "updateStarsBuyState", applied: true},
	{name: "processed", on: "UPDATE ON transactions", when: "NEW.status = 'processed' AND OLD.status = 'processing'"},
}

// lifeOfRefund are those of an order that fails and is refunded.
var lifeOfRefund = []step{
	{name: "failed, and owed", on: "UPDATE ON transactions", when: "NEW.status = 'failed' AND OLD.status = 'processing'"},
	{name: "the signed payment is kept", on: "INSERT ON payments"},
	{name: "the payment is marked as sent", on: "UPDATE ON payments", when: "NEW.sent_at IS NOT NULL AND OLD.sent_at IS NULL"},
	{name: "broadcast", chain: "/api/v3/message"},
	{name: "broadcast, answered", chain: "/api/v3/message", applied: true},
	{name: "the payment is found on the chain", on: "UPDATE ON payments", when: "NEW.state = 'paid' AND OLD.state = 'signed'"},
	{name: "what became of the money", chain: "ByMessage?direction=in"},
	{name: "the money was kept", on: "UPDATE ON payments", when: "NEW.kept_at IS NOT NULL AND OLD.kept_at IS NULL"},
}

// ordersAtOnce is how many orders lose their worker at the same time. Three rounds are then enough: most of the time
// passes until the server notices the loss of the worker.
const ordersAtOnce = 13

// TestNightOrdersLoseTheirWorker kills the worker with -9 at each step of a purchase and of a refund; another one takes
// over. Each order is bought once, or refunded once, and the record, the chain and Fragment agree.
func TestNightOrdersLoseTheirWorker(t *testing.T) {
	t.Parallel()
	night.Only(t)
	temporal := startTemporal(
		t, `history.timerProcessorMaxTimeShift="10ms"`, `system.namespaceCacheRefreshInterval="200ms"`,
	)

	type loss struct {
		step
		comment string
		check   func(*paymentRig, string)
	}

	losses := make(chan loss, len(lifeOfOrder)+len(lifeOfRefund))
	for _, s := range lifeOfOrder {
		losses <- loss{s, "durov 50", (*paymentRig).boughtOnce}
	}

	for _, s := range lifeOfRefund {
		s.name = "refund: " + s.name
		losses <- loss{s, "no order at all", (*paymentRig).givenBackOnce}
	}

	close(losses)
	var working sync.WaitGroup
	for i := range ordersAtOnce {
		working.Go(func() {
			l := newPaymentRig(t, temporal, fmt.Sprintf("till-%d", i))
			worker := l.startWorker()
			for loss := range losses {
				t.Run(loss.name, func(t *testing.T) {
					part := l.in(t)
					release := part.hold(loss.step)
					hash := part.deposit(loss.comment)
					part.caught(loss.step)
					worker.kill()
					killed := time.Now()
					release()
					worker = l.startWorker() // outlives this part
					loss.check(part, hash)
					part.balances()
					t.Logf("%s after the kill", time.Since(killed).Round(time.Millisecond))
				})
			}
		})
	}

	working.Wait()
}

// boughtOnce waits until an order is processed, and checks that it has one payment.
func (l *paymentRig) boughtOnce(hash string) {
	l.Helper()
	got := l.becomes(hash, lifecycle.TransactionProcessed)
	payments, states := l.payments(hash)
	if states != "purchase paid" || got.Attempt != 1 || got.NeedsReview {
		l.Fatalf("payments %s, %+v", states, got)
	}

	purchase, sold := l.sold()[payments[0].ChainHash]
	if !sold || purchase.Stars != 50 || purchase.Username != "durov" || got.FragmentTransactionHash != payments[0].ChainHash {
		l.Errorf("sold %t: %+v, the record has %+v", sold, purchase, got)
	}

	l.sent(1)
}

// givenBackOnce waits until an order has failed and its sender has been refunded, by one payment.
func (l *paymentRig) givenBackOnce(hash string) {
	l.Helper()
	got := l.becomes(hash, lifecycle.TransactionFailed)
	if got.ErrorMessage != "Invalid comment format" || got.ErrorClass != lifecycle.NonRetryable {
		l.Errorf("failed %q, %s", got.ErrorMessage, got.ErrorClass)
	}

	var payments []transaction.Payment
	wait.Eventually(l, "the sender has it", func() bool {
		payments, _ = l.payments(hash)
		return len(payments) > 0 && payments[0].KeptAt != nil
	})
	if p := payments[0]; len(payments) != 1 || p.Kind != transaction.Refund || p.Destination != got.Sender || l.find(hash).RefundDueNano != 0 {
		l.Errorf("%+v", payments)
	}

	l.sent(1)
}

// sent checks how many payments the chain has executed since its last call.
func (l *paymentRig) sent(want int) {
	l.Helper()
	now := l.outgoing()
	if got := now - *l.before; got != want {
		l.Errorf("the wallet paid %d times, want %d", got, want)
	}
	*l.before = now
}

// hold makes a worker wait at a step. release disables the step.
func (l *paymentRig) hold(s step) (release func()) {
	l.Helper()
	fault := sim.Fault{Match: s.chain + s.shop, Kind: "timeout", Applied: s.applied, Times: 1}
	switch {
	case s.chain != "":
		l.chain.AddFault(fault)
		return l.chain.ClearFaults
	case s.shop != "":
		l.fragment.AddFault(fault)
		return l.fragment.ClearFaults
	}

	table := s.on[strings.LastIndex(s.on, " ")+1:]
	when := ""
	if s.when != "" {
		when = "WHEN (" + s.when + ")"
	}

	l.exec(`SELECT pg_advisory_lock(1)`)
	l.exec(
		`CREATE OR REPLACE FUNCTION wait_here() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END'`,
	)
	l.exec(`CREATE TRIGGER wait_here BEFORE ` + s.on + ` FOR EACH ROW ` + when + ` EXECUTE FUNCTION wait_here()`)
	// the dead worker's open transaction is rolled back, as PostgreSQL does when it notices the closed connection
	return func() {
		l.exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE ` + waiting)
		l.exec(`SELECT pg_advisory_unlock(1)`)
		l.exec(`DROP TRIGGER wait_here ON ` + table)
	}
}

// waiting finds the sessions of this database that wait for the lock of hold.
const waiting = `locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// caught waits until a worker waits at a step.
func (l *paymentRig) caught(s step) {
	l.Helper()
	held := func(requests []sim.Request) bool {
		return slices.ContainsFunc(requests, func(r sim.Request) bool { return r.Fault == "timeout" && !r.Done })
	}

	wait.Eventually(l, "the worker comes to: "+s.name, func() (there bool) {
		switch {
		case s.chain != "":
			return held(l.chain.Requests())
		case s.shop != "":
			return held(l.fragment.Requests())
		}
		err := l.database.QueryRow(l.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE `+waiting+`)`).Scan(&there)
		return err == nil && there
	})
}

func (l *paymentRig) exec(sql string) {
	l.Helper()
	_, err := l.database.Exec(l.Context(), sql)
	must(l, err)
}
