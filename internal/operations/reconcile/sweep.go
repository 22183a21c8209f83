package reconcile

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// workload settles every live row whose workflow does not run, and every workflow that runs without a live row.
func (s *sweeper) workload(ctx context.Context, w service.Workload) error {
	if err := w.Prepare(ctx); err != nil {
		return err
	}

	v, err := s.view(ctx, w)
	if err != nil {
		return err
	}

	err = eachLive(ctx, w, settled, func(row service.LiveRow) error {
		s.sweep.Live[w.Name()]++
		temporalio.Progressed(ctx)
		if err := s.settle(ctx, v, row); err != nil {
			// One bad row never stops the others.
			s.Log.Warn("not reconciled", "workload", w.Name(), "entity", row.About().Entity, "error", err)
		}
		return nil
	})
	if err != nil {
		return err
	}

	return s.orphans(ctx, v)
}

// eachLive calls do for the live rows of a workload that were made at least age ago, a page at a time. The first error
// of do ends it.
func eachLive(ctx context.Context, w service.Workload, age time.Duration, do func(service.LiveRow) error) error {
	for after := int64(0); ; {
		page, err := w.Live(ctx, age, after, pageLimit)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, row := range page {
			if err := do(row); err != nil {
				return err
			}
			after = row.About().ID
		}
	}
}

// settle makes sure that a live row is driven. The list of running workflows lags, so settle describes a workflow that
// the list lacks.
func (s *sweeper) settle(ctx context.Context, v *view, row service.LiveRow) error {
	about := row.About()
	f := operations.Finding{Workload: v.Name(), Entity: about.Entity, WorkflowID: about.WorkflowID}
	listed, runs := v.meet(about.WorkflowID)
	switch {
	case about.NeverStarted: // the workflow under its id may be that of the previous row
		f.Finding = operations.FindingNotStarted
		return s.repair(ctx, f, started(row.Start))
	case runs:
		if done, err := row.Remind(ctx); done || err != nil {
			return err
		}
		return s.refresh(ctx, v, f, listed, row)
	}

	live, err := row.StillLive(ctx)
	if err != nil || !live {
		return err
	}

	now, err := s.describe(ctx, about.WorkflowID)
	if err != nil || now.alive() || about.Held {
		return err
	}

	f.RunID, f.Finding = now.runID, now.finding()
	return s.repair(ctx, f, s.recovery(row, f, now))
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

// repair records a finding and then acts on it. A finding whose repair fails stays open: the next sweep meets it again.
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

// refreshAgainAfter limits the signals to a workflow that ignores the refresh signal: it gets one in this time.
const refreshAgainAfter = 10 * time.Minute

// refresh signals a running workflow to read the record again when it was reset, or when it has shown another state
// than the record has in two sweeps.
func (s *sweeper) refresh(ctx context.Context, v *view, f operations.Finding, listed execution, row service.LiveRow) error {
	state := row.About().State
	differs := listed.stage != state
	if differs {
		v.suspects[f.WorkflowID] = listed.runID + state
	}

	again := s.suspects[v.Name()][f.WorkflowID] == listed.runID+state
	if !v.reset[f.WorkflowID] && (!differs || !again) {
		return nil
	}

	now, err := s.describe(ctx, f.WorkflowID)
	if err != nil || !now.alive() || now.busy || !now.reset && now.stage == state {
		return err
	}
	if row.About().Fleeting && !now.reset {
		return row.Refresh(ctx)
	}

	f.RunID, f.Finding = now.runID, operations.FindingStale
	if now.reset {
		f.Finding = operations.FindingReset
	}
	return s.repair(ctx, f, func(ctx context.Context) (string, error) { return operations.DoneRefreshed, row.Refresh(ctx) })
}
