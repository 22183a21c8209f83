package run

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"stagecoach/activities/delivery"
	"stagecoach/activities/download"
	"stagecoach/activities/task"
	"stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows"
)

// registrations register on a worker of each queue what it gets.
var registrations = map[string]func(w worker.Worker){
	lifecycle.MainQueue: func(w worker.Worker) {
		parts{
			records: &delivery.Records{}, tasks: &task.Activities{}, downloads: &download.Activities{},
			downloadSync: &download.Sync{}, transactions: &transaction.Activities{},
			payments: &transaction.PaymentActivities{}, reconciler: &reconcile.Reconciler{}, cleanup: &cleanup.OldRows{},
		}.registerMain(w, workflows.Settings{})
	},
	lifecycle.DeliveryQueue: func(w worker.Worker) { w.RegisterActivity(&delivery.Activities{}) },
	lifecycle.TorrentQueue:  func(w worker.Worker) { download.RegisterFiles(w, &download.Activities{}) },
	lifecycle.QuoteQueue:    func(w worker.Worker) { transaction.RegisterQuotes(w, &transaction.PaymentActivities{}) },
	lifecycle.PaymentQueue: func(w worker.Worker) {
		transaction.RegisterPayments(w, &transaction.PaymentActivities{}, &transaction.Monitor{})
	},
}

// payments are the activities that need the wallet's key or the shop's session.
var payments = []string{
	"BroadcastPayment", "ConfirmPurchase", "PayOrder", "PayRefund", "ProveRefund", "QuoteOrder", "VerifyDeposit",
	"WatchWallet",
}

// activityNames are the names that histories know: an activity may be added, but none of these may go or be renamed.
var activityNames = map[string][]string{
	lifecycle.MainQueue: append([]string{
		"AddTorrent", "AlertStuck", "CancelTransaction", "DeleteOldRows", "FailTransaction", "FetchTorrent", "FinishJob",
		"LoadDownload", "LoadTask", "LockTransaction", "LookAtTransaction", "LookForTorrent", "MoveDownload", "NoteDownload",
		"QueuePayment", "Reconcile", "RemoveTorrent", "ResolveTransaction", "ResumeTorrent", "RetryTransaction",
		"ReviewTransaction", "StartTaskClock", "SyncDownloads", "TaskFacts", "TellDependents", "WriteOffRefund", "WriteTask",
	}, payments...),
	lifecycle.DeliveryQueue: {"Deliver"},
	lifecycle.TorrentQueue:  {"AddTorrent", "FetchTorrent"},
	lifecycle.QuoteQueue:    {"QuoteOrder"},
	lifecycle.PaymentQueue:  payments,
}

// recorder notes the names of the activities that are registered on a real worker.
type recorder struct {
	worker.Worker
	names map[string]bool
}

func (r recorder) RegisterActivity(a any) {
	r.Worker.RegisterActivity(a)
	for i := range reflect.TypeOf(a).NumMethod() {
		r.names[reflect.TypeOf(a).Method(i).Name] = true
	}
}

func (r recorder) RegisterActivityWithOptions(a any, o activity.RegisterOptions) {
	r.Worker.RegisterActivityWithOptions(a, o)
	r.names[o.Name] = true
}

// TestActivityNamesStay registers everything on real workers, which panic when two activities or workflows share a
// name, and compares the names with those that histories know.
func TestActivityNamesStay(t *testing.T) {
	t.Parallel()
	temporal, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()

	for queue, register := range registrations {
		r := recorder{worker.New(temporal, queue, worker.Options{}), map[string]bool{}}
		register(r)

		got, want := slices.Sorted(maps.Keys(r.names)), slices.Sorted(slices.Values(activityNames[queue]))
		if !slices.Equal(got, want) {
			t.Errorf("queue %s has the activities %v, want %v", queue, got, want)
		}
	}
}

// TestQueuesAreKnown compares the queues that settings may name with those that there are.
func TestQueuesAreKnown(t *testing.T) {
	t.Parallel()
	queues := []string{
		lifecycle.MainQueue, lifecycle.DeliveryQueue, lifecycle.TorrentQueue, lifecycle.QuoteQueue, lifecycle.PaymentQueue,
	}
	if !slices.Equal(lifecycle.Queues(), queues) {
		t.Errorf("settings name %v, there are %v", lifecycle.Queues(), queues)
	}
}
