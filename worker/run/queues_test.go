package run

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"stagecoach/dev/testdb"
	"stagecoach/internal/config"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
)

// TestPaymentsDoNotQueueBehindUsers takes every unreserved connection, with more statements queued, and runs an
// activity that queries the record with the options of each queue: those of payments and of the wallet get an answer.
func TestPaymentsDoNotQueueBehindUsers(t *testing.T) {
	t.Parallel()
	s := withoutConnections(t)

	for name, queue := range map[string]struct {
		options worker.Options
		answers bool
	}{
		"payments": {paymentsOptions(config.Config{}), true},
		"wallet":   {reservedOptions(config.Config{}, activitySlots), true},
		"main":     {mainOptions(config.Config{}), false},
	} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(queue.options)
		env.RegisterActivityWithOptions(func(ctx context.Context) error {
			if !queue.answers {
				short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
				defer cancel()
				ctx = short
			}
			_, err := s.Accounts.Users(ctx, "", 0, 1)
			return err
		}, activity.RegisterOptions{Name: "ask"})

		if _, err := env.ExecuteActivity("ask"); (err == nil) != queue.answers {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// withoutConnections returns a store whose unreserved connections all wait for a lock.
func withoutConnections(t *testing.T) *store.Store {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.OpenPool(t.Context(), url, core.Pool{Connections: 5}, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	lock := testdb.Connect(t, url)
	if _, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE books`); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	var users sync.WaitGroup
	t.Cleanup(users.Wait)
	t.Cleanup(cancel)
	for range 20 {
		users.Go(func() { _, _ = s.Downloads.BookByID(ctx, 1) })
	}

	for waiting := 0; waiting < 4; time.Sleep(10 * time.Millisecond) {
		if err := lock.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'books'::regclass`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestLocalActivitiesFitTheirConnections expects a limit on local activities at which none waits long for a connection.
func TestLocalActivitiesFitTheirConnections(t *testing.T) {
	t.Parallel()
	for connections, want := range map[int]int{0: 20, 12: 20, 40: 64, 1: 2} {
		c := config.Config{Connections: connections}
		if got := mainOptions(c).MaxConcurrentLocalActivityExecutionSize; got != want {
			t.Errorf("%d connections: %d local activities at once, want %d", connections, got, want)
		}
	}
}
