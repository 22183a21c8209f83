package testtemporal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/wait"
)

// Hang is a call that never returns to its first caller.
type Hang struct {
	first, second sync.Once
	goesOn        chan struct{} // closed by the next call
	release       chan struct{} // releases the caller that still waits when the test ends
}

// NewHang returns a call that hangs once.
func NewHang() *Hang { return &Hang{goesOn: make(chan struct{}), release: make(chan struct{})} }

// Call blocks until ctx or the test ends, the first time; later calls return immediately.
func (h *Hang) Call(ctx context.Context) error {
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

// heartbeatTimeout is what the activities of tests about hangs have. A busy machine may be late by a part of it.
const heartbeatTimeout = 16 * time.Second

// Within makes Temporal run an activity until a second call succeeds. It returns how the attempts ended.
func (h *Hang) Within(t *testing.T, run func(context.Context) error) (ends []error) {
	t.Helper()
	go func() {
		select {
		case <-h.goesOn:
		case <-time.After(wait.Patience):
			t.Errorf("nobody has taken over within %s", wait.Patience)
		}
		close(h.release)
	}()

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute})
	env.SetTestTimeout(2 * wait.Patience)
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
			StartToCloseTimeout: time.Hour, HeartbeatTimeout: heartbeatTimeout,
			RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumAttempts: 5},
		}), "run").Get(ctx, nil)
	})

	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}

	mu.Lock()
	defer mu.Unlock()
	return ends
}

// WantTakeover checks that the attempt that hung has ended itself with a retryable error, and that the next one
// succeeded.
func (h *Hang) WantTakeover(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ends := h.Within(t, run)
	if len(ends) < 2 || ends[len(ends)-1] != nil {
		t.Fatalf("the attempts ended with %v", ends)
	}
	if failure, ok := errors.AsType[*temporal.ApplicationError](ends[0]); !ok || failure.Type() != "NO_PROGRESS" || failure.NonRetryable() {
		t.Errorf("the attempt that hung ended with %v", ends[0])
	}
}
