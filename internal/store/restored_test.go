package store_test

import (
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
)

// pays makes the wallet execute a payment missing from the record: it was signed after the moment to which the record
// was restored.
func (b *bank) pays(to string, nano int64) transaction.ChainTransaction {
	b.seqno++
	return b.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee,
		In:  transaction.InMessage{HashNorm: digest("lost", b.wallet, len(b.history))},
		Out: []transaction.OutMessage{{Destination: to, Nano: nano, BodyHash: digest("body")}},
	})
}

// TestLostPayments reads payments from the chain that the record has lost: nothing they may have been for is paid again
// until a person has reviewed it.
func TestLostPayments(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBank(t)
	b.bought(b.ordered("before", 3*coin))
	refused := b.ordered("refused", 3*coin)
	b.fail(refused, "Invalid username", lifecycle.NonRetryable, false)
	failed := b.ordered("failed", 3*coin)
	b.fail(failed, "Authorization failed: Session expired", lifecycle.Retryable, false)
	waiting := b.ordered("waiting", 3*coin)

	fresh := b.deposit("fresh", 3*coin)

	order := b.want(waiting, transaction.Purchase)
	first, second := b.pays(shop, 2*coin), b.pays(shop, coin)
	order.ChainSeqno, order.ChainLT = uint32(b.seqno), second.LT
	_, err := b.sign(order, transaction.Limits{})
	b.refused(err, fault.PaymentsHeld) // the record is behind
	brought := b.scan()
	if want := []string{failed, waiting, fresh}; !slices.Equal(brought.Lost, want) {
		t.Errorf("a person has to look at %v, want %v", brought.Lost, want)
	}
	if _, err := b.sign(order, transaction.Limits{}); err == nil {
		t.Error("it was paid for again")
	}
	if again := b.scan(); len(again.Lost) != 0 {
		t.Errorf("asked again about %v", again.Lost)
	}

	b.bought(b.ordered("later", 3*coin)) // later orders were not paid by those

	resolve := func(hash string, outcome lifecycle.TransactionState, payment string) (transaction.Snapshot, error) {
		return b.Transactions.Resolve(
			ctx, transaction.Request{Hash: hash, Attempt: b.tx(hash).Attempt, Payment: payment}, outcome,
			"nothing was bought",
		)
	}

	for _, wrong := range []string{"", digest("nothing"), b.history[0].Hash} {
		_, err := resolve(waiting, lifecycle.TransactionProcessed, wrong)
		b.refused(err, fault.Validation)
	}

	snapshot := b.ok(resolve(waiting, lifecycle.TransactionProcessed, first.Hash))
	if got := b.tx(waiting); snapshot.State != lifecycle.TransactionProcessed || got.FragmentTransactionHash != first.Hash || got.NeedsReview {
		t.Errorf("%+v", got)
	}

	b.balanced()
	_, err = resolve(fresh, lifecycle.TransactionProcessed, first.Hash)
	b.refused(err, fault.Validation) // it belongs to the other one
	snapshot = b.ok(resolve(fresh, lifecycle.TransactionFailed, ""))
	if snapshot.ErrorClass != lifecycle.UnknownError || snapshot.NeedsReview {
		t.Errorf("%+v", snapshot)
	}

	b.ok(b.Transactions.Retry(ctx, transaction.Request{Hash: fresh, Attempt: snapshot.Attempt}))
	b.quoted(fresh, 2*coin)
	payment := b.bought(fresh)
	if payment.Seqno != 4 {
		t.Errorf("signed with seqno %d, want 4: two were paid before, two were lost, one came later", payment.Seqno)
	}

	balances := b.balanced()
	if balances[transaction.AccountOther] < second.Out[0].Nano {
		t.Errorf("the second one is nobody's, but %v", balances)
	}
}

// TestRelayedPayment lets the owner pay with the wallet's key and someone else's gas: the order comes inside a
// relayer's message, which uses up a number and is not external. Nothing is signed until it is read, and then with the
// chain's number.
func TestRelayedPayment(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)

	b.seqno++
	b.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{Source: address("relayer"), Nano: coin / 10},
		Out: []transaction.OutMessage{{Destination: address("owner"), Nano: coin / 20, BodyHash: digest("body")}},
	})
	b.refused(second(b.begin(b.beginning(hash, 2*coin))), fault.PaymentsHeld)
	if brought := b.scan(); len(brought.Lost) != 0 {
		t.Errorf("a person has to look at %v, and we sign nothing that is relayed", brought.Lost)
	}

	payment := b.bought(hash)
	if payment.Seqno != b.seqno-1 {
		t.Errorf("signed with seqno %d", payment.Seqno)
	}

	b.balanced()
}

// TestAfterRestore assigns no number twice, sends no notification again, and finds events whose server numbered its
// transactions differently.
func TestAfterRestore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newRig(t)
	user := w.user(1)
	job := w.job(user)
	w.exec(`UPDATE events SET xid = '900000000'`)
	w.exec(`UPDATE notice_cursor SET xid = '900000000'`)
	w.exec(`INSERT INTO news (user_id, workload, entity_id, seq, due_at) VALUES ($1, 'task', '1', 1, now())`, user.ID)
	for range 2 {
		w.must(w.Operations.AfterRestore(ctx))
	}

	if next := w.job(user); next.ID < job.ID+1_000_000 {
		t.Errorf("job %d after job %d: its number may have been another one's", next.ID, job.ID)
	}

	boards, err := w.Notices.ClaimLiveMessages(ctx, 10, time.Minute)
	if err != nil || len(boards) != 1 {
		t.Errorf("%+v, %v: want the board of the new job only", boards, err)
	}
	if n := w.count("news WHERE state = 'due'"); n != 0 {
		t.Errorf("%d news would be told again", n)
	}

	events := w.after(core.Cursor{})
	if len(events) != 2 || events[0].EntityID == events[1].EntityID {
		t.Errorf("the stream has %+v, want both jobs", events)
	}
}
