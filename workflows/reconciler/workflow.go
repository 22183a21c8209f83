// Package reconciler keeps the record and Temporal in agreement: one workflow with a fixed id that never ends looks at
// what is new, and a Temporal Schedule starts one that compares all.
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

// Names that operators use.
const (
	WorkflowType = "Reconciler"
	WorkflowID   = "reconciler"
	Title        = "Keeps the record and Temporal agreeing"
)

var reconciler *reconcile.Reconciler

// Run lets one activity compare for an hour. The next run takes over earlier when the history is long: when workers are
// lost again and again, no hour ends. last is the last sweep that was reported to the previous run; nil: none.
func Run(ctx workflow.Context, last *reconcile.Sweep) error {
	record.ShowDetails(ctx, Title, details(last))
	long := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var sweep reconcile.Sweep
			workflow.GetSignalChannel(ctx, reconcile.SweptSignal).Receive(ctx, &sweep)
			last = &sweep
			record.ShowDetails(ctx, Title, details(last))
			long = workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		}
	})

	comparing, stop := workflow.WithCancel(record.Watching(ctx, lifecycle.MainQueue, "compare the record with Temporal"))
	comparing = workflow.WithWaitForCancellation(comparing, true)
	comparison := workflow.ExecuteActivity(comparing, reconciler.Reconcile)
	if err := workflow.Await(ctx, func() bool { return comparison.IsReady() || long }); err != nil {
		return err
	}

	if !comparison.IsReady() {
		stop()
	}

	if err := comparison.Get(ctx, nil); err != nil && (ctx.Err() != nil || !temporal.IsCanceledError(err)) {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, WorkflowType, last)
}

// details shows operators the last sweep.
func details(s *reconcile.Sweep) string {
	const what = "Looks at workflows that closed and at rows that changed, several times a minute; the schedule `" + ComparisonSchedule +
		"` compares all."
	if s == nil {
		return what
	}

	lines := []string{fmt.Sprintf(
		"**Swept at %s** in %d ms: %d closed workflows, %d changed rows, new findings: %d", s.At.Format(time.RFC3339), s.Millis,
		s.Closed, s.Changed, s.Findings,
	)}

	if s.Error != "" {
		lines = append(lines, "", "Not all could be looked at: `"+string(s.Error)+"`.")
	}

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
		what+" This is shown when something is found, else every few minutes; `starter findings` lists what was found.")
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
