package transaction

import (
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestNext covers every combination of recorded facts, and checks the invariants of each step.
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
					for bits := range 32 {
						w := &run{at: snapshot{
							State: status, ErrorClass: class, Purchase: purchase, Refund: refund, Since: &now, NeedsReview: bits&1 > 0,
						}, cancelled: bits&2 > 0}
						if bits&4 > 0 {
							w.at.DeferredUntil = &now
						}
						if bits&8 > 0 && status == lifecycle.TransactionFailed {
							w.at.RefundDue = 1
						}
						if bits&16 > 0 && status == lifecycle.TransactionFailed && !w.at.NeedsReview { // a review ends the plan
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

// wrong describes what is wrong with a step; empty: nothing.
func wrong(w *run, got step) string {
	at := w.at
	signed := stateOf(at.Purchase) == transaction.PaymentSigned || stateOf(at.Refund) == transaction.PaymentSigned
	paid := stateOf(at.Purchase) == transaction.PaymentPaid
	failed := at.State == lifecycle.TransactionFailed

	switch {
	case steps[got] == nil && got != stepOver:
		return "nobody does that"
	case signed && got != stepPay && got != stepRefund:
		return "what is signed is decided, before all else"
	case signed:
		return ""
	case got == stepPay && (at.NeedsReview || w.cancelled || at.State == lifecycle.TransactionProcessed || paid && !failed):
		return "nothing may be bought"
	case got == stepPay && failed && (at.RetryAt == nil || at.RefundDue > 0):
		return "the system does not retry that"
	case got == stepRefund && (at.RefundDue == 0 || !failed || at.NeedsReview):
		return "nothing is owed"
	case got == stepStop && (!w.cancelled || at.State == lifecycle.TransactionProcessed || failed && at.RetryAt == nil || paid && !failed):
		return "it cannot fail"
	case got == stepConfirm && (!paid || failed || at.NeedsReview):
		return "there is nothing to wait for"
	case got == stepOver && (at.State == lifecycle.TransactionPending || at.State == lifecycle.TransactionProcessing):
		return "it is not over"
	case got == stepOver && failed && (at.RefundDue > 0 || at.RetryAt != nil):
		return "money is owed, or it is tried again"
	case got == stepAwaitRetry && (at.RetryAt != nil || w.cancelled):
		return "the system retries that, or nobody"
	case got == stepAwaitRetry && (!failed || at.ErrorClass == lifecycle.NonRetryable):
		return "nobody can retry that"
	}

	return ""
}
