package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

const (
	coin int64 = 1_000_000_000 // nanoTON
	gas        = coin / 100
	fee        = coin / 1000
)

var (
	serials atomic.Int64
	shop    = address("shop")
)

func digest(of ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(of...)))
	return hex.EncodeToString(sum[:])
}

func address(name string) string { return "0:" + digest("address", name) }

// chain is a wallet on the blockchain: an order is executed once, in its turn, before its expiry.
type chain struct {
	wallet  string
	now     time.Time
	balance int64
	seqno   int64
	history []transaction.ChainTransaction
}

func (c *chain) happens(t transaction.ChainTransaction) transaction.ChainTransaction {
	c.now = c.now.Add(time.Second)
	t.LT, t.At, t.Hash = int64(len(c.history)+1)*10, c.now, digest("chain", c.wallet, len(c.history))
	if len(c.history) > 0 {
		last := c.history[len(c.history)-1]
		t.PrevLT, t.PrevHash = last.LT, last.Hash
	}

	t.In.Hash = digest("message", t.Hash)
	t.FeeNano = min(t.FeeNano, c.balance+t.In.Nano)
	c.balance += t.In.Nano - t.FeeNano
	for i := range t.Out {
		t.Out[i].Hash = digest("out", t.Hash, i)
		c.balance -= t.Out[i].Nano
	}

	c.history = append(c.history, t)
	return t
}

func (c *chain) incoming(source string, nano int64, deposit bool) transaction.ChainTransaction {
	return c.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{Source: source, Nano: nano}, Deposit: deposit,
		Comment: "durov 50", Username: "durov", Stars: 50,
	})
}

func (c *chain) bounce(source string, nano int64) {
	c.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, In: transaction.InMessage{Source: source, Nano: nano, Bounced: true}, FeeNano: fee,
	})
}

// accept executes a payment's message as the wallet's contract would; false: it refuses. It skips what it cannot
// afford.
func (c *chain) accept(p transaction.Payment) bool {
	if p.Seqno != c.seqno || !c.now.Add(time.Second).Before(p.ValidUntil) {
		return false
	}

	c.seqno++
	t := transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: p.HashNorm},
	}
	if c.balance-fee < p.AmountNano {
		t.SkippedActions++
	} else {
		t.Out = []transaction.OutMessage{{Destination: p.Destination, Nano: p.AmountNano, BodyHash: p.BodyHash}}
	}

	c.happens(t)
	return true
}

// bank is a wallet on such a chain, and its record.
type bank struct {
	*rig
	*chain
}

func newBank(t *testing.T) *bank {
	t.Helper()
	return newRig(t).bank()
}

func (w *rig) bank() *bank {
	w.t.Helper()
	b := &bank{w, &chain{wallet: address(fmt.Sprint("wallet", serials.Add(1))), now: time.Now().Truncate(time.Second)}}
	_, err := b.Transactions.OpenWallet(w.t.Context(), b.wallet, transaction.WalletStart{})
	b.must(err)
	return b
}

// scan reads everything that has happened, to the end of the chain.
func (b *bank) scan() transaction.Ingested {
	b.t.Helper()
	brought, err := b.Transactions.IngestChain(b.t.Context(), b.wallet, b.after(0), b.now)
	b.must(err)
	return brought
}

// after returns the history from the cursor on, with up to overlap transactions before it.
func (b *bank) after(overlap int) []transaction.ChainTransaction {
	b.t.Helper()
	wallet, err := b.Transactions.WalletByAddress(b.t.Context(), b.wallet)
	b.must(err)
	first := len(b.history)

	for i, t := range b.history {
		if t.LT > wallet.CursorLT {
			first = i
			break
		}
	}
	return slices.Clone(b.history[max(0, first-overlap):])
}

// deposit makes a pending transaction.
func (b *bank) deposit(sender string, nano int64) string {
	b.t.Helper()
	hash := b.incoming(address(sender), nano, true).Hash
	b.scan()
	return hash
}

// ordered makes a transaction that an attempt has begun to buy, priced one coin below the deposit.
func (b *bank) ordered(sender string, nano int64) string {
	b.t.Helper()
	hash := b.deposit(sender, nano)
	b.quoted(hash, nano-coin)
	return hash
}

// quoted begins to buy a transaction at a price.
func (b *bank) quoted(hash string, price int64) {
	b.t.Helper()
	b.passMinute()
	b.must(second(b.begin(b.beginning(hash, price))))
}

// claimed is the claim of a transaction's recorded attempt.
func (b *bank) claimed(hash string) transaction.Claim {
	b.t.Helper()
	t := b.tx(hash)
	return transaction.Claim{Hash: hash, Attempt: t.Attempt, TakenBy: t.TakenBy}
}

// beginning is the next attempt to buy a transaction, after reading the gate.
func (b *bank) beginning(hash string, price int64) transaction.Beginning {
	b.t.Helper()
	return transaction.Beginning{
		Claim: b.claimed(hash), By: fmt.Sprint("attempt ", serials.Add(1)), Seqno: uint32(b.seqno), LT: b.history[len(b.history)-1].LT,
		Quote: transaction.Quote{Username: "durov", Stars: 50, PriceNano: price, Recipient: "r"},
	}
}

// begin makes an attempt's first write, and returns the order of its payment.
func (b *bank) begin(beginning transaction.Beginning) (transaction.PaymentOrder, error) {
	b.t.Helper()
	snapshot, number, err := b.Transactions.Begin(b.t.Context(), beginning)
	claim := transaction.Claim{Hash: beginning.Hash, Attempt: snapshot.Attempt, TakenBy: beginning.By}
	return transaction.PaymentOrder{
		Claim: claim, Kind: transaction.Purchase, Destination: shop, AmountNano: beginning.Quote.PriceNano, GasNano: gas,
		ChainSeqno: beginning.Seqno, ChainLT: beginning.LT, BodyHash: digest("body", beginning.Hash), RequestNumber: number,
	}, err
}

// passMinute lets the time pass in which a request excludes others.
func (b *bank) passMinute() {
	b.t.Helper()
	b.exec(`UPDATE ton_wallets SET requested_at = requested_at - interval '1 minute' WHERE address = $1`, b.wallet)
}

func (b *bank) ok(snapshot transaction.Snapshot, err error) transaction.Snapshot {
	b.t.Helper()
	b.must(err)
	return snapshot
}

// want is a transaction's payment order as recorded; a purchase's is that of a new attempt.
func (b *bank) want(hash string, kind transaction.PaymentKind) transaction.PaymentOrder {
	b.t.Helper()
	t := b.tx(hash)
	if kind == transaction.Purchase {
		b.passMinute()
		order, err := b.begin(b.beginning(hash, t.QuoteNano))
		b.must(err)
		return order
	}
	return transaction.PaymentOrder{
		Claim: transaction.Claim{Hash: hash}, Kind: kind, Destination: t.Sender, AmountNano: t.RefundDueNano - gas, GasNano: gas,
		ChainSeqno: uint32(b.seqno), ChainLT: b.history[len(b.history)-1].LT, BodyHash: digest("body", hash),
	}
}

func (b *bank) sign(order transaction.PaymentOrder, limits transaction.Limits) (transaction.Payment, error) {
	return b.Transactions.SignPayment(b.t.Context(), order, limits, b.pen(order))
}

// pen signs for the next minute of the chain. The same order never gets the same bytes twice.
func (b *bank) pen(order transaction.PaymentOrder) transaction.SignFunc {
	until := b.now.Add(time.Minute)
	return func(seqno uint32) (transaction.Signed, error) {
		hash := digest("signed", b.wallet, order, seqno, serials.Add(1))
		return transaction.Signed{BoC: []byte(hash), HashNorm: hash, ValidUntil: until}, nil
	}
}

// signed takes a transaction in processing to its signature.
func (b *bank) signed(hash string, kind transaction.PaymentKind) transaction.Payment {
	b.t.Helper()
	payment, err := b.sign(b.want(hash, kind), transaction.Limits{})
	b.must(err)
	return payment
}

// paid takes a transaction in processing to a purchase on the chain.
func (b *bank) paid(hash string) transaction.Payment {
	b.t.Helper()
	payment := b.signed(hash, transaction.Purchase)
	if !b.accept(payment) {
		b.t.Fatal("the contract refuses the payment")
	}
	b.scan()
	return b.payment(payment.ID)
}

// bought completes a transaction in processing, releasing the wallet.
func (b *bank) bought(hash string) transaction.Payment {
	b.t.Helper()
	payment := b.paid(hash)
	b.through(payment)
	return payment
}

// through ends a transaction whose purchase is paid.
func (b *bank) through(p transaction.Payment) {
	b.t.Helper()
	b.settle(p, transaction.Destination{Kept: true})
	if snapshot := b.ok(b.Transactions.Finish(b.t.Context(), p.TransactionHash, p.Attempt, true)); snapshot.State != lifecycle.TransactionProcessed {
		b.t.Errorf("%+v", snapshot)
	}
}

func (b *bank) payment(id int64) transaction.Payment {
	b.t.Helper()
	payment, err := b.Transactions.PaymentByID(b.t.Context(), id)
	b.must(err)
	return payment
}

func (b *bank) tx(hash string) transaction.Transaction {
	b.t.Helper()
	t, err := b.Transactions.ByHash(b.t.Context(), hash)
	b.must(err)
	return t
}

func (b *bank) settle(p transaction.Payment, d transaction.Destination) transaction.PaymentRef {
	b.t.Helper()
	ref, err := b.Transactions.SettleDestination(b.t.Context(), p, d)
	b.must(err)
	return ref
}

func (b *bank) fail(hash, message string, class lifecycle.ErrorClass, refund bool) transaction.Snapshot {
	b.t.Helper()
	return b.ok(b.Transactions.Fail(
		b.t.Context(), transaction.Failure{Claim: b.claimed(hash), Message: message, Class: class, Refund: refund},
	))
}

// expire advances the chain until nothing currently signed is valid.
func (b *bank) expire() transaction.Ingested {
	b.t.Helper()
	b.now = b.now.Add(2 * time.Minute)
	return b.scan()
}

// refused checks the code of a refusal.
func (b *bank) refused(err error, code fault.Code) {
	b.t.Helper()
	if fault.CodeOf(err) != code {
		b.t.Errorf("got %v, want %s", err, code)
	}
}

// events returns the types of a transaction's events, and checks that each follows the previous one.
func (b *bank) events(hash string) (types []string) {
	b.t.Helper()
	events, err := b.Transactions.EventsOf(b.t.Context(), hash)
	b.must(err)
	state := ""

	for i, event := range events {
		if event.Seq != int64(i+1) || event.From != state {
			b.t.Errorf("event %d: %+v follows %q", i, event, state)
		}
		state = event.To
		types = append(types, event.Type)
	}

	if t := b.tx(hash); state != string(t.State) || t.RowVersion != int64(len(events)) {
		b.t.Errorf("%s, version %d after %v", t.State, t.RowVersion, types)
	}
	return types
}

// balanced compares the ledger with the chain, with the rest of the record, and with a naive count of both.
func (b *bank) balanced() map[transaction.Account]int64 {
	b.t.Helper()
	balances, err := b.balances()
	if err != nil {
		b.t.Fatal(err)
	}
	return balances
}

func (b *bank) balances() (map[transaction.Account]int64, error) {
	ctx := b.t.Context()
	listed, err := b.Transactions.LedgerBalances(ctx, b.wallet)
	if err != nil {
		return nil, err
	}

	differences, err := b.Transactions.LedgerCheck(ctx, b.wallet)
	if err != nil || len(differences) > 0 {
		return nil, errors.Join(err, fmt.Errorf("differences %+v", differences))
	}

	balances, sum := map[transaction.Account]int64{}, int64(0)
	for _, balance := range listed {
		balances[balance.Account] = balance.BalanceNano
		sum += balance.BalanceNano
	}

	if sum != 0 || len(balances) != len(transaction.Accounts) {
		return nil, fmt.Errorf("the accounts sum to %d: %v", sum, balances)
	}
	return balances, nil
}
