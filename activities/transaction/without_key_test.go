package transaction_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/activities/transaction"
	"stagecoach/internal/fault"
	transactionstore "stagecoach/internal/store/transaction"
)

// TestWithoutKey gives every payment activity back at once, so that another process takes it: what no policy counts as
// the last attempt.
func TestWithoutKey(t *testing.T) {
	t.Parallel()
	payments, monitor := &transaction.PaymentActivities{}, &transaction.Monitor{}
	order, payment := transaction.Order{Hash: "h"}, transaction.PaymentOf{Hash: "h", Kind: transactionstore.Purchase}
	for name, call := range map[string]struct{ activity, in any }{
		"QuoteOrder":       {payments.QuoteOrder, order},
		"PayOrder":         {payments.PayOrder, order},
		"PayRefund":        {payments.PayRefund, order},
		"ConfirmPurchase":  {payments.ConfirmPurchase, order},
		"BroadcastPayment": {payments.BroadcastPayment, payment},
		"ProveRefund":      {payments.ProveRefund, "h"},
		"VerifyDeposit":    {payments.VerifyDeposit, order},
		"WatchWallet":      {monitor.WatchWallet, "w"},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		transaction.RegisterPayments(env, payments, monitor)
		_, err := env.ExecuteActivity(call.activity, call.in)
		refusal, ok := errors.AsType[*temporal.ApplicationError](err)
		if !ok || refusal.Type() != string(fault.NotConfigured) || refusal.NonRetryable() || refusal.NextRetryDelay() != time.Second {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPaymentsAlone gives all else of the main queue back, soon and later each time.
func TestPaymentsAlone(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	transaction.RegisterLeftPayments(env, &transaction.PaymentActivities{}, &transaction.Monitor{})
	_, err := env.ExecuteActivity("AddTorrent", int64(1))
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || refusal.NonRetryable() || refusal.NextRetryDelay() <= 0 || refusal.NextRetryDelay() > time.Second {
		t.Errorf("%v", err)
	}
}
