package store_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
)

// TestGoodTransaction buys Stars for a known user, and checks the ledger at each step.
func TestGoodTransaction(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	user := b.user(7)
	b.must(b.Accounts.SaveUsername(t.Context(), user.ID, "@Durov"))

	hash := b.deposit("ann", 3*coin)
	if got := b.tx(hash); got.State != lifecycle.TransactionPending || got.AmountNano != 3*coin || got.Sender != address("ann") || got.Comment != "durov 50" {
		t.Errorf("%+v", got)
	}

	b.quoted(hash, 2*coin)
	snapshot := b.ok(b.Transactions.SnapshotOf(t.Context(), hash))
	if snapshot.State != lifecycle.TransactionProcessing || snapshot.Attempt != 1 || !snapshot.Quoted || *snapshot.UserID != user.ID {
		t.Errorf("%+v", snapshot)
	}

	payment := b.signed(hash, transaction.Purchase)
	if got := b.balanced(); got[transaction.AccountReserved] != -2*coin-gas || got[transaction.AccountReceived] != -coin+gas {
		t.Errorf("%v", got)
	}

	b.must(b.Transactions.MarkPaymentSent(t.Context(), payment.ID))
	b.accept(payment)
	brought := b.scan()
	if len(brought.Settled) != 1 || brought.Settled[0] != payment.ID {
		t.Errorf("%+v", brought)
	}
	if ref := b.settle(payment, transaction.Destination{Kept: true}); !ref.Kept || ref.State != transaction.PaymentPaid {
		t.Errorf("%+v", ref)
	}

	b.ok(b.Transactions.Finish(t.Context(), hash, 1, true))
	got := b.tx(hash)
	if got.State != lifecycle.TransactionProcessed || got.FragmentTransactionHash != b.history[1].Hash || got.Stars != 50 || got.Username != "durov" {
		t.Errorf("%+v", got)
	}

	money := b.balanced()
	if money[transaction.AccountWallet] != b.balance || money[transaction.AccountPaid] != 2*coin || money[transaction.AccountGas] != 2*fee || money[transaction.AccountReceived] != -3*coin {
		t.Errorf("%v, and the chain says %d", money, b.balance)
	}

	want := []string{"detected", "locked", "payment_signed", "payment_paid", "payment_kept", "processed"}
	if events := b.events(hash); !slices.Equal(events, want) {
		t.Errorf("%v", events)
	}

	events, err := b.Transactions.EventsOf(t.Context(), hash)
	b.must(err)
	for _, event := range events {
		// the transfer itself is detected without an owner
		if known := event.OwnerID != nil && *event.OwnerID == user.ID; known != (event.Seq > 1) {
			t.Errorf("%+v", event)
		}
	}

	if purchases, err := b.Transactions.Purchases(t.Context(), b.wallet, 0, 10); err != nil || len(purchases) != 1 || purchases[0].ChainHash != got.FragmentTransactionHash {
		t.Errorf("%+v, %v", purchases, err)
	}
}

// TestWritesRepeat does each write twice: the second changes nothing and gives the same answer.
func TestWritesRepeat(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	admin := b.user(1)
	twice := func(name, hash string, write func() (transaction.Snapshot, error)) {
		t.Helper()
		first := b.ok(write())
		before := b.tx(hash)
		second := b.ok(write())
		if after := b.tx(hash); after.RowVersion != before.RowVersion || after.State != before.State || first.State != second.State || first.Attempt != second.Attempt {
			t.Errorf("%s: %+v, then %+v", name, first, second)
		}
	}

	good := b.deposit("ann", 3*coin)
	b.quoted(good, 2*coin)
	payment := b.paid(good)
	twice("kept", good, func() (transaction.Snapshot, error) {
		b.settle(payment, transaction.Destination{Kept: true})
		return b.Transactions.SnapshotOf(ctx, good)
	})
	twice("finish", good, func() (transaction.Snapshot, error) { return b.Transactions.Finish(ctx, good, 1, true) })
	twice("fail what is processed", good, func() (transaction.Snapshot, error) {
		return b.Transactions.Fail(ctx, transaction.Failure{Claim: b.claimed(good), Message: "m", Class: lifecycle.UnknownError})
	})

	bad := b.ordered("bob", 3*coin)
	failure := transaction.Failure{
		Claim: b.claimed(bad), Message: "Failed to fetch: Network error", Class: lifecycle.Retryable,
		Retry: transaction.RetryPolicy{For: time.Hour, Pause: time.Minute},
	}
	twice("fail", bad, func() (transaction.Snapshot, error) { return b.Transactions.Fail(ctx, failure) })
	again := transaction.Request{Hash: bad, Attempt: 1, ActorID: &admin.ID, Comment: "again", RequestID: "once"}
	twice("retry", bad, func() (transaction.Snapshot, error) { return b.Transactions.Retry(ctx, again) })
	if got := b.tx(bad); got.State != lifecycle.TransactionProcessing || got.Attempt != 2 || got.ErrorMessage != "" {
		t.Errorf("%+v", got)
	}

	twice(
		"a late failure of the attempt before", bad,
		func() (transaction.Snapshot, error) { return b.Transactions.Fail(ctx, failure) },
	)
	if b.tx(bad).State != lifecycle.TransactionProcessing {
		t.Error("a late failure ended the attempt after it")
	}

	b.quoted(bad, 2*coin)
	twice("stuck", bad, func() (transaction.Snapshot, error) {
		if later, err := b.Transactions.MarkStuck(ctx, bad, 0); err != nil || later != 0 {
			t.Errorf("%v, %v", later, err)
		}
		return b.Transactions.SnapshotOf(ctx, bad)
	})

	twice("review", bad, func() (transaction.Snapshot, error) { return b.Transactions.Review(ctx, bad, 2, "r") })
	resolve := transaction.Request{Hash: bad, Attempt: 2, ActorID: &admin.ID, Comment: "no", RequestID: "decided"}
	twice("resolve", bad, func() (transaction.Snapshot, error) {
		return b.Transactions.Resolve(ctx, resolve, lifecycle.TransactionFailed, "Resolved")
	})
	want := []string{"detected", "locked", "failed", "retried", "stuck", "needs_review", "resolved"}
	if events := b.events(bad); !slices.Equal(events, want) {
		t.Errorf("%v", events)
	}

	b.balanced()
}

// TestAnswersOfTransactions stores the answer to a keyed request with its effect, and no answer to any other.
func TestAnswersOfTransactions(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	admin, err := b.Accounts.CreateUser(ctx, account.User{Name: "admin", Role: account.RoleAdmin, Status: account.UserActive}, "")
	b.must(err)
	hash := b.ordered("ann", 3*coin)
	answered := func(asked core.Request) *transaction.Transaction {
		t.Helper()
		var answer transaction.TransactionAnswer
		_, err := b.Answers.Answered(ctx, asked, &answer)
		b.must(err)
		return answer.Transaction
	}

	for attempt, c := range []struct {
		id, key string
		actor   *int64
		kept    bool
	}{
		{transaction.TransactionAsked(admin.ID, "a", "", "", "", "", "").ID(), "a", &admin.ID, true},
		{transaction.TransactionAsked(admin.ID, "b", "", "", "", "", "").ID(), "b", nil, false}, // the name is someone else's
		{"by hand", "c", &admin.ID, false},
	} {
		b.fail(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
		b.ok(b.Transactions.Retry(
			ctx, transaction.Request{Hash: hash, Attempt: attempt + 1, ActorID: c.actor, Comment: "again", RequestID: c.id},
		))
		kept := answered(transaction.TransactionAsked(admin.ID, c.key, lifecycle.TransactionActionRetry, hash, "", "", "again"))
		if (kept != nil) != c.kept || kept != nil && (kept.Attempt != attempt+2 || !kept.UpdatedAt.Equal(b.tx(hash).UpdatedAt) || kept.RowVersion != b.tx(hash).RowVersion) {
			t.Errorf("%s: %+v, the record has %+v", c.id, kept, b.tx(hash))
		}
	}

	b.ok(b.Transactions.Review(ctx, hash, 4, "m"))
	b.ok(b.Transactions.Resolve(ctx, transaction.Request{
		Hash: hash, Attempt: 4, ActorID: &admin.ID, Comment: "no",
		RequestID: transaction.TransactionAsked(admin.ID, "d", "", "", "", "", "").ID(),
	}, lifecycle.TransactionFailed, "m"))
	if kept := answered(transaction.TransactionAsked(admin.ID, "d", lifecycle.TransactionActionResolve, hash, lifecycle.TransactionFailed, "", "no")); kept == nil || kept.State != lifecycle.TransactionFailed {
		t.Errorf("%+v", kept)
	}
}

// TestRefusals requests what must not happen.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	request := func(hash string, attempt int) transaction.Request {
		return transaction.Request{Hash: hash, Attempt: attempt}
	}

	_, _, err := b.Transactions.Begin(ctx, transaction.Beginning{Claim: transaction.Claim{Hash: digest("nobody")}})
	b.refused(err, fault.TransactionNotFound)
	_, err = b.Transactions.Gate(ctx, digest("nobody"))
	b.refused(err, fault.TransactionNotFound)
	_, err = b.Transactions.PaymentByID(ctx, 1)
	b.refused(err, fault.NotFound)

	pending := b.deposit("ann", 3*coin)
	_, err = b.Transactions.Retry(ctx, request(pending, 0))
	b.refused(err, fault.InvalidTransition)
	_, err = b.Transactions.Resolve(ctx, request(pending, 0), lifecycle.TransactionFailed, "m")
	b.refused(err, fault.InvalidTransition)

	b.quoted(pending, 2*coin)
	_, err = b.Transactions.Finish(ctx, pending, 1, true) // nothing bought
	b.refused(err, fault.InvalidTransition)
	_, err = b.Transactions.Resolve(ctx, request(pending, 1), lifecycle.TransactionPending, "m")
	b.refused(err, fault.Validation)

	payment := b.signed(pending, transaction.Purchase)
	undecided := func(when string) {
		t.Helper()
		_, err := b.Transactions.Finish(ctx, pending, 1, true)
		b.refused(err, fault.PaymentUndecided)
		_, err = b.Transactions.Fail(ctx, transaction.Failure{Claim: b.claimed(pending), Message: "m", Class: lifecycle.UnknownError})
		b.refused(err, fault.PaymentUndecided)
		if t.Failed() {
			t.Fatal(when)
		}
	}

	undecided("signed")
	_, err = b.Transactions.SettleDestination(ctx, payment, transaction.Destination{Kept: true})
	b.refused(err, fault.PaymentUndecided)
	b.ok(b.Transactions.Review(ctx, pending, 1, "r"))
	_, err = b.Transactions.Resolve(ctx, request(pending, 1), lifecycle.TransactionFailed, "m")
	b.refused(err, fault.PaymentUndecided)

	b.accept(payment)
	b.scan()
	undecided("paid, and nobody knows whether it was kept")
	b.settle(payment, transaction.Destination{Kept: true})
	_, err = b.Transactions.SettleDestination(ctx, payment, transaction.Destination{ReturnedNano: coin})
	b.refused(err, fault.InvalidTransition)
	_, err = b.Transactions.Resolve(ctx, request(pending, 2), lifecycle.TransactionFailed, "m")
	b.refused(err, fault.InvalidTransition)
	b.ok(b.Transactions.Resolve(ctx, request(pending, 1), lifecycle.TransactionProcessed, ""))
	_, err = b.Transactions.Resolve(ctx, request(pending, 1), lifecycle.TransactionFailed, "m")
	b.refused(err, fault.InvalidTransition)
	_, err = b.Transactions.Retry(ctx, request(pending, 1))
	b.refused(err, fault.InvalidTransition)
	if got := b.tx(pending); got.State != lifecycle.TransactionProcessed || got.FragmentTransactionHash != b.payment(payment.ID).ChainHash || got.NeedsReview {
		t.Errorf("%+v", got)
	}

	hopeless := b.ordered("bob", 3*coin)
	b.fail(hopeless, "Username not found", lifecycle.NonRetryable, false)
	_, err = b.Transactions.Retry(ctx, request(hopeless, 1))
	b.refused(err, fault.InvalidTransition)
	if b.tx(hopeless).RefundDueNano != 0 {
		t.Error("a refund that nobody asked for")
	}

	unbought := b.ordered("cid", 3*coin)
	b.ok(b.Transactions.Review(ctx, unbought, 1, "r"))
	_, err = b.Transactions.Resolve(ctx, request(unbought, 1), lifecycle.TransactionProcessed, "")
	b.refused(err, fault.InvalidTransition)
	b.balanced()
}

// TestLockRace begins to buy one transaction concurrently, by callers that have all seen the same.
func TestLockRace(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.deposit("ann", coin)
	beginning, begun := b.beginning(hash, coin/2), atomic.Int64{}
	var all sync.WaitGroup

	for range 8 {
		all.Go(func() {
			switch snapshot, number, err := b.Transactions.Begin(t.Context(), beginning); {
			case err == nil && snapshot.Attempt == 1 && number == 1:
				begun.Add(1)
			default:
				b.refused(err, fault.NoTurn)
			}
		})
	}

	all.Wait()
	if events := b.events(hash); len(events) != 2 || begun.Load() != 1 {
		t.Errorf("begun %d times: %v", begun.Load(), events)
	}
}

// TestLiveTransactions finds what a workflow must drive.
func TestLiveTransactions(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	var hashes []string
	for _, sender := range []string{"a", "b", "c", "d", "e"} {
		hashes = append(hashes, b.deposit(sender, 3*coin))
	}

	b.quoted(hashes[1], coin)
	b.quoted(hashes[2], coin)
	b.fail(hashes[2], "Failed to fetch: Network error", lifecycle.Retryable, false)
	b.quoted(hashes[3], coin)
	b.fail(hashes[3], "Username not found", lifecycle.NonRetryable, true)
	b.quoted(hashes[4], coin)
	b.ok(b.Transactions.Review(ctx, hashes[4], 1, "r"))
	live := func() (found []int) {
		rows, err := b.Transactions.Live(ctx, 0, 0, 10)
		b.must(err)
		for _, row := range rows {
			found = append(found, slices.Index(hashes, row.Hash))
		}
		return found
	}
	if got := live(); !slices.Equal(got, []int{0, 1, 3, 4}) {
		t.Errorf("live: %v", got)
	}

	refund := b.signed(hashes[3], transaction.Refund)
	if got := live(); !slices.Contains(got, 3) {
		t.Errorf("a refund under way is not live: %v", got)
	}

	b.accept(refund)
	b.scan()
	if got := live(); !slices.Contains(got, 3) {
		t.Errorf("a refund that may bounce is not live: %v", got)
	}

	b.settle(refund, transaction.Destination{Kept: true})
	if got := live(); slices.Contains(got, 3) {
		t.Errorf("a refund that was kept is live: %v", got)
	}
}

// TestUsernames moves a name from one user to another, concurrently.
func TestUsernames(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ctx := t.Context()
	ann, bob := w.user(1), w.user(2)
	if ann.Username != "" {
		t.Errorf("%+v", ann)
	}

	w.must(w.Accounts.SaveUsername(ctx, ann.ID, "Durov"))
	w.must(w.Accounts.SaveUsername(ctx, bob.ID, "durov"))
	if got, err := w.Accounts.UserByUsername(ctx, "@DUROV"); err != nil || got.ID != bob.ID || got.Username != "durov" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := w.Accounts.UserByID(ctx, ann.ID); err != nil || got.Username != "" {
		t.Errorf("%+v, %v", got, err)
	}

	w.must(w.Accounts.SaveUsername(ctx, bob.ID, ""))
	_, err := w.Accounts.UserByUsername(ctx, "durov")
	if fault.CodeOf(err) != fault.UserNotFound {
		t.Error(err)
	}
	if _, err := w.Accounts.UserByUsername(ctx, ""); fault.CodeOf(err) != fault.UserNotFound {
		t.Error(err)
	}

	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			names := []string{"x", "y"}
			if err := w.Accounts.SaveUsername(ctx, ann.ID, names[i%2]); err != nil {
				t.Error(err)
			}
			if err := w.Accounts.SaveUsername(ctx, bob.ID, names[(i+1)%2]); err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
}
