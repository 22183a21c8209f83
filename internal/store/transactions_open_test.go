package store_test

import (
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestTheLineDecidesWhatNeedsNoWallet ends orders of each kind during a pause, twice: the table's steps are one change,
// and the second call finds it. Executable orders stay in the queue.
func TestTheLineDecidesWhatNeedsNoWallet(t *testing.T) {
	t.Parallel()
	unfit := &transaction.Failure{Message: "Invalid comment format", Class: lifecycle.NonRetryable, Refund: true}
	few := &transaction.Failure{Message: "Stars amount should be at least 50", Class: lifecycle.NonRetryable}
	large := transaction.Limits{ReviewFrom: 4 * coin}
	for name, c := range map[string]struct {
		nano    int64
		failure *transaction.Failure
		limits  transaction.Limits
		events  string
		state   lifecycle.TransactionState
		reason  string
		due     int64
	}{
		"fits":                {4 * coin, nil, large, "detected", lifecycle.TransactionPending, "", 0},
		"unreadable":          {coin, unfit, large, "detected locked failed", lifecycle.TransactionFailed, "", coin},
		"unreadable, large":   {5 * coin, unfit, large, "detected locked failed", lifecycle.TransactionFailed, "", 5 * coin},
		"too few":             {coin, few, large, "detected locked failed", lifecycle.TransactionFailed, "", 0},
		"large":               {5 * coin, nil, large, "detected locked needs_review", lifecycle.TransactionProcessing, transaction.ReviewDeposit, 0},
		"above the day's sum": {4 * coin, nil, transaction.Limits{ReviewPerDay: 3 * coin}, "detected locked needs_review", lifecycle.TransactionProcessing, transaction.ReviewDeposit, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			user := b.user(7)
			b.must(b.Accounts.SaveUsername(t.Context(), user.ID, "durov"))
			b.must(b.Transactions.Pause(t.Context(), nil, "a test"))
			hash := b.deposit("ann", c.nano)
			decide := func() transaction.Snapshot {
				if c.failure == nil {
					return b.ok(b.Transactions.ReviewPayment(t.Context(), hash, c.limits))
				}
				failure := *c.failure
				failure.Hash = hash
				return b.ok(b.Transactions.FailPending(t.Context(), failure))
			}
			first := decide()
			if again := decide(); again.Revision != first.Revision {
				t.Errorf("a second call changes revision %d to %d", first.Revision, again.Revision)
			}

			got := b.tx(hash)
			if got.State != c.state || got.ReviewReason != c.reason || got.RefundDueNano != c.due || got.Username != "durov" || got.Stars != 50 || got.UserID == nil {
				t.Errorf("%+v", got)
			}
			b.wantEventsAtOnce(hash, c.events)
			b.balanced()
		})
	}
}

// wantEventsAtOnce requires exactly these events, all but the first in one change.
func (b *bank) wantEventsAtOnce(hash, want string) {
	b.t.Helper()
	events, err := b.Transactions.EventsOf(b.t.Context(), hash)
	b.must(err)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
		if e.Seq > 1 && e.XID != events[1].XID {
			b.t.Errorf("%s is another change than %s", e.Type, events[1].Type)
		}
	}
	if got := strings.Join(types, " "); got != want {
		b.t.Errorf("events %q, want %q", got, want)
	}
}

// TestStopOfAPendingTransactionIsOneChange fails an order that was never locked. A second stop changes nothing.
func TestStopOfAPendingTransactionIsOneChange(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.deposit("ann", 3*coin)
	failure := transaction.Failure{Claim: transaction.Claim{Hash: hash}, Message: "Cancelled by operator", Class: lifecycle.UnknownError}
	for range 2 {
		if s := b.ok(b.Transactions.Stop(t.Context(), failure)); s.State != lifecycle.TransactionFailed || s.Attempt != 1 || s.RetryAt != nil {
			t.Errorf("%+v", s)
		}
	}
	b.wantEventsAtOnce(hash, "detected locked failed")
}

// TestLostPaymentReviewsPendingOrders locks an order whose workflow has not opened it, so that a person can resolve it.
// Its workflow is started nevertheless.
func TestLostPaymentReviewsPendingOrders(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.deposit("ann", 3*coin)
	b.pays(shop, coin)
	if brought := b.scan(); !slices.Equal(brought.Lost, []string{hash}) {
		t.Errorf("lost: %v", brought.Lost)
	}

	b.wantEventsAtOnce(hash, "detected locked needs_review")
	loose, err := b.Transactions.Loose(t.Context(), b.wallet, 10, 10)
	if err != nil || !slices.Equal(loose.Unstarted, []string{hash}) {
		t.Errorf("to be started: %+v, %v", loose, err)
	}
	b.refused(second(b.begin(b.beginning(hash, coin))), fault.NoTurn)
	if got := b.ok(b.Transactions.SnapshotOf(t.Context(), hash)); !got.NeedsReview || !got.Lost || got.Attempt != 1 {
		t.Errorf("%+v", got)
	}
}
