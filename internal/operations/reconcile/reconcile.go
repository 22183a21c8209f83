// Package reconcile makes the record and Temporal agree: the reconciler while both run, Restore after one of them was
// set back.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// Store is what the reconciler needs of the record.
type Store interface {
	NoteFinding(ctx context.Context, f operations.Finding) (noted operations.Finding, fresh bool, err error)
	SettleFinding(ctx context.Context, id int64, done string) error
	CloseVanishedFindings(ctx context.Context, age time.Duration) error
	FindingCounts(ctx context.Context, since time.Time) ([]operations.FindingCount, error)

	BeginLook(ctx context.Context, overlap, furthest time.Duration) (operations.Look, error)
	EndLook(ctx context.Context, look operations.Look) error
	ChangedEntities(ctx context.Context, after core.Cursor, limit int) ([]operations.ChangedEntity, error)
	Unsettled(ctx context.Context, workload string, limit int) ([]string, error)
	NoteUnsettled(ctx context.Context, workload string, tried, left []string) error
	Comparisons(ctx context.Context) ([]operations.Comparison, error)
	SaveComparison(ctx context.Context, c operations.Comparison) error
}

// Reconciler finds live rows without a running workflow, and running workflows without a live row, and repairs them:
// when an operator terminates or resets a workflow, when a start was lost, or when one of the two was restored from a
// backup. Reconcile looks at differences, three times a minute. Compare compares everything, once an hour.
type Reconciler struct {
	Temporal  client.Client
	Store     Store
	Workloads []service.Workload
	Log       *slog.Logger
	// a workflow whose row ended, or one that began, within this time may be about to follow; default 30 s
	Grace time.Duration
	// between two pages of a comparison; default 500 ms
	Pace time.Duration

	OnFinding func(workload, finding string)  // counts new incidents; nil: not counted
	OnSweep   func(err error)                 // counts sweeps; nil: not counted
	Trigger   func(ctx context.Context) error // starts a comparison soon, unless one runs; nil: nobody does
	Webhooks  *Webhooks                       // kept after each sweep; nil: none
	Watch     func(ctx context.Context) error // raises and closes the alerts about the service; nil: none
}

const (
	settled   = 5 * time.Second // a younger row may still be on its way to Temporal
	vanished  = time.Minute     // an open finding that was not met for so long counts as gone
	pageLimit = 1000

	overlap      = time.Minute      // of two sweeps: Temporal's lists lag, and what is younger than Grace is looked at later
	furthest     = 2 * time.Hour    // that a sweep looks back after an outage
	compareAfter = 90 * time.Minute // an older comparison is not left to its schedule
)

// Sweep is the result of one sweep, for people.
type Sweep struct {
	At       time.Time      `json:"at"`
	Millis   int64          `json:"ms"`
	Closed   int            `json:"closed"`        // workflows that it has looked at because they closed
	Changed  int            `json:"changed"`       // rows that it has looked at because they changed
	Findings int            `json:"findings"`      // new ones
	Day      map[string]int `json:"day,omitempty"` // findings of the last 24 hours by kind

	// Of the last comparison.
	ComparedAt *time.Time     `json:"compared_at,omitempty"` // when it began; nil: not all workloads were compared yet
	Live       map[string]int `json:"live"`                  // rows by workload
	Running    map[string]int `json:"running"`               // workflows by workload
}

// Reconcile is one sweep. It looks at what is new since the one before: a row or workflow that nothing happens to costs
// nothing. A sweep that could not check everything fails, and is repeated.
func (r *Reconciler) Reconcile(ctx context.Context) (Sweep, error) {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	s := newSweeper(r)
	err := s.sweepAll(ctx)
	if r.OnSweep != nil {
		r.OnSweep(err)
	}

	temporalio.Progressed(ctx)
	r.keep(ctx)
	if err != nil {
		return Sweep{}, cmp.Or(temporalio.LoopOutcome(ctx), temporalio.RetryUntilSeen(ctx, err))
	}
	return s.sweep, temporalio.LoopOutcome(ctx)
}

// keep does what accompanies each sweep.
func (r *Reconciler) keep(ctx context.Context) {
	if r.Webhooks != nil {
		r.Webhooks.keep(ctx)
		temporalio.Progressed(ctx)
	}

	if r.Watch != nil {
		if err := r.Watch(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("alerts were not looked after", "error", err)
		}
		temporalio.Progressed(ctx)
	}
}

// sweeper is what one attempt of an activity remembers.
type sweeper struct {
	*Reconciler
	grace time.Duration
	sweep Sweep
}

func newSweeper(r *Reconciler) *sweeper {
	return &sweeper{Reconciler: r, grace: cmp.Or(r.Grace, 30*time.Second)}
}

// sweepAll is one sweep over all workloads.
func (s *sweeper) sweepAll(ctx context.Context) error {
	began := time.Now()
	s.sweep = Sweep{At: began.UTC(), Live: map[string]int{}, Running: map[string]int{}}

	var err error
	for _, workload := range s.Workloads {
		err = errors.Join(err, s.prepare(ctx, workload))
		temporalio.Progressed(ctx)
	}

	err = errors.Join(err, s.look(ctx), s.lastComparison(ctx))
	if err == nil {
		err = errors.Join(s.Store.CloseVanishedFindings(ctx, vanished), s.countFindings(ctx))
	}

	s.sweep.Millis = time.Since(began).Milliseconds()
	return err
}

// countFindings adds the findings of the last 24 hours to the sweep.
func (s *sweeper) countFindings(ctx context.Context) error {
	counts, err := s.Store.FindingCounts(ctx, time.Now().Add(-24*time.Hour))
	if err != nil {
		return err
	}

	s.sweep.Day = map[string]int{}
	for _, count := range counts {
		s.sweep.Day[count.Finding] += int(count.Count)
	}
	return nil
}
