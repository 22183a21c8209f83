// Package reconciler keeps the record and Temporal agreeing: one workflow of a fixed id that runs for ever.
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

// Run lets one activity look. The next run gets the last sweep that was reported to this one.
func Run(ctx workflow.Context, last *reconcile.Sweep) error {
	record.ShowDetails(ctx, Title, details(last))
	long := false
	workflow.Go(ctx, func(ctx workflow.Context) {
		for told := 0; ; told++ {
			var sweep reconcile.Sweep
			workflow.GetSignalChannel(ctx, reconcile.SweptSignal).Receive(ctx, &sweep)
			last = &sweep
			record.ShowDetails(ctx, Title, details(last))
			long = long || handsOver(ctx, told)
		}
	})

	looking, stop := workflow.WithCancel(record.Watching(ctx, lifecycle.MainQueue, "compare the record with Temporal"))
	looking = workflow.WithWaitForCancellation(looking, true)
	look := workflow.ExecuteActivity(looking, reconciler.Reconcile)
	if err := workflow.Await(ctx, func() bool { return look.IsReady() || long }); err != nil {
		return err
	}

	if !look.IsReady() {
		stop()
	}

	if err := look.Get(ctx, nil); err != nil && (ctx.Err() != nil || !temporal.IsCanceledError(err)) {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, WorkflowType, last)
}

// handsOver says whether the next run goes on, before the hour is over: workers that are lost again and again never end
// an hour. A long run of 0.1.0 is replayed with the default; from the next sweep that it is told of on it hands over.
func handsOver(ctx workflow.Context, told int) bool {
	if !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		return false
	}
	change := fmt.Sprintf("hand over while looking, sweep %d", told)
	return workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1) == 1
}

// details tells operators what the last sweep saw.
func details(s *reconcile.Sweep) string {
	const what = "Compares live rows with running workflows, several times a minute."
	if s == nil {
		return what
	}

	lines := []string{
		fmt.Sprintf("**Swept at %s** in %d ms, new findings: %d", s.At.Format(time.RFC3339), s.Millis, s.Findings), "",
		"| workload | live rows | running workflows |", "|---|---|---|",
	}

	for _, workload := range workflow.DeterministicKeys(s.Running) {
		lines = append(lines, fmt.Sprintf("| %s | %d | %d |", workload, s.Live[workload], s.Running[workload]))
	}

	if s.Error != "" {
		lines = append(lines, "", "Not all could be looked at: `"+string(s.Error)+"`.")
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
