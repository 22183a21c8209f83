package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

type Compared struct {
	Workload string `json:"workload"`
	Live     int    `json:"live"`     // rows
	Running  int    `json:"running"`  // workflows
	Findings int    `json:"findings"` // new ones
	Outdated int    `json:"outdated"` // workflows with an older revision than their rows, which were notified
	Millis   int64  `json:"ms"`
	Last     bool   `json:"last"` // no workload follows
}

// Compare compares all live rows with all running workflows of the workload after the given one; empty: of the first
// one. It lists the workflows once and reads the live rows twice, in pages with a pause after each. It keeps eight
// bytes per live row.
//
// It finds what leaves no trace of its own: a workflow that Temporal has forgotten, one without a row, and one that
// shows another state, or an older revision, than the record. With the last workload it also compares the webhooks.
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
		Workload: c.workload.Name(), Live: len(c.rows.prints), Running: c.running, Findings: c.sweep.Findings, Outdated: c.outdated,
		Millis: time.Since(began).Milliseconds(), Last: at == len(r.Workloads)-1,
	}
	if result.Last && r.Webhooks != nil {
		if err := r.Webhooks.Compare(ctx); err != nil {
			return Compared{}, cmp.Or(temporalio.LoopOutcome(ctx), temporalio.RetryUntilSeen(ctx, err))
		}
	}

	answered := began
	if c.silent > 0 { // the next comparison asks those again
		answered = c.since
	}
	err := r.Store.SaveComparison(ctx, operations.Comparison{
		Workload: result.Workload, BeganAt: began, AnsweredAt: answered, Live: result.Live, Running: result.Running,
	})
	return result, err
}

// comparer compares one workload.
type comparer struct {
	*sweeper
	workload service.Workload
	rows     liveRows
	running  int
	outdated int
	silent   int                // workflows that did not answer
	since    time.Time          // all rows older than this have been compared with their workflows' revisions
	suspects map[string]suspect // by entity
	left     []string           // entities that could not be settled
}

// suspect is a workflow that has shown another state than the record.
type suspect struct{ run, state string }

// compare reads the live rows, then lists the running workflows, and then reads the live rows again: each one that was
// there before the list but is not in it may have no workflow. Each finding is then queried individually, because the
// list and the rows change meanwhile.
func (c *comparer) compare(ctx context.Context) error {
	c.rows, c.suspects = newLiveRows(), map[string]suspect{}
	last, err := c.Store.Comparisons(ctx)
	if err != nil {
		return err
	}
	for _, one := range last {
		if one.Workload == c.workload.Name() {
			c.since = one.AnsweredAt
		}
	}

	err = c.eachRows(ctx, func(page []service.LiveRow) error {
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
		for _, row := range page {
			if err := c.catchUp(ctx, row); err != nil {
				c.silent++
				c.Log.Warn("not compared", "workload", c.workload.Name(), "entity", row.About().Entity, "error", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.tryAgain(ctx)
}

// catchUp makes a running workflow read its row if it has an older revision of it. That alone is not a finding: a
// running activity may have written the row. What has not changed since its workflow last answered was compared then,
// and what has just changed is left to the next comparison.
func (c *comparer) catchUp(ctx context.Context, row service.LiveRow) error {
	about := row.About()
	if about.Revision == 0 || about.NeverStarted || c.silent == mostSilent || about.Changed.Before(c.since.Add(-settled)) || time.Since(about.Changed) < settled {
		return nil
	}

	temporalio.Progressed(ctx)
	asking, cancel := context.WithTimeout(ctx, queryPatience)
	defer cancel()
	value, err := c.Temporal.QueryWorkflow(asking, about.WorkflowID, "", lifecycle.StateQuery)
	if temporalio.IsNotFound(err) {
		return nil
	}

	var shown struct {
		Version int64 `json:"version"`
	}
	if err == nil {
		err = value.Get(&shown)
	}
	if err != nil || shown.Version >= about.Revision {
		return err
	}

	c.outdated++
	return row.Refresh(ctx)
}

const (
	queryPatience = 3 * time.Second
	mostSilent    = 3                     // workflows without an answer: no worker answers, so a comparison stops asking
	rowsPause     = 50 * time.Millisecond // after each page of rows
	heldPause     = 20 * time.Second      // by then a lost worker's heartbeat is old
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

// tryAgain retries what could not be settled, such as a row whose worker was about to write.
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

// listed processes a page of running workflows: it terminates orphans, and records those that show another state than
// their rows.
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

// confirm checks the suspects again after some seconds: a workflow shows a state slightly after it was recorded.
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

// pause waits, so that the comparison puts little load on others. A stopping worker leaves the rest to the next one.
func pause(ctx context.Context, d time.Duration) error {
	if temporalio.LoopWait(ctx, time.After(d)) {
		return nil
	}
	return cmp.Or(ctx.Err(), temporal.NewApplicationError("the worker stops", string(fault.WorkerLost)))
}

// lastComparison reads the last comparison's numbers.
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
