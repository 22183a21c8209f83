package transaction

import (
	"testing"
	"time"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestNext walks through every combination of what the record may say, and checks what must hold of each step.
func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Now()
	payments := []*transaction.PaymentRef{nil}
	for _, state := range []transaction.PaymentState{transaction.PaymentSigned, transaction.PaymentPaid, transaction.PaymentDead, transaction.PaymentBounced} {
		payments = append(payments, &transaction.PaymentRef{State: state})
	}

	payments = append(payments, &transaction.PaymentRef{State: transaction.PaymentPaid, Kept: true})
	turns := []*transaction.Turn{nil, {Kind: transaction.Purchase}, {Kind: transaction.Purchase, Granted: true}}
	seen := map[step]int{}
	for _, state := range lifecycle.Transaction.States {
		status := state.State
		for _, class := range []lifecycle.ErrorClass{"", lifecycle.Retryable, lifecycle.NonRetryable, lifecycle.UnknownError} {
			for _, purchase := range payments {
				for _, refund := range payments {
					for _, turn := range turns {
						for bits := range 256 {
							at := activities.Snapshot{Snapshot: transaction.Snapshot{
								State: status, ErrorClass: class, Purchase: purchase, Refund: refund, Turn: turn, Since: &now,
								NeedsReview: bits&1 > 0, Quoted: bits&2 > 0,
							}, Again: bits&4 > 0}

							if bits&8 > 0 {
								at.RefundDue = 1
							}

							if bits&128 > 0 && status == lifecycle.TransactionFailed {
								at.RetryAt = &now
							}

							s := situation{Cancelled: bits&16 > 0, Unquoted: bits&32 > 0, Rest: bits&64 > 0}

							got := next(at, s)
							seen[got]++
							if why := wrong(at, s, got); why != "" {
								t.Fatalf("%+v, %+v: %s, but %s", at, s, got, why)
							}
						}
					}
				}
			}
		}
	}

	for name := range steps {
		if seen[name] == 0 {
			t.Errorf("%s never comes", name)
		}
	}

	if seen[stepOver] == 0 {
		t.Error("it is never over")
	}

	t.Log(seen)
}

// wrong says what must not be about a step; empty: nothing.
func wrong(at activities.Snapshot, s situation, got step) string {
	signed := stateOf(at.Purchase) == transaction.PaymentSigned || stateOf(at.Refund) == transaction.PaymentSigned
	paid := stateOf(at.Purchase) == transaction.PaymentPaid
	proves := got == stepProve || got == stepProveRefund
	buys := got == stepPay || got == stepQueue || got == stepQuote
	gives := got == stepPayRefund || got == stepQueueRefund

	switch {
	case steps[got] == nil && got != stepOver:
		return "nobody does that"
	case signed != proves:
		return "what is signed is proven, before all else"
	case buys && (paid || at.NeedsReview || at.State != lifecycle.TransactionProcessing || !at.Again || s.Cancelled):
		return "nothing may be bought"
	case (got == stepPay || got == stepPayRefund) && !(at.Turn != nil && at.Turn.Granted):
		return "it has no turn"
	case gives && (at.RefundDue == 0 || at.State != lifecycle.TransactionFailed || at.NeedsReview):
		return "nothing is owed"
	case (got == stepGiveUp || got == stepStop) && (paid || at.State != lifecycle.TransactionProcessing):
		return "it cannot fail"
	case got == stepConfirm && (!paid || at.NeedsReview):
		return "there is nothing to wait for"
	case got == stepOver && (at.State == lifecycle.TransactionProcessing || signed):
		return "it is not over"
	case got == stepOver && at.State == lifecycle.TransactionFailed && at.RefundDue > 0:
		return "money is owed"
	case got == stepRetryLater && (at.RetryAt == nil || at.RefundDue > 0 || s.Cancelled):
		return "the system does not retry that"
	case got == stepAwaitRetry && at.RetryAt != nil:
		return "the system retries that"
	case (got == stepAwaitRetry || got == stepRetryLater) && (at.State != lifecycle.TransactionFailed || at.ErrorClass == lifecycle.NonRetryable):
		return "nobody can retry that"
	}

	return ""
}

func TestPauses(t *testing.T) {
	t.Parallel()
	w := run{settings: Settings{RetryInterval: time.Second}}
	for tries, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 5: 16 * time.Second, 13: time.Hour, 1000: time.Hour} {
		if got := w.pauseAfter(tries); got != want {
			t.Errorf("%d: %s", tries, got)
		}
	}

	w.settings.RetryInterval = 0
	if w.pauseAfter(1) <= 0 {
		t.Error("a setting has decided between commands")
	}
}
