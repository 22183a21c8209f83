// Package reconciler keeps the record and Temporal in agreement: one Temporal Schedule continually checks what is new,
// and another one compares everything.
package reconciler

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows/record"
)

// Names used by operators. A run's id is the schedule's id followed by its start time.
const (
	WorkflowType = "Reconciler"
	ScheduleID   = "reconciler"
	Title        = "Keeps the record and Temporal agreeing"
)

// Every is the interval between two sweeps.
const Every = 20 * time.Second

var reconciler *reconcile.Reconciler

// Run sweeps every 20 seconds, the first time at once, and ends in time for the next run to begin lasting after the
// minute in which this one began: a run is an hour of sweeps, some 2,000 events, so that users' workflows are not lost
// among closed runs. It returns the last sweep, with which the next run begins. A failed sweep is retried until it
// succeeds.
func Run(ctx workflow.Context, lasting time.Duration) (reconcile.Sweep, error) {
	sweeping := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    30 * time.Second, // the gap when a worker dies; longer than one call may take
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 15 * time.Second},
		Summary:             "look at what is new",
	})

	record.ShowDetails(ctx, Title, details(nil))
	var sweep reconcile.Sweep
	if err := workflow.GetLastCompletionResult(ctx, &sweep); err != nil {
		sweep = reconcile.Sweep{} // there is none, or it is unreadable: everything is compared
	}

	for over := workflow.Now(ctx).Truncate(time.Minute).Add(lasting); ; {
		var swept reconcile.Sweep
		if err := workflow.ExecuteActivity(sweeping, reconciler.Reconcile, sweep).Get(ctx, &swept); err != nil {
			return swept, err
		}

		sweep = swept
		record.ShowDetails(ctx, Title, details(&sweep))

		now := workflow.Now(ctx)
		next := now.Truncate(Every).Add(Every)
		if !next.Before(over) {
			return sweep, nil
		}
		timer := workflow.NewTimerWithOptions(ctx, next.Sub(now), workflow.TimerOptions{Summary: "the next sweep"})
		if err := timer.Get(ctx, nil); err != nil {
			return sweep, err
		}
	}
}

// details shows operators the sweep; nil: it has not ended.
func details(s *reconcile.Sweep) string {
	const what = "Looks at workflows that closed and at rows without one, three times a minute; the schedule `" + ComparisonSchedule +
		"` compares all."
	if s == nil {
		return what
	}

	lines := []string{fmt.Sprintf(
		"**Swept at %s** in %d ms: %d closed workflows, new findings: %d", s.At.Format(time.RFC3339), s.Millis, s.Closed, s.Findings,
	)}

	if s.ComparedAt != nil {
		lines = append(
			lines, "", "Compared at "+s.ComparedAt.Format(time.RFC3339)+":", "",
			"| workload | live rows | running workflows |", "|---|---|---|",
		)
		for _, workload := range workflow.DeterministicKeys(s.Running) {
			lines = append(lines, fmt.Sprintf("| %s | %d | %d |", workload, s.Live[workload], s.Running[workload]))
		}
	}

	var found []string
	for _, kind := range workflow.DeterministicKeys(s.Day) {
		found = append(found, fmt.Sprintf("%s %d", kind, s.Day[kind]))
	}
	lines = append(lines, "", "Found in the 24 hours before: "+cmp.Or(strings.Join(found, ", "), "nothing")+".", "",
		what+" `starter findings` lists what was found.")
	return strings.Join(lines, "\n")
}
