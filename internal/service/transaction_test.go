package service

import (
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// TestTransactionActions makes sure that API and bot offer what the workflow would let through, and nothing else.
func TestTransactionActions(t *testing.T) {
	t.Parallel()
	purchase := func(state store.PaymentState) *store.LastPurchase {
		return &store.LastPurchase{PaymentRef: store.PaymentRef{State: state}}
	}

	for _, c := range []struct {
		row  store.Transaction
		want string
	}{
		{store.Transaction{State: "pending"}, "[] []"},
		{store.Transaction{State: "processing"}, "[] []"},
		{store.Transaction{State: "processing", NeedsReview: true}, "[resolve] [failed]"},
		{store.Transaction{State: "processing", NeedsReview: true, Purchase: purchase(store.PaymentDead)}, "[resolve] [failed]"},
		{store.Transaction{State: "processing", NeedsReview: true, Purchase: purchase(store.PaymentSigned)}, "[] []"},
		{store.Transaction{State: "processing", NeedsReview: true, Purchase: purchase(store.PaymentPaid)}, "[resolve] [processed failed]"},
		{store.Transaction{State: "processing", NeedsReview: true, ReviewReason: store.ReviewLost}, "[resolve] [processed failed]"},
		{store.Transaction{State: "processing", NeedsReview: true, ReviewReason: store.ReviewLost, Purchase: purchase(store.PaymentDead)}, "[resolve] [processed failed]"},
		{store.Transaction{State: "processing", NeedsReview: true, ReviewReason: store.ReviewDisputed}, "[resolve] [failed processing]"},
		{store.Transaction{State: "failed", ErrorClass: lifecycle.UnknownError, Purchase: purchase(store.PaymentPaid)}, "[] []"},
		{store.Transaction{State: "processed"}, "[] []"},
		{store.Transaction{State: "processed", NeedsReview: true}, "[resolve] [processed]"},
		{store.Transaction{State: "failed", ErrorClass: lifecycle.Retryable}, "[retry] []"},
		{store.Transaction{State: "failed", ErrorClass: lifecycle.UnknownError}, "[retry] []"},
		{store.Transaction{State: "failed", ErrorClass: lifecycle.NonRetryable}, "[] []"},
		{store.Transaction{State: "failed", ErrorClass: lifecycle.NonRetryable, NeedsReview: true}, "[resolve] [failed]"},
		{store.Transaction{State: "failed", ErrorClass: lifecycle.NonRetryable, RefundDueNano: 1}, "[write_off] []"},
	} {
		if got := fmt.Sprint(TransactionActions(c.row), TransactionOutcomes(c.row)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.row, got, c.want)
		}
	}
}
