package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/temporalio"
)

// prepare is the beginning of a sweep in each workload: what all its rows need, the rows whose workflow was never
// started, and those that the last sweep could not settle.
func (s *sweeper) prepare(ctx context.Context, w service.Workload, unsettled []string) error {
	if err := w.Prepare(ctx); err != nil {
		return err
	}

	err := eachPageOf(ctx, w.Unstarted, settled, func(page []service.LiveRow) error {
		s.settleAll(ctx, w, page, nil) // one that cannot be started is found again
		return nil
	})
	if err != nil || len(unsettled) == 0 {
		return err
	}

	rows, err := w.LiveOf(ctx, settled, unsettled)
	if err != nil {
		return err
	}
	s.leave(w, s.settleAll(ctx, w, rows, nil))
	return nil
}

// leave hands rows to the next sweep.
func (s *sweeper) leave(w service.Workload, entities []string) {
	left := s.sweep.Unsettled[w.Name()]
	for _, entity := range entities {
		if !slices.Contains(left, entity) {
			left = append(left, entity)
		}
	}
	s.sweep.Unsettled[w.Name()] = left
}

// The statuses of closed workflows. They are named one by one: the lists of a server with an SQL database give running
// workflows a late CloseTime.
const (
	lostStatuses   = `"Failed", "Canceled", "Terminated", "TimedOut"` // a row may not have got such an end
	closedStatuses = lostStatuses + `, "Completed"`
)

// closed settles the live rows of the workflows that have closed without completing since a moment, less overlap. The
// zero time: a comparison finds what closed before.
func (s *sweeper) closed(ctx context.Context, since time.Time) error {
	if since.IsZero() {
		since = s.sweep.At
	}

	var types []string
	for _, w := range s.Workloads {
		types = append(types, fmt.Sprintf("%q", w.WorkflowType()))
	}
	if s.Webhooks != nil {
		types = append(types, fmt.Sprintf("%q", lifecycle.WebhookType))
	}

	query := fmt.Sprintf(
		`WorkflowType IN (%s) AND ExecutionStatus IN (%s) AND CloseTime > %q`,
		strings.Join(types, ", "), lostStatuses, since.Add(-overlap).UTC().Format(time.RFC3339),
	)
	return s.eachPage(ctx, query, func(page []*workflowpb.WorkflowExecutionInfo) error {
		s.sweep.Closed += len(page)
		reset := map[string]bool{} // a reset terminates the run that it replaces
		for _, info := range page {
			id := info.Execution.WorkflowId
			reset[id] = reset[id] || info.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
		}

		for _, w := range s.Workloads {
			rows, err := liveOf(ctx, w, keysIn(w, page))
			if err != nil {
				return err
			}
			s.leave(w, s.settleAll(ctx, w, rows, reset))
		}

		if s.Webhooks == nil {
			return nil
		}
		return s.Webhooks.reopen(ctx, page)
	})
}

// keysIn returns the keys of a workload's workflows in a page. Workflows started by hand under other ids have none.
func keysIn(w service.Workload, page []*workflowpb.WorkflowExecutionInfo) (keys []string) {
	for _, info := range page {
		if key, ours := strings.CutPrefix(info.Execution.WorkflowId, w.Name()+"/"); ours {
			keys = append(keys, key)
		}
	}
	return keys
}

// liveOf returns the live rows of workflows.
func liveOf(ctx context.Context, w service.Workload, keys []string) ([]service.LiveRow, error) {
	if len(keys) == 0 {
		return nil, nil
	}

	driven, err := w.Driven(ctx, keys)
	if err != nil {
		return nil, err
	}

	var entities []string
	for _, row := range driven.Rows {
		if !row.Over {
			entities = append(entities, row.Entity)
		}
	}
	if len(entities) == 0 {
		return nil, nil
	}
	return w.LiveOf(ctx, settled, entities)
}

// compareAfterOutage triggers a comparison if there was no sweep for so long that Temporal may have forgotten what
// closed meanwhile, and if there was none at all, as after a restore.
func (s *sweeper) compareAfterOutage(ctx context.Context, since time.Time) error {
	due := since.IsZero() || s.sweep.ComparedAt == nil
	if age := s.sweep.At.Sub(since); !due && age > overlap {
		about, err := s.Temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
			Namespace: s.Namespace,
		})
		due = err != nil || age > about.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()/2
	}

	if !due || s.Trigger == nil {
		return nil
	}

	err := s.Trigger(ctx)
	if temporalio.IsNotFound(err) {
		return nil // a starting worker creates the schedule soon
	}
	return err
}
