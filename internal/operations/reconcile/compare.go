package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// Compared is the result of comparing one workload.
type Compared struct {
	Workload string `json:"workload"`
	Live     int    `json:"live"`     // rows
	Running  int    `json:"running"`  // workflows
	Findings int    `json:"findings"` // new ones
	Millis   int64  `json:"ms"`
	Last     bool   `json:"last"` // no workload follows
}

// Compare compares all live rows with all running workflows of the workload that follows the one named after; empty: of
// the first one. It lists the workflows once and reads the live rows twice, in pages with a pause after each. Of a live
// row it keeps eight bytes.
//
// It finds what shows no trace of its own: a workflow that Temporal has forgotten, one without a row, and one that shows
// another state than the record. With the last workload it compares the webhooks, too.
func (r *Reconciler) Compare(ctx context.Context, after string) (Compared, error) {
	at := 1 + slices.IndexFunc(r.Workloads, func(w service.Workload) bool { return w.Name() == after })
	if at == len(r.Workloads) {
		return Compared{Last: true}, nil
	}

	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	began := time.Now()
	c := &comparer{sweeper: newSweeper(r), workload: r.Workloads[at]}
	if err := c.compare(ctx); err != nil {
		return Compared{}, cmp.Or(temporalio.LoopOutcome(ctx), temporalio.RetryUntilSeen(ctx, err))
	}

	result := Compared{
		Workload: c.workload.Name(), Live: len(c.rows.prints), Running: c.running, Findings: c.sweep.Findings,
		Millis: time.Since(began).Milliseconds(), Last: at == len(r.Workloads)-1,
	}
	if result.Last && r.Webhooks != nil {
		if err := r.Webhooks.Compare(ctx); err != nil {
			return Compared{}, cmp.Or(temporalio.LoopOutcome(ctx), temporalio.RetryUntilSeen(ctx, err))
		}
	}

	err := r.Store.SaveComparison(ctx, operations.Comparison{
		Workload: result.Workload, BeganAt: began, Live: result.Live, Running: result.Running,
	})
	return result, err
}

// comparer compares one workload.
type comparer struct {
	*sweeper
	workload service.Workload
	rows     liveRows
	running  int
	suspects map[string]suspect // by entity
	left     []string           // entities that could not be settled
}

// suspect is a workflow that has shown another state than the record had.
type suspect struct{ run, state string }

// compare reads the live rows, then lists the running workflows, and then reads the live rows again: each one that was
// there before the list and is not in it may have no workflow. Whatever it finds is asked for by itself, because the
// list and the rows change meanwhile.
func (c *comparer) compare(ctx context.Context) error {
	c.rows, c.suspects = newLiveRows(), map[string]suspect{}
	err := c.eachRows(ctx, func(page []service.LiveRow) error {
		for _, row := range page {
			c.rows.add(row.About())
		}
		return nil
	})
	if err != nil {
		return err
	}

	c.rows.sort()
	err = c.eachPage(ctx, open(c.workload.WorkflowType()), func(page []*workflowpb.WorkflowExecutionInfo) error {
		return c.listed(ctx, page)
	})
	if err == nil {
		err = c.confirm(ctx)
	}
	if err != nil {
		return err
	}

	err = c.eachRows(ctx, func(page []service.LiveRow) error {
		c.left = append(c.left, c.settleAll(ctx, c.workload, c.rows.lost(page), nil)...)
		return nil
	})
	if err != nil {
		return err
	}
	return c.tryAgain(ctx)
}

const (
	rowsPause = 50 * time.Millisecond // after each page of rows
	heldPause = 20 * time.Second      // by then the heartbeat of a lost worker is old
)

// eachRows calls do for the live rows, a page at a time.
func (c *comparer) eachRows(ctx context.Context, do func([]service.LiveRow) error) error {
	return eachPageOf(ctx, c.workload.Live, settled, func(page []service.LiveRow) error {
		temporalio.Progressed(ctx)
		if err := do(page); err != nil {
			return err
		}
		return pause(ctx, rowsPause)
	})
}

// tryAgain settles once more what could not be settled, such as a row whose worker was about to write.
func (c *comparer) tryAgain(ctx context.Context) error {
	if len(c.left) == 0 {
		return nil
	}
	if err := pause(ctx, heldPause); err != nil {
		return err
	}

	rows, err := c.workload.LiveOf(ctx, settled, c.left)
	if err == nil {
		c.settleAll(ctx, c.workload, rows, nil)
	}
	return err
}

// listed meets a page of running workflows: it terminates orphans, and notes those that show another state than their
// rows.
func (c *comparer) listed(ctx context.Context, page []*workflowpb.WorkflowExecutionInfo) error {
	c.running += len(page)
	var unknown, differing []*workflowpb.WorkflowExecutionInfo
	shown := map[string]suspect{} // by workflow
	for _, info := range page {
		id, stage := info.Execution.WorkflowId, stageOf(info.SearchAttributes)
		known, same := c.rows.meet(id, stage)
		switch {
		case !known && time.Since(info.GetStartTime().AsTime()) > c.grace:
			unknown = append(unknown, info)
		case known && !same:
			differing = append(differing, info)
			shown[id] = suspect{info.Execution.RunId, stage}
		}
	}

	if err := c.orphans(ctx, c.workload, keysIn(c.workload, unknown)); err != nil {
		return err
	}

	rows, err := liveOf(ctx, c.workload, keysIn(c.workload, differing))
	if err != nil {
		return err
	}
	for _, row := range rows {
		about := row.About()
		if listed := shown[about.WorkflowID]; listed.run != "" && listed.state != about.State {
			c.suspects[about.Entity] = suspect{listed.run, about.State}
		}
	}

	if len(c.suspects) < pageLimit {
		return nil
	}
	return c.confirm(ctx)
}

// confirm looks at the suspects once more, after some seconds: a workflow shows a state a moment after the record has
// it.
func (c *comparer) confirm(ctx context.Context) error {
	suspects := c.suspects
	c.suspects = map[string]suspect{}
	if len(suspects) == 0 {
		return nil
	}
	if err := pause(ctx, settled); err != nil {
		return err
	}

	entities := make([]string, 0, len(suspects))
	for entity := range suspects {
		entities = append(entities, entity)
	}
	rows, err := c.workload.LiveOf(ctx, settled, entities)
	if err != nil {
		return err
	}

	for _, row := range rows {
		about := row.About()
		was, is := suspects[about.Entity]
		if !is || was.state != about.State {
			continue
		}

		now, err := c.describe(ctx, about.WorkflowID)
		if err == nil && now.alive() && now.runID == was.run {
			f := operations.Finding{Workload: c.workload.Name(), Entity: about.Entity, WorkflowID: about.WorkflowID}
			err = c.refresh(ctx, f, row, now)
		}
		if err != nil {
			c.Log.Warn("not reconciled", "workload", c.workload.Name(), "entity", about.Entity, "error", err)
		}
	}
	return nil
}

// pause waits, so that nobody feels the comparison. A worker that stops leaves the rest to the next one.
func pause(ctx context.Context, d time.Duration) error {
	if temporalio.LoopWait(ctx, time.After(d)) {
		return nil
	}
	return cmp.Or(ctx.Err(), temporal.NewApplicationError("the worker stops", string(fault.WorkerLost)))
}

// lastComparison reads the numbers of the last comparison.
func (s *sweeper) lastComparison(ctx context.Context) error {
	list, err := s.Store.Comparisons(ctx)
	if err != nil {
		return err
	}

	for _, c := range list {
		s.sweep.Live[c.Workload], s.sweep.Running[c.Workload] = c.Live, c.Running
		if s.sweep.ComparedAt == nil || c.BeganAt.Before(*s.sweep.ComparedAt) {
			s.sweep.ComparedAt = new(c.BeganAt.UTC())
		}
	}
	if len(list) < len(s.Workloads) {
		s.sweep.ComparedAt = nil
	}
	return nil
}
