package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows/reconciler"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

var results = map[string]reconcile.Compared{
	"":         {Workload: "delivery", Live: 2, Running: 1},
	"delivery": {Workload: "task", Live: 3, Running: 3, Last: true},
}

// TestCompare compares one workload after the other, and tries one again after an outage.
func TestCompare(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	tries := 0
	env.RegisterActivityWithOptions(func(_ context.Context, after string) (reconcile.Compared, error) {
		if tries++; tries == 2 {
			return reconcile.Compared{}, errors.New("PostgreSQL is away")
		}
		return results[after], nil
	}, activity.RegisterOptions{Name: "Compare"})

	env.ExecuteWorkflow(reconciler.Compare)
	var all []reconcile.Compared
	if err := env.GetWorkflowResult(&all); err != nil || !reflect.DeepEqual(all, []reconcile.Compared{results[""], results["delivery"]}) || tries != 3 {
		t.Errorf("%+v, %v after %d tries", all, err, tries)
	}
}

// TestSchedule makes the schedule on a real server twice, with a change of an operator in between, and triggers it as a
// sweep does: not before it exists, not while it is paused, and never two comparisons at once.
func TestSchedule(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Temporal")
	}

	c, ctx := connect(t), t.Context()
	goOn := make(chan struct{})
	serve(t, c, func(ctx context.Context, _ string) (reconcile.Compared, error) {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return results["delivery"], nil
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	var unknown *serviceerror.NotFound
	if err := reconciler.Trigger(ctx, c); !errors.As(err, &unknown) {
		t.Errorf("without a schedule: %v", err)
	}

	must(reconciler.EnsureSchedules(ctx, c))
	schedule := c.ScheduleClient().GetHandle(ctx, reconciler.ComparisonSchedule)
	must(schedule.Pause(ctx, client.SchedulePauseOptions{Note: "the auditors are here"}))
	must(reconciler.EnsureSchedules(ctx, c))
	must(reconciler.Trigger(ctx, c))
	about, err := schedule.Describe(ctx)
	must(err)
	if !about.Schedule.State.Paused || about.Info.NumActions > 0 {
		t.Errorf("the pause is lost: %+v, %d ran", about.Schedule.State, about.Info.NumActions)
	}
	if every := about.Schedule.Spec.Intervals; len(every) != 1 || every[0].Every != time.Hour {
		t.Errorf("it runs every %+v", every)
	}

	must(schedule.Unpause(ctx, client.ScheduleUnpauseOptions{}))
	must(reconciler.Trigger(ctx, c))
	started(t, c, reconciler.ComparisonSchedule, 1)
	must(reconciler.Trigger(ctx, c))
	wait.Eventually(t, "the second one is skipped", func() bool {
		now, err := schedule.Describe(ctx)
		if err == nil {
			about = now
		}
		return about.Info.NumActionsSkippedOverlap > 0
	})
	if about.Info.NumActions != 1 {
		t.Errorf("%d comparisons ran", about.Info.NumActions)
	}
	close(goOn)
}

// TestSweepContinues makes two sweeps by the schedule on a real server: the second one gets what the first one has seen.
func TestSweepContinues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Temporal")
	}

	c := connect(t)
	serve(t, c, func(context.Context, string) (reconcile.Compared, error) { return results["delivery"], nil })
	if err := reconciler.EnsureSchedules(t.Context(), c); err != nil {
		t.Fatal(err)
	}

	schedule := c.ScheduleClient().GetHandle(t.Context(), reconciler.ScheduleID)
	for n := 1; n <= 2; n++ {
		if err := schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
			t.Fatal(err)
		}
		var swept reconcile.Sweep
		if err := c.GetWorkflow(t.Context(), started(t, c, reconciler.ScheduleID, n), "").Get(t.Context(), &swept); err != nil {
			t.Fatal(err)
		}
		if swept.Closed < 2*n {
			t.Errorf("sweep %d has seen %d workflows", n, swept.Closed)
		}
	}
}

// TestSweepWithoutResult begins anew when the result of the last sweep cannot be read.
func TestSweepWithoutResult(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	env.SetLastCompletionResult([]string{"of another release"})
	env.RegisterActivityWithOptions(func(_ context.Context, last reconcile.Sweep) (reconcile.Sweep, error) {
		if !last.Since.IsZero() || last.Unsettled != nil {
			t.Errorf("it continues from %+v", last)
		}
		return reconcile.Sweep{Closed: 1}, nil
	}, activity.RegisterOptions{Name: "Reconcile"})

	env.ExecuteWorkflow(reconciler.Run)
	var swept reconcile.Sweep
	if err := env.GetWorkflowResult(&swept); err != nil || swept.Closed != 1 {
		t.Errorf("%+v, %v", swept, err)
	}
}

// connect connects to a namespace of the test's own: schedules stay.
func connect(t *testing.T) client.Client {
	t.Helper()
	server, namespace := testtemporal.Namespace(t)
	c, err := client.Dial(client.Options{HostPort: server.Address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve starts a worker whose comparisons are made by an activity of the test's own.
func serve(t *testing.T, c client.Client, compare any) {
	t.Helper()
	w := worker.New(c, lifecycle.MainQueue, testtemporal.WorkerOptions())
	w.RegisterWorkflowWithOptions(reconciler.Compare, workflow.RegisterOptions{Name: reconciler.ComparisonType})
	w.RegisterWorkflowWithOptions(reconciler.Run, workflow.RegisterOptions{Name: reconciler.WorkflowType})
	w.RegisterWorkflowWithOptions(reconciler.SweepMedia, workflow.RegisterOptions{Name: reconciler.MediaType})
	w.RegisterActivityWithOptions(compare, activity.RegisterOptions{Name: "Compare"})
	w.RegisterActivity(&reconcile.MediaSweep{})
	w.RegisterActivityWithOptions(func(_ context.Context, last reconcile.Sweep) (reconcile.Sweep, error) {
		return reconcile.Sweep{Closed: last.Closed + 2}, nil
	}, activity.RegisterOptions{Name: "Reconcile"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}

// started waits for at least n runs of a schedule, and returns the last one's id.
func started(t *testing.T, c client.Client, scheduleID string, n int) (id string) {
	t.Helper()
	schedule := c.ScheduleClient().GetHandle(t.Context(), scheduleID)
	wait.Eventually(t, fmt.Sprintf("%s has started %d", scheduleID, n), func() bool {
		about, err := schedule.Describe(t.Context())
		if err != nil || len(about.Info.RecentActions) < n {
			return false
		}
		id = about.Info.RecentActions[len(about.Info.RecentActions)-1].StartWorkflowResult.WorkflowID
		return true
	})
	return id
}

// TestRecordHistoriesOfSchedules saves a sweep, a comparison of two workloads, and a sweep of media.
func TestRecordHistoriesOfSchedules(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Take(t)
	serve(t, server.Client, func(_ context.Context, after string) (reconcile.Compared, error) { return results[after], nil })
	if err := reconciler.EnsureSchedules(t.Context(), server.Client); err != nil {
		t.Fatal(err)
	}

	for _, schedule := range []string{reconciler.ScheduleID, reconciler.ComparisonSchedule, reconciler.MediaSchedule} {
		if err := server.Client.ScheduleClient().GetHandle(t.Context(), schedule).Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
			t.Fatal(err)
		}
		id := started(t, server.Client, schedule, 1)
		if err := server.Client.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		version.Save(t, "", schedule, server.History(t, id, ""))
	}
}
