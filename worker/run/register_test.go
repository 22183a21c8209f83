package run

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
	"stagecoach/workflows"
)

// activityNames are the names that histories know: an activity may be added, but none of these may be removed or
// renamed.
var activityNames = map[string][]string{
	lifecycle.MainQueue: {
		"ActOnTask", "AddTorrent", "AlertStuck", "AlertUnfollowed", "AskReview", "AwaitSpace", "CancelJob", "CancelTransaction", "Compare", "DeleteOldRows", "FetchTorrent", "FinishJob", "ImportDownload",
		"LoadDownload", "LoadTask", "LookAtTransaction", "LookForTorrent", "MoveDownload", "NextSource", "NoteDownload", "OpenTransaction",
		"Reconcile", "RemoveTorrent", "RequestDownload", "ResolveTransaction", "ResumeTorrent", "RetryTransaction",
		"SendDownload", "StartTaskClock", "StopFailingWebhook", "SweepMedia", "SyncDownloads",
		"TellDependents", "WriteOffRefund",
	},
	lifecycle.WebhookQueue:  {"SendWebhookEvents"},
	lifecycle.DeliveryQueue: {"Deliver"},
	lifecycle.TorrentQueue:  {"AddTorrent", "FetchTorrent"},
	lifecycle.PaymentQueue:  {"Pay"},
	lifecycle.RefundQueue:   {"Refund"},
	lifecycle.WalletQueue:   {"Confirm", "ProveRefund", "WatchWallet"},
}

// recorder records the names of activities registered on a real worker.
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

// unconnected returns a process that has called nothing yet. key is the wallet's; empty: it holds none.
func unconnected(t *testing.T, key string) process {
	t.Helper()
	record, err := store.Open(t.Context(), "postgres://127.0.0.1:1/none", make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)

	temporal, err := client.NewLazyClient(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(temporal.Close)

	c := config.Config{TON: config.TON{Key: key}}
	c.Fragment.Cookies = "stel_ssid=a; stel_token=b; stel_dt=c; stel_ton_token=d"
	c.Transactions.Allow = []string{"0:" + strings.Repeat("a", 64)}
	return process{&app.Connections{
		Config: c, Store: record, Temporal: temporal, Metrics: metrics.New(), Liveness: liveness.New(liveness.Options{}),
		Log: slog.New(slog.DiscardHandler),
	}}
}

// TestActivityNamesStay registers everything on real workers, which panic when two activities or workflows share a
// name, and compares the names with those that histories know.
func TestActivityNamesStay(t *testing.T) {
	t.Parallel()
	p := unconnected(t, strings.Repeat("1", 64))
	parts, err := p.parts()
	if err != nil {
		t.Fatal(err)
	}

	newRecorder := func(queue string) recorder {
		return recorder{worker.New(p.Temporal, queue, worker.Options{}), map[string]bool{}}
	}
	recorders := map[string]recorder{lifecycle.MainQueue: newRecorder(lifecycle.MainQueue)}
	registerMain(recorders[lifecycle.MainQueue], parts, workflows.Settings{})
	for _, part := range parts {
		for _, queue := range part.queues {
			recorders[queue.name] = newRecorder(queue.name)
			queue.register(recorders[queue.name])
		}
	}

	for queue, want := range activityNames {
		got := slices.Sorted(maps.Keys(recorders[queue].names))
		if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("queue %s has the activities %v, want %v", queue, got, want)
		}
	}
	if len(recorders) != len(activityNames) {
		t.Errorf("%d queues are served, want %d", len(recorders), len(activityNames))
	}
}

// TestWithoutKeyNoPaymentsAreServed expects the same main queue in a process without the wallet's key, and no queue
// with payments.
func TestWithoutKeyNoPaymentsAreServed(t *testing.T) {
	t.Parallel()
	p := unconnected(t, "")
	parts, err := p.parts()
	if err != nil {
		t.Fatal(err)
	}

	r := recorder{worker.New(p.Temporal, lifecycle.MainQueue, worker.Options{}), map[string]bool{}}
	registerMain(r, parts, workflows.Settings{})
	if got, want := slices.Sorted(maps.Keys(r.names)), slices.Sorted(slices.Values(activityNames[lifecycle.MainQueue])); !slices.Equal(got, want) {
		t.Errorf("the main queue has the activities %v, want %v", got, want)
	}
	for _, queue := range served(p.Config, parts) {
		if slices.Contains(lifecycle.PaymentQueues, queue) {
			t.Errorf("it serves %s", queue)
		}
	}
}

// TestQueuesAreKnown compares the queues that settings may name with the existing ones.
func TestQueuesAreKnown(t *testing.T) {
	t.Parallel()
	queues := []string{
		lifecycle.MainQueue, lifecycle.WebhookQueue, lifecycle.DeliveryQueue, lifecycle.TorrentQueue, lifecycle.PaymentQueue, lifecycle.RefundQueue,
		lifecycle.WalletQueue,
	}
	if !slices.Equal(lifecycle.Queues(), queues) {
		t.Errorf("settings name %v, there are %v", lifecycle.Queues(), queues)
	}
}
