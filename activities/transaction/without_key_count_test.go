package transaction_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/activities/transaction"
	"stagecoach/dev/testtemporal"
)

// TestAttemptsGivenBackAreNotCounted runs one activity of which every other attempt is taken by a process without the
// key: only the others count, also after one that lasted for longer than a heartbeat.
func TestAttemptsGivenBackAreNotCounted(t *testing.T) {
	t.Parallel()
	server, namespace := testtemporal.Namespace(t)
	c, err := client.Dial(client.Options{HostPort: server.Address, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	var mutex sync.Mutex
	var counted []int
	pay := func(ctx context.Context) error {
		attempt := activity.GetInfo(ctx).Attempt
		if attempt%2 == 1 {
			return transaction.RefuseHere(ctx)
		}
		defer transaction.SendHeartbeats(ctx)()

		mutex.Lock()
		defer mutex.Unlock()

		counted = append(counted, transaction.AttemptWithKey(ctx))
		if attempt == 2 {
			time.Sleep(transaction.HeartbeatEvery + 500*time.Millisecond)
		}

		if len(counted) < transaction.QuickTries {
			return errors.New("not this time")
		}
		return nil
	}

	w := worker.New(c, "payments", worker.Options{})
	w.RegisterActivityWithOptions(pay, activity.RegisterOptions{Name: "pay"})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, HeartbeatTimeout: 30 * time.Second,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Millisecond},
		}), "pay").Get(ctx, nil)
	}, workflow.RegisterOptions{Name: "order"})

	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "payments"}, "order")
	if err == nil {
		err = run.Get(t.Context(), nil)
	}

	if want := []int{1, 2, 3}; err != nil || !slices.Equal(counted, want) {
		t.Errorf("the attempts with the key are counted as %v, want %v; %v", counted, want, err)
	}
}
