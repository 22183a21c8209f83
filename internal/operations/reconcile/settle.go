package reconcile

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// settleAll settles live rows, and returns the entities to query again; reset has the workflows with a recently
// terminated run.
func (s *sweeper) settleAll(
	ctx context.Context, w service.Workload, rows []service.LiveRow, reset map[string]bool,
) (left []string) {
	for _, row := range rows {
		temporalio.Progressed(ctx)
		about := row.About()
		done, err := s.settle(ctx, w, row, reset[about.WorkflowID])
		if err != nil {
			// One bad row never stops the others.
			s.Log.Warn("not reconciled", "workload", w.Name(), "entity", about.Entity, "error", err)
		}
		if err != nil || !done {
			left = append(left, about.Entity)
		}
	}
	return left
}

// settle makes sure that a live row is driven, by querying Temporal about the row's workflow. done: false if that must
// be repeated later.
func (s *sweeper) settle(ctx context.Context, w service.Workload, row service.LiveRow, reset bool) (done bool, err error) {
	about := row.About()
	f := operations.Finding{Workload: w.Name(), Entity: about.Entity, WorkflowID: about.WorkflowID}
	if about.NeverStarted { // the workflow under its id may be the previous row's
		f.Finding = operations.FindingNotStarted
		return true, s.repair(ctx, f, started(row.Start))
	}

	live, err := row.StillLive(ctx)
	if err != nil || !live {
		return true, err
	}

	now, err := s.describe(ctx, about.WorkflowID)
	switch {
	case err != nil:
		return false, err
	case now.alive():
		if !reset {
			return true, nil
		}
		return true, s.refresh(ctx, f, row, now)
	case about.Held:
		return false, nil
	}

	f.RunID, f.Finding = now.runID, now.finding()
	return true, s.repair(ctx, f, s.recovery(row, f, now))
}

// recovery chooses the repair of a live row whose workflow was lost.
func (s *sweeper) recovery(row service.LiveRow, f operations.Finding, now execution) repair {
	about := row.About()
	switch {
	case f.Finding == operations.FindingMissing && about.Resumes:
		return started(row.Start)
	case f.Finding == operations.FindingTooLong && about.Replaceable:
		return started(row.Restart)
	default:
		loss := service.Loss{Finding: f.Finding, Completed: now.status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED}
		return func(ctx context.Context) (string, error) {
			if restarted, err := row.End(ctx, loss); restarted || err != nil {
				return operations.DoneStarted, err
			}
			return operations.DoneEnded, nil
		}
	}
}

// repair acts on a finding and returns what it has done.
type repair func(ctx context.Context) (done string, err error)

func started(start func(context.Context) error) repair {
	return func(ctx context.Context) (string, error) { return operations.DoneStarted, start(ctx) }
}

// repair records a finding and then acts on it. A finding whose repair fails stays open: the next sweep finds it again.
func (s *sweeper) repair(ctx context.Context, f operations.Finding, do repair) error {
	noted, fresh, err := s.Store.NoteFinding(ctx, f)
	if err != nil {
		return err
	}

	temporalio.Progressed(ctx)
	if fresh {
		s.sweep.Findings++
		if s.OnFinding != nil {
			s.OnFinding(f.Workload, f.Finding)
		}
	}

	if noted.Done == operations.DoneRefreshed && time.Since(*noted.DoneAt) < refreshAgainAfter {
		return nil
	}

	done, err := do(ctx)
	temporalio.Progressed(ctx)
	if err != nil {
		return err
	}

	s.Log.Info("reconciled", "workload", f.Workload, "entity", f.Entity, "finding", f.Finding, "done", done)
	return s.Store.SettleFinding(ctx, noted.ID, done)
}

// refreshAgainAfter is the minimum interval between refresh signals to a workflow that ignores them.
const refreshAgainAfter = 10 * time.Minute

// refresh signals a running workflow to read the record again if it was reset, or if it shows another state than the
// record.
func (s *sweeper) refresh(ctx context.Context, f operations.Finding, row service.LiveRow, now execution) error {
	about := row.About()
	if now.busy || !now.reset && now.stage == about.State {
		return nil
	}
	if about.Fleeting && !now.reset {
		return row.Refresh(ctx)
	}

	f.RunID, f.Finding = now.runID, operations.FindingStale
	if now.reset {
		f.Finding = operations.FindingReset
	}
	return s.repair(ctx, f, func(ctx context.Context) (string, error) { return operations.DoneRefreshed, row.Refresh(ctx) })
}

// orphans terminates the workflows among these whose rows have ended, or do not exist. Young workflows, and those about
// to end, are left alone.
func (s *sweeper) orphans(ctx context.Context, w service.Workload, keys []string) error {
	if len(keys) == 0 {
		return nil
	}

	driven, err := w.Driven(ctx, keys)
	if err != nil {
		return err
	}

	for _, key := range keys {
		row, known := driven.Rows[key]
		if !driven.Possible[key] || known && (!row.Over || row.Changed < s.grace) {
			continue
		}
		if err := s.orphan(ctx, w.Name(), key, row); err != nil {
			s.Log.Warn("workflow not reconciled", "workload", w.Name(), "workflow", key, "error", err)
		}
	}

	temporalio.Progressed(ctx)
	return nil
}

func (s *sweeper) orphan(ctx context.Context, workload, key string, row core.DrivenRow) error {
	f := operations.Finding{
		Workload: workload, Entity: row.Entity, WorkflowID: workload + "/" + key, Finding: operations.FindingOver,
	}

	reason := "reconciler: the record has the end of this " + workload
	if row.Entity == "" {
		f.Entity, f.Finding, reason = key, operations.FindingNoRow, "reconciler: the record knows no such "+workload
	}

	now, err := s.describe(ctx, f.WorkflowID)
	if err != nil || !now.alive() || time.Since(now.since) < s.grace {
		return err
	}

	f.RunID = now.runID
	return s.repair(ctx, f, func(ctx context.Context) (string, error) {
		err := s.Temporal.TerminateWorkflow(ctx, f.WorkflowID, f.RunID, reason)
		if temporalio.IsNotFound(err) {
			err = nil
		}
		return operations.DoneTerminated, err
	})
}
