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

// Names used by operators. A run's id is the schedule's id followed by its start time.
const (
	ComparisonType     = "Comparison"
	ComparisonSchedule = "comparison"
	ComparisonTitle    = "Compares all live rows with all running workflows"
)

// Compare compares one workload after the other, and returns what was compared. Each has its own activity: a lost
// worker repeats only one workload. The activity names the next one, so that a new workload changes no history.
func Compare(ctx workflow.Context) (all []reconcile.Compared, err error) {
	comparing := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 6 * time.Hour,
		HeartbeatTimeout:    time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             "compare a workload",
	})

	record.ShowDetails(ctx, ComparisonTitle, comparisonDetails(all))
	for after, last := "", false; !last; {
		var one reconcile.Compared
		if err := workflow.ExecuteActivity(comparing, reconciler.Compare, after).Get(ctx, &one); err != nil {
			return all, err
		}

		after, last = one.Workload, one.Last
		all = append(all, one)
		record.ShowDetails(ctx, ComparisonTitle, comparisonDetails(all))
	}

	return all, nil
}

// comparisonDetails shows operators what was compared.
func comparisonDetails(all []reconcile.Compared) string {
	lines := []string{"Runs once an hour, in slices, so that nobody feels it.", ""}
	if len(all) > 0 {
		lines = append(lines, "| workload | live rows | running workflows | new findings | outdated | ms |", "|---|---|---|---|---|---|")
	}
	for _, c := range all {
		lines = append(lines, fmt.Sprintf("| %s | %d | %d | %d | %d | %d |", c.Workload, c.Live, c.Running, c.Findings, c.Outdated, c.Millis))
	}
	return strings.Join(lines, "\n")
}
