package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// prepare does what a sweep begins with in each workload: what all its rows need, reminders that are due, and the rows
// that earlier sweeps could not settle.
func (s *sweeper) prepare(ctx context.Context, w service.Workload) error {
	if err := w.Prepare(ctx); err != nil {
		return err
	}

	unsettled, err := s.Store.Unsettled(ctx, w.Name(), pageLimit)
	if err != nil || len(unsettled) == 0 {
		return err
	}

	rows, err := w.LiveOf(ctx, settled, unsettled)
	if err != nil {
		return err
	}
	return s.Store.NoteUnsettled(ctx, w.Name(), unsettled, s.tryAll(ctx, w, rows, nil))
}

// look looks at what is new since the look before: workflows that closed, rows with events, and rows that are due for a
// reminder. A look that fails is repeated by the next sweep.
func (s *sweeper) look(ctx context.Context) error {
	look, err := s.Store.BeginLook(ctx, overlap, furthest)
	if err != nil {
		return err
	}

	closed, err := s.closed(ctx, look.Since.At)
	if err != nil {
		return err
	}

	if err := s.changed(ctx, look.Since, closed); err != nil {
		return err
	}

	for _, w := range s.Workloads {
		due, err := w.Due(ctx, look.Since.At)
		if err != nil {
			return err
		}
		s.remind(ctx, w, due)
	}

	return s.Store.EndLook(ctx, look)
}

// remind reminds the workflows of rows, and returns the rows for which that failed.
func (s *sweeper) remind(ctx context.Context, w service.Workload, rows []service.LiveRow) (left []service.LiveRow) {
	for _, row := range rows {
		temporalio.Progressed(ctx)
		if _, err := row.Remind(ctx); err != nil {
			s.Log.Warn("not reminded", "workload", w.Name(), "entity", row.About().Entity, "error", err)
			left = append(left, row)
		}
	}
	return left
}

// closedStatuses are named one by one: the lists of a server with an SQL database give running workflows a late CloseTime.
const closedStatuses = `"Completed", "Failed", "Canceled", "Terminated", "TimedOut"`

// closed settles the live rows of the workflows that closed since a moment, and returns these workflows.
func (s *sweeper) closed(ctx context.Context, since time.Time) (closed map[string]bool, err error) {
	var types []string
	for _, w := range s.Workloads {
		types = append(types, fmt.Sprintf("%q", w.WorkflowType()))
	}
	if s.Webhooks != nil {
		types = append(types, fmt.Sprintf("%q", lifecycle.WebhookType))
	}

	query := fmt.Sprintf(
		`WorkflowType IN (%s) AND ExecutionStatus IN (%s) AND CloseTime > %q`,
		strings.Join(types, ", "), closedStatuses, since.UTC().Format(time.RFC3339),
	)

	closed = map[string]bool{}
	return closed, eachPage(ctx, s.Temporal, query, func(page []*workflowpb.WorkflowExecutionInfo) error {
		reset := map[string]bool{} // a reset terminates the run that it replaces
		for _, info := range page {
			id := info.Execution.WorkflowId
			closed[id] = true
			reset[id] = reset[id] || info.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
		}
		s.sweep.Closed += len(page)

		for _, w := range s.Workloads {
			rows, err := liveOf(ctx, w, keysIn(w, page))
			if err == nil {
				err = s.settleAll(ctx, w, rows, reset)
			}
			if err != nil {
				return err
			}
		}

		if s.Webhooks == nil {
			return nil
		}
		return s.Webhooks.reopen(ctx, page)
	})
}

// keysIn returns the keys of a workload's workflows in a page. Workflows that were started by hand under other ids have
// none.
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

// changed looks at the rows with events since a mark.
func (s *sweeper) changed(ctx context.Context, since operations.Mark, closed map[string]bool) error {
	for after := (core.Cursor{XID: since.XID}); ; {
		page, err := s.Store.ChangedEntities(ctx, after, pageLimit)
		if err != nil {
			return err
		}

		entities := map[string][]string{} // by workload
		for _, e := range page {
			after = core.Cursor{XID: e.XID, ID: e.ID}
			if !slices.Contains(entities[e.Workload], e.Entity) {
				entities[e.Workload] = append(entities[e.Workload], e.Entity)
			}
		}

		for _, w := range s.Workloads {
			if err := s.changedOf(ctx, w, entities[w.Name()], closed); err != nil {
				return err
			}
		}

		temporalio.Progressed(ctx)
		if len(page) < pageLimit {
			return nil
		}
	}
}

// changedOf looks at changed rows of a workload: live ones whose workflow was never started, or may have ended before
// the row became live again, and those that have ended while their workflow runs.
func (s *sweeper) changedOf(ctx context.Context, w service.Workload, entities []string, closed map[string]bool) error {
	if len(entities) == 0 {
		return nil
	}

	s.sweep.Changed += len(entities)
	rows, err := w.LiveOf(ctx, settled, entities)
	if err != nil {
		return err
	}

	var asked, driven []service.LiveRow
	for _, row := range rows {
		if about := row.About(); about.NeverStarted || about.Reopens {
			asked = append(asked, row)
		} else {
			driven = append(driven, row)
		}
	}

	if err := s.settleAll(ctx, w, append(asked, s.remind(ctx, w, driven)...), nil); err != nil {
		return err
	}

	keys, err := w.Keys(ctx, entities)
	if err != nil {
		return err
	}
	return s.orphans(ctx, w, slices.DeleteFunc(keys, func(key string) bool { return closed[w.Name()+"/"+key] }))
}
