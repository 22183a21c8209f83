package testtemporal

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// Repeat runs an activity again and again, as a schedule does, until stop is called or the test ends. Each run gets the
// result of the last successful one.
func Repeat[T any](t testing.TB, run func(ctx context.Context, last T) (T, error)) (stop func()) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: "repeated"})

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var last T
		for ctx.Err() == nil {
			if result, err := env.ExecuteActivity("repeated", last); err == nil {
				var next T
				if result.Get(&next) == nil {
					last = next
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()

	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return stop
}
