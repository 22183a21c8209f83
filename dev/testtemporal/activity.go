package testtemporal

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
)

// Endless runs an activity without an end, such as a watcher, until stop is called or the test ends. It takes no input.
func Endless(t testing.TB, run any) (stop func()) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	env.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: "endless"})

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = env.ExecuteActivity("endless")
	}()

	stop = sync.OnceFunc(func() { cancel(); <-ended })
	t.Cleanup(stop)
	return stop
}
