package transaction

import (
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
)

// TestWaitsFor has a case for everything a transaction can wait for, and for the precedence.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	soon := time.Now()
	signed, paid, kept := &PaymentRef{State: PaymentSigned}, &PaymentRef{State: PaymentPaid}, &PaymentRef{State: PaymentPaid, Kept: true}
	final := Snapshot{State: lifecycle.TransactionFailed, ErrorClass: lifecycle.NonRetryable}
	with := func(s Snapshot, change func(*Snapshot)) Snapshot { change(&s); return s }
	for _, c := range []struct {
		at   Snapshot
		want string
	}{
		{Snapshot{}, lifecycle.WaitsForPurchase},
		{Snapshot{State: lifecycle.TransactionPending}, lifecycle.WaitsForPurchase},
		{Snapshot{State: lifecycle.TransactionProcessing}, lifecycle.WaitsForPurchase},
		{Snapshot{State: lifecycle.TransactionProcessing, NeedsReview: true}, lifecycle.WaitsForOperator},
		{Snapshot{State: lifecycle.TransactionProcessing, NeedsReview: true, Purchase: signed}, lifecycle.WaitsForPurchase},
		{Snapshot{State: lifecycle.TransactionProcessing, NeedsReview: true, Purchase: paid}, lifecycle.WaitsForOperator},
		{Snapshot{State: lifecycle.TransactionFailed, ErrorClass: lifecycle.Retryable, RetryAt: &soon}, lifecycle.WaitsForRetry},
		{Snapshot{State: lifecycle.TransactionFailed, ErrorClass: lifecycle.Retryable}, lifecycle.WaitsForOperator},
		{final, ""},
		{with(final, func(s *Snapshot) { s.RefundDue = 1 }), lifecycle.WaitsForRefund},
		{with(final, func(s *Snapshot) { s.RefundDue, s.NeedsReview = 1, true }), lifecycle.WaitsForOperator},
		{with(final, func(s *Snapshot) { s.Refund, s.NeedsReview = signed, true }), lifecycle.WaitsForRefund},
		{with(final, func(s *Snapshot) { s.Refund = paid }), lifecycle.WaitsForRefund},
		{with(final, func(s *Snapshot) { s.Refund = kept }), ""},
		{Snapshot{State: lifecycle.TransactionProcessed, Purchase: paid}, ""},
		{Snapshot{State: lifecycle.TransactionProcessed, NeedsReview: true}, lifecycle.WaitsForOperator},
	} {
		if got := c.at.WaitsFor(); got != c.want {
			t.Errorf("%+v waits for %q, want %q", c.at, got, c.want)
		}
	}
}
