package e2e

import (
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	transactionstore "stagecoach/internal/store/transaction"
)

// leftPayment schedules payment work on the queue of 0.1.0.
func leftPayment(ctx workflow.Context, payment transaction.PaymentOf) (outcome transaction.BroadcastOutcome, err error) {
	left := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: lifecycle.MainQueue, StartToCloseTimeout: time.Minute, HeartbeatTimeout: 10 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
	})
	err = workflow.ExecuteActivity(left, "BroadcastPayment", payment).Get(ctx, &outcome)
	return outcome, err
}

// TestPaymentsAlone buys with a process that holds the wallet's key beside one that does not. The first does the
// payment work of 0.1.0 on the main queue, however often the second has taken it.
func TestPaymentsAlone(t *testing.T) {
	t.Parallel()
	server := startTemporal(t, `system.namespaceCacheRefreshInterval="200ms"`)
	l := newPaymentRig(t, server, "payments-alone")
	key := l.env["STAGECOACH_TON_KEY"]

	l.env["STAGECOACH_TON_KEY"], l.env["STAGECOACH_WORKER_QUEUES"] = "", "stagecoach,delivery,torrents,webhooks"
	l.startWorker()
	l.env["STAGECOACH_TON_KEY"], l.env["STAGECOACH_WORKER_QUEUES"] = key, "quotes,payments"
	payer := l.start("worker")

	hash := l.deposit("durov 50")
	l.becomes(hash, lifecycle.TransactionProcessed)

	payer.stop()
	w := worker.New(l.client, "left", worker.Options{})
	w.RegisterWorkflow(leftPayment)
	must(t, w.Start())
	defer w.Stop()

	run, err := l.client.ExecuteWorkflow(
		t.Context(), client.StartWorkflowOptions{TaskQueue: "left"}, leftPayment,
		transaction.PaymentOf{Hash: hash, Kind: transactionstore.Purchase},
	)

	must(t, err)
	l.eventually(patience, "the worker without the key has given it back often", func() bool {
		now, err := l.client.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
		return err == nil && len(now.PendingActivities) == 1 && now.PendingActivities[0].Attempt > 4
	})

	l.start("worker")
	var outcome transaction.BroadcastOutcome
	must(t, run.Get(t.Context(), &outcome))
	if outcome.State != lifecycle.TransactionProcessed {
		t.Errorf("the payment is of a transaction that is %s", outcome.State)
	}

	l.becomes(l.deposit("anna 50"), lifecycle.TransactionProcessed)
}
