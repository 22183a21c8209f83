// Package reconciler keeps the record and Temporal in agreement: one Temporal Schedule looks at what is new, and another one
// compares all.
package reconciler

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows/record"
)

// Names that operators use. The id of a run is the schedule's id followed by the time of its start.
const (
	WorkflowType = "Reconciler"
	ScheduleID   = "reconciler"
	Title        = "Keeps the record and Temporal agreeing"
)

var reconciler *reconcile.Reconciler

// Run is one sweep, and returns what it has seen, with which the next one begins. One that fails is tried again until it
// succeeds, so that an outage costs one workflow.
func Run(ctx workflow.Context) (reconcile.Sweep, error) {
	sweeping := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 10 * time.Minute,
		HeartbeatTimeout:    30 * time.Second, // the gap when a worker dies; longer than one call may take
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 15 * time.Second},
		Summary:             "look at what is new",
	})

	record.ShowDetails(ctx, Title, details(nil))
	var last, sweep reconcile.Sweep
	_ = workflow.GetLastCompletionResult(ctx, &last) // there is none, or it cannot be read: all is compared
	if err := workflow.ExecuteActivity(sweeping, reconciler.Reconcile, last).Get(ctx, &sweep); err != nil {
		return sweep, err
	}

	record.ShowDetails(ctx, Title, details(&sweep))
	return sweep, nil
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

	lines = append(lines, "", "Found in the 24 hours before: "+found(s.Day)+".", "",
		what+" `starter findings` lists what was found.")
	return strings.Join(lines, "\n")
}

func found(kinds map[string]int) string {
	if len(kinds) == 0 {
		return "nothing"
	}
	var parts []string
	for _, kind := range workflow.DeterministicKeys(kinds) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	return strings.Join(parts, ", ")
}
