package retention_test

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/store"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/retention"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

// TestRun retries after an outage and returns what was deleted.
func TestRun(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	tries := 0
	env.RegisterActivityWithOptions(func(_ context.Context, policy operations.Retention) (map[string]int64, error) {
		if tries++; tries < 3 {
			return nil, os.ErrDeadlineExceeded
		}
		return map[string]int64{"answers": int64(policy["answers"])}, nil
	}, activity.RegisterOptions{Name: "DeleteOldRows"})

	env.ExecuteWorkflow(retention.Run, operations.Retention{"answers": 7})
	var deleted map[string]int64
	if err := env.GetWorkflowResult(&deleted); err != nil || deleted["answers"] != 7 {
		t.Errorf("%v, %v", deleted, err)
	}
}

// TestDeletionsAreCounted deletes old rows, and requires all rows to be recounted afterwards.
func TestDeletionsAreCounted(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), testdb.URL(t)
	record, err := store.Open(ctx, url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)
	testdb.Recount(t, record)

	db := testdb.Connect(t, url)
	if _, err := db.Exec(ctx, `INSERT INTO counts (kind, key, n, ended) VALUES ('task', 'DONE', 5, true)`); err != nil {
		t.Fatal(err)
	}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	rows := &cleanup.OldRows{Store: record, Log: slog.New(slog.DiscardHandler)}
	env.RegisterActivity(rows)
	if _, err := env.ExecuteActivity(rows.DeleteOldRows, operations.Retention{"tasks": 7}); err != nil {
		t.Fatal(err)
	}

	if _, err := record.Operations.RefreshCounts(ctx); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := db.QueryRow(ctx, `SELECT count(*) FROM counts WHERE kind = 'task' AND key = 'DONE'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("a count of deleted rows is left: %v", err)
	}
}

// TestSchedule creates the schedule on a real server, runs it at once, pauses it like an operator, and starts a worker
// with another policy.
func TestSchedule(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}

	server, schedules := serve(t)
	c, ctx := server.Client, t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	first, second := operations.Retention{"answers": 90}, operations.Retention{"answers": 30, "news": 7}
	must(retention.EnsureSchedule(ctx, schedules, first))
	must(retention.EnsureSchedule(ctx, schedules, first))
	schedule := c.ScheduleClient().GetHandle(ctx, retention.ScheduleID)
	_, deleted := trigger(t, c)
	_, answers := deleted["answers"]
	if !answers || len(deleted) != 1 {
		t.Errorf("deleted %v, want answers only", deleted)
	}

	must(schedule.Pause(ctx, client.SchedulePauseOptions{Note: "the auditors are here"}))
	must(retention.EnsureSchedule(ctx, schedules, second))
	about, err := schedule.Describe(ctx)
	must(err)
	if !about.Schedule.State.Paused || about.Schedule.State.Note != "the auditors are here" {
		t.Errorf("the pause is lost: %+v", about.Schedule.State)
	}
	for _, at := range about.Info.NextActionTimes {
		if at.UTC().Format(time.TimeOnly) != "03:00:00" {
			t.Errorf("it runs at %s", at)
		}
	}

	must(schedule.Unpause(ctx, client.ScheduleUnpauseOptions{}))
	_, deleted = trigger(t, c)
	if _, looked := deleted["news"]; !looked {
		t.Errorf("deleted %v, want the new policy", deleted)
	}
}

// serve starts a worker on a server.
func serve(t *testing.T) (*testtemporal.Server, temporalio.Schedules) {
	t.Helper()
	server := testtemporal.Take(t)
	w := worker.New(server.Client, lifecycle.MainQueue, testtemporal.WorkerOptions())
	w.RegisterWorkflowWithOptions(retention.Run, workflow.RegisterOptions{Name: retention.WorkflowType})
	w.RegisterActivity(&cleanup.OldRows{Store: testdb.New(t), Log: slog.New(slog.DiscardHandler)})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return server, temporalio.Schedules{Temporal: server.Client, Namespace: server.Namespace}
}

// trigger runs the schedule once more, and returns the workflow's id and what it deleted. The schedule may run by
// itself as well: its hour comes.
func trigger(t *testing.T, c client.Client) (id string, deleted map[string]int64) {
	t.Helper()
	schedule := c.ScheduleClient().GetHandle(t.Context(), retention.ScheduleID)
	before, err := schedule.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
		t.Fatal(err)
	}

	wait.Eventually(t, "the schedule has started it", func() bool {
		about, err := schedule.Describe(t.Context())
		if err != nil || len(about.Info.RecentActions) <= len(before.Info.RecentActions) {
			return false
		}
		id = about.Info.RecentActions[len(about.Info.RecentActions)-1].StartWorkflowResult.WorkflowID
		return true
	})
	if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), &deleted); err != nil {
		t.Fatal(err)
	}
	return id, deleted
}

// TestRecordHistories saves the history that is replayed.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	server, schedules := serve(t)
	if err := retention.EnsureSchedule(t.Context(), schedules, operations.Retention{"answers": 90}); err != nil {
		t.Fatal(err)
	}
	id, _ := trigger(t, server.Client)
	version.Save(t, "", "run", server.History(t, id, ""))
}
