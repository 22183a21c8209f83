package activities

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/metrics"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// hang is a call whose first caller waits for an answer that never comes.
type hang struct {
	first, second sync.Once
	goesOn        chan struct{} // closed by the next call
	release       chan struct{} // lets go of who waits yet, when the test is over
}

func newHang() *hang { return &hang{goesOn: make(chan struct{}), release: make(chan struct{})} }

func (h *hang) call(ctx context.Context) error {
	answered := true
	h.first.Do(func() {
		answered = false
		select {
		case <-ctx.Done():
		case <-h.release:
		}
	})

	if answered && ctx.Err() == nil {
		h.second.Do(func() { close(h.goesOn) })
	}
	return ctx.Err()
}

// within lets Temporal run an activity with a heartbeat time-out of four seconds until a second call gets through. It
// gives how the attempts ended.
func (h *hang) within(t *testing.T, run func(context.Context) error) (ends []error) {
	t.Helper()
	go func() {
		select {
		case <-h.goesOn:
		case <-time.After(time.Minute):
			t.Error("nobody has taken over within a minute")
		}
		close(h.release)
	}()

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(3 * time.Minute)
	env.SetWorkerStopChannel(h.release)
	var mu sync.Mutex
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		err := run(ctx)
		mu.Lock()
		defer mu.Unlock()
		ends = append(ends, err)
		return err
	}, activity.RegisterOptions{Name: "run"})

	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Hour, HeartbeatTimeout: 4 * time.Second,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumAttempts: 5},
		}), "run").Get(ctx, nil)
	})

	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}

	mu.Lock()
	defer mu.Unlock()
	return ends
}

// wantTakeover checks that the attempt that hung has ended itself, to be tried again, and that the next one got on.
func (h *hang) wantTakeover(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ends := h.within(t, run)
	if len(ends) < 2 || ends[len(ends)-1] != nil {
		t.Fatalf("the attempts ended with %v", ends)
	}
	if failure, ok := errors.AsType[*temporal.ApplicationError](ends[0]); !ok || failure.Type() != "NO_PROGRESS" || failure.NonRetryable() {
		t.Errorf("the attempt that hung ended with %v", ends[0])
	}
}

// hungTemporal is a Temporal whose first answer never comes.
type hungTemporal struct {
	client.Client
	*hang
}

func (h hungTemporal) SignalWorkflow(ctx context.Context, _, _, _ string, _ any) error {
	return h.call(ctx)
}

func (h hungTemporal) ListWorkflow(
	ctx context.Context, _ *workflowservice.ListWorkflowExecutionsRequest,
) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	return &workflowservice.ListWorkflowExecutionsResponse{}, h.call(ctx)
}

// TestHungDownloadSync lets the watcher of downloads wait for an answer that never comes.
func TestHungDownloadSync(t *testing.T) {
	t.Parallel()
	w, h := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: time.Hour}}), newHang()
	w.added(magnet(1))
	w.DownloadSync.Temporal = hungTemporal{hang: h}
	h.wantTakeover(t, w.SyncDownloads)
}

// TestHungMonitor does so with the watcher of the wallet.
func TestHungMonitor(t *testing.T) {
	t.Parallel()
	s, h := newRig(t, torrentsim.QBittorrentOptions{}), newHang()
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = h.call(r.Context())
		w.WriteHeader(http.StatusServiceUnavailable)
	}))

	t.Cleanup(gateway.Close)
	wallet, _, err := ton.ParseAddress("0:" + strings.Repeat("1", 64))
	s.must(err)
	m := &TonMonitor{
		Store: s.Store, Wallet: wallet, Chain: toncenter.New(toncenter.Options{URL: gateway.URL, CallTimeout: time.Hour}),
		Settings: TransactionSettings{PollInterval: 100 * time.Millisecond, WholeHistory: true}, Metrics: metrics.New(),
		Log: slog.New(slog.DiscardHandler),
	}

	h.wantTakeover(t, func(ctx context.Context) error { return m.WatchWallet(ctx, wallet.Raw()) })
}

// TestHungReconciler does so with the reconciler.
func TestHungReconciler(t *testing.T) {
	t.Parallel()
	s, h := newRig(t, torrentsim.QBittorrentOptions{}), newHang()
	r := &reconcile.Reconciler{
		Temporal: hungTemporal{hang: h}, Store: s.Store, Log: slog.New(slog.DiscardHandler), Every: 100 * time.Millisecond,
		Workloads: []service.Workload{(&service.Tasks{Store: s.Store}).Workload()},
	}
	h.wantTakeover(t, r.Reconcile)
}

// TestWatchdog keeps an attempt whose loop gets on or waits, and tells Temporal so, for longer than the heartbeat
// time-out.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	h := newHang()
	_ = h.call(canceled())
	var steps atomic.Int32
	ends := h.within(t, func(ctx context.Context) error {
		ctx, stop := temporalio.WithWatchdog(ctx)
		defer stop()

		for range 6 {
			// each takes less than the patience, all together more than the time-out
			_ = temporalio.LoopStep(ctx, func(context.Context) error {
				steps.Add(1)
				time.Sleep(time.Second)
				return nil
			})
		}

		if temporalio.LoopWait(ctx, time.After(5*time.Second)) {
			_ = h.call(ctx)
			temporalio.LoopWait(ctx, nil)
		}
		return temporalio.LoopOutcome(ctx)
	})
	if len(ends) != 1 || ends[0] != nil || steps.Load() != 6 {
		t.Errorf("after %d steps the attempts ended with %v", steps.Load(), ends)
	}
}

// canceled is the context of a caller who has gone.
func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
