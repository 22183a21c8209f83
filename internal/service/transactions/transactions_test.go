package transactions

import (
	"fmt"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestTransactionActions makes sure that API and bot offer exactly what the workflow would allow.
func TestTransactionActions(t *testing.T) {
	t.Parallel()
	purchase := func(state transaction.PaymentState) *transaction.LastPurchase {
		return &transaction.LastPurchase{PaymentRef: transaction.PaymentRef{State: state}}
	}

	for _, c := range []struct {
		row  transaction.Transaction
		want string
	}{
		{transaction.Transaction{State: "pending"}, "[review] []"},
		{transaction.Transaction{State: "processing"}, "[review] []"},
		{transaction.Transaction{State: "processing", NeedsReview: true, ReviewReason: transaction.ReviewAsked}, "[resolve] [failed processing]"},
		{transaction.Transaction{State: "processing", NeedsReview: true}, "[resolve] [failed]"},
		{transaction.Transaction{State: "processing", NeedsReview: true, Purchase: purchase(transaction.PaymentDead)}, "[resolve] [failed]"},
		{transaction.Transaction{State: "processing", NeedsReview: true, Purchase: purchase(transaction.PaymentSigned)}, "[] []"},
		{transaction.Transaction{State: "processing", NeedsReview: true, Purchase: purchase(transaction.PaymentPaid)}, "[resolve] [processed failed]"},
		{transaction.Transaction{State: "processing", NeedsReview: true, ReviewReason: transaction.ReviewLost}, "[resolve] [processed failed]"},
		{transaction.Transaction{State: "processing", NeedsReview: true, ReviewReason: transaction.ReviewLost, Purchase: purchase(transaction.PaymentDead)}, "[resolve] [processed failed]"},
		{transaction.Transaction{State: "processing", NeedsReview: true, ReviewReason: transaction.ReviewDeposit}, "[resolve] [failed processing]"},
		{transaction.Transaction{State: "failed", ErrorClass: lifecycle.UnknownError, Purchase: purchase(transaction.PaymentPaid)}, "[] []"},
		{transaction.Transaction{State: "processed"}, "[] []"},
		{transaction.Transaction{State: "processed", NeedsReview: true}, "[resolve] [processed]"},
		{transaction.Transaction{State: "failed", ErrorClass: lifecycle.Retryable}, "[retry] []"},
		{transaction.Transaction{State: "failed", ErrorClass: lifecycle.UnknownError}, "[retry] []"},
		{transaction.Transaction{State: "failed", ErrorClass: lifecycle.NonRetryable}, "[] []"},
		{transaction.Transaction{State: "failed", ErrorClass: lifecycle.NonRetryable, NeedsReview: true}, "[resolve] [failed]"},
		{transaction.Transaction{State: "failed", ErrorClass: lifecycle.NonRetryable, RefundDueNano: 1}, "[write_off] []"},
	} {
		outcomes := lifecycle.Transaction.Targets(
			c.row.State, lifecycle.TransactionActionResolve, lifecycle.Administrators, c.row.Facts(),
		)
		if got := fmt.Sprint(Actions(c.row), outcomes); got != c.want {
			t.Errorf("%+v: %s, want %s", c.row, got, c.want)
		}
	}
}
