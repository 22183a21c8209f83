package run

import (
	"slices"
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows"
)

// TestNamesAreUnique registers everything on one real worker, which panics when two activities or workflows share a
// name; the SDK's test environment would not notice.
func TestNamesAreUnique(t *testing.T) {
	t.Parallel()
	temporal, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()

	w := worker.New(temporal, "any", worker.Options{})
	workflows.Register(w, workflows.Settings{})
	activities.RegisterMain(w, activities.Main{
		Records: &activities.Records{}, Tasks: &activities.Tasks{}, Downloads: &activities.Downloads{},
		DownloadSync: &activities.DownloadSync{},
		Transactions: &activities.Transactions{}, Payments: &activities.PaymentActivities{},
		Monitor: &activities.TonMonitor{},
	})

	w.RegisterActivity(&reconcile.Reconciler{})
	w.RegisterActivity(&cleanup.OldRows{})
	activities.RegisterDelivery(w, &activities.DeliveryActivities{})
	quotes := worker.New(temporal, "quotes", worker.Options{})
	activities.RegisterQuotes(quotes, &activities.PaymentActivities{})
	files := worker.New(temporal, "torrents", worker.Options{})
	activities.RegisterFiles(files, &activities.Downloads{})
	payments := worker.New(temporal, "payments", worker.Options{})
	activities.RegisterPayments(payments, &activities.PaymentActivities{}, &activities.TonMonitor{})
}

// TestQueuesAreKnown compares the queues that settings may name with those that there are.
func TestQueuesAreKnown(t *testing.T) {
	t.Parallel()
	queues := []string{
		lifecycle.MainQueue, lifecycle.DeliveryQueue, lifecycle.TorrentQueue, lifecycle.QuoteQueue, lifecycle.PaymentQueue,
	}
	if !slices.Equal(config.TaskQueues, queues) {
		t.Errorf("settings name %v, there are %v", config.TaskQueues, queues)
	}
}
