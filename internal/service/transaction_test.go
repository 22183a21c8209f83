package service

import (
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// TestTransactionActions makes sure that doors never hide what the workflow would let through.
func TestTransactionActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  store.Transaction
		want string
	}{
		{store.Transaction{State: "pending"}, "[] []"},
		{store.Transaction{State: "processing"}, "[] []"},
		{store.Transaction{State: "processing", NeedsReview: true}, "[resolve] [processed failed]"},
		{store.Transaction{State: "processing", NeedsReview: true, ReviewReason: store.ReviewDisputed}, "[resolve] [processed failed processing]"},
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
