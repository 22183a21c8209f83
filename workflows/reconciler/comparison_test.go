package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
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
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/reconciler"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

var results = map[string]reconcile.Compared{
	"":         {Workload: "delivery", Live: 2, Running: 1},
	"delivery": {Workload: "task", Live: 3, Running: 3, Last: true},
}

// TestCompare compares one workload after the other, and retries one after an outage.
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

// TestSchedule creates the schedule on a real server twice, with an operator's change in between, and triggers it like
// a sweep: not before it exists, not while it is paused, and never two comparisons at once.
func TestSchedule(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Temporal")
	}

	schedules, ctx := connect(t), t.Context()
	c := schedules.Temporal
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

	must(reconciler.EnsureSchedules(ctx, schedules))
	schedule := c.ScheduleClient().GetHandle(ctx, reconciler.ComparisonSchedule)
	must(schedule.Pause(ctx, client.SchedulePauseOptions{Note: "the auditors are here"}))
	must(reconciler.EnsureSchedules(ctx, schedules))
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

// TestSweepContinues makes two short runs by the schedule on a real server: the second one gets the first one's result.
func TestSweepContinues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs Temporal")
	}

	schedules := connect(t)
	c := schedules.Temporal
	serve(t, c, func(context.Context, string) (reconcile.Compared, error) { return results["delivery"], nil })
	if err := reconciler.EnsureSchedules(t.Context(), schedules); err != nil {
		t.Fatal(err)
	}

	schedule := c.ScheduleClient().GetHandle(t.Context(), reconciler.ScheduleID)
	for n := 1; n <= 2; n++ {
		if n > 1 { // the first one begins with the schedule
			if err := schedule.Trigger(t.Context(), client.ScheduleTriggerOptions{}); err != nil {
				t.Fatal(err)
			}
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

// TestSweepWithoutResult starts over if the last sweep's result is unreadable.
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

	env.ExecuteWorkflow(reconciler.Run, time.Duration(0))
	var swept reconcile.Sweep
	if err := env.GetWorkflowResult(&swept); err != nil || swept.Closed != 1 {
		t.Errorf("%+v, %v", swept, err)
	}
}

// TestAnHourOfSweeps runs the reconciler from the middle of a minute, with a slow sweep and one that first fails: it
// sweeps three times a minute, each time with the last sweep's result, and ends a third of a minute before the schedule
// begins the next run.
func TestAnHourOfSweeps(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	began := time.Date(2026, 11, 28, 9, 0, 31, 0, time.UTC)
	env.SetStartTime(began)
	var at []time.Time
	failed := false
	env.RegisterActivityWithOptions(func(context.Context, reconcile.Sweep) (reconcile.Sweep, error) {
		return reconcile.Sweep{}, nil
	}, activity.RegisterOptions{Name: "Reconcile"})
	env.OnActivity("Reconcile", mock.Anything, mock.Anything).Return(func(_ context.Context, last reconcile.Sweep) (reconcile.Sweep, error) {
		if len(at) == 9 && !failed {
			failed = true
			return reconcile.Sweep{}, errors.New("PostgreSQL is away")
		}
		if last.Closed != len(at) {
			t.Errorf("sweep %d begins with what sweep %d has seen", len(at)+1, last.Closed)
		}
		at = append(at, env.Now())
		return reconcile.Sweep{Closed: last.Closed + 1}, nil
	}).After(100 * time.Millisecond)

	env.ExecuteWorkflow(reconciler.Run, time.Hour)
	var swept reconcile.Sweep
	if err := env.GetWorkflowResult(&swept); err != nil || swept.Closed != len(at) {
		t.Errorf("after %d sweeps: %+v, %v", len(at), swept, err)
	}
	for i, at := range at {
		if i > 0 && i != 9 && at.Sub(began.Truncate(reconciler.Every)).Truncate(reconciler.Every) != time.Duration(i)*reconciler.Every {
			t.Errorf("sweep %d is at %s", i+1, at)
		}
	}
	next := time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)
	if left := next.Sub(env.Now()); len(at) != 179 || left <= 0 || left > reconciler.Every {
		t.Errorf("it ends after %d sweeps at %s", len(at), env.Now())
	}
}

// connect connects to the test's own namespace: schedules persist.
func connect(t *testing.T) temporalio.Schedules {
	t.Helper()
	server, namespace := testtemporal.Namespace(t)
	c, err := client.Dial(client.Options{HostPort: server.Address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return temporalio.Schedules{Temporal: c, Namespace: namespace}
}

// serve starts a worker whose comparisons are made by the test's activity.
func serve(t *testing.T, c client.Client, compare any) {
	t.Helper()
	w := worker.New(c, lifecycle.MainQueue, testtemporal.WorkerOptions())
	w.RegisterWorkflowWithOptions(reconciler.Compare, workflow.RegisterOptions{Name: reconciler.ComparisonType})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, lasting time.Duration) (reconcile.Sweep, error) {
		return reconciler.Run(ctx, lasting%time.Hour) // the schedule's hour is one sweep
	}, workflow.RegisterOptions{Name: reconciler.WorkflowType})
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

// TestRecordHistoriesOfSchedules saves a short run of sweeps, a comparison of two workloads, and a sweep of media.
func TestRecordHistoriesOfSchedules(t *testing.T) {
	version := testtemporal.Record(t)
	server := testtemporal.Take(t)
	serve(t, server.Client, func(_ context.Context, after string) (reconcile.Compared, error) { return results[after], nil })
	if err := reconciler.EnsureSchedules(t.Context(), temporalio.Schedules{Temporal: server.Client, Namespace: server.Namespace}); err != nil {
		t.Fatal(err)
	}

	_, err := server.Client.ExecuteWorkflow(
		t.Context(), client.StartWorkflowOptions{ID: reconciler.ScheduleID, TaskQueue: lifecycle.MainQueue},
		reconciler.WorkflowType, 80*time.Second, // two sweeps at least
	)
	if err == nil {
		err = server.Client.GetWorkflow(t.Context(), reconciler.ScheduleID, "").Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	version.Save(t, "", reconciler.ScheduleID, server.History(t, reconciler.ScheduleID, ""))

	for _, schedule := range []string{reconciler.ComparisonSchedule, reconciler.MediaSchedule} {
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
