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
	seen := map[step]int{}
	for _, state := range lifecycle.Transaction.States {
		status := state.State
		for _, class := range []lifecycle.ErrorClass{"", lifecycle.Retryable, lifecycle.NonRetryable, lifecycle.UnknownError} {
			for _, purchase := range payments {
				for _, refund := range payments {
					for bits := range 128 {
						w := &run{at: activities.Snapshot{Snapshot: transaction.Snapshot{
							State: status, ErrorClass: class, Purchase: purchase, Refund: refund, Since: &now,
							NeedsReview: bits&1 > 0,
						}, Again: bits&4 > 0}, cancelled: bits&16 > 0}

						if bits&2 > 0 {
							w.deferredUntil = &now
						}
						if bits&8 > 0 {
							w.at.RefundDue = 1
						}
						if bits&32 > 0 {
							w.askedAt = &now
						}
						if bits&64 > 0 && status == lifecycle.TransactionFailed {
							w.at.RetryAt = &now
						}

						got := w.next()
						seen[got]++
						if why := wrong(w, got); why != "" {
							t.Fatalf("%+v: %s, but %s", w, got, why)
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
func wrong(w *run, got step) string {
	at := w.at
	signed := stateOf(at.Purchase) == transaction.PaymentSigned || stateOf(at.Refund) == transaction.PaymentSigned
	paid := stateOf(at.Purchase) == transaction.PaymentPaid

	switch {
	case steps[got] == nil && got != stepOver:
		return "nobody does that"
	case signed && got != stepBuy && got != stepRefund:
		return "what is signed is decided, before all else"
	case signed:
		return ""
	case got == stepBuy && (at.NeedsReview || at.State != lifecycle.TransactionProcessing || w.cancelled && !paid):
		return "nothing may be bought"
	case got == stepRefund && (at.RefundDue == 0 || at.State != lifecycle.TransactionFailed || at.NeedsReview):
		return "nothing is owed"
	case got == stepStop && (paid || at.State != lifecycle.TransactionProcessing):
		return "it cannot fail"
	case got == stepConfirm && (!paid || at.NeedsReview):
		return "there is nothing to wait for"
	case got == stepAwaitRoom && w.deferredUntil == nil:
		return "it is not deferred"
	case got == stepOver && at.State == lifecycle.TransactionProcessing:
		return "it is not over"
	case got == stepOver && at.State == lifecycle.TransactionFailed && at.RefundDue > 0:
		return "money is owed"
	case got == stepRetryLater && (at.RetryAt == nil || at.RefundDue > 0 || w.cancelled):
		return "the system does not retry that"
	case got == stepAwaitRetry && at.RetryAt != nil:
		return "the system retries that"
	case (got == stepAwaitRetry || got == stepRetryLater) && (at.State != lifecycle.TransactionFailed || at.ErrorClass == lifecycle.NonRetryable):
		return "nobody can retry that"
	}

	return ""
}
