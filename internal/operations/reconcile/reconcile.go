// Package reconcile makes the record and Temporal agree: the reconciler while both run, Restore after one of them was
// restored from a backup.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/time/rate"

	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// Store is what the reconciler needs from the record.
type Store interface {
	NoteFinding(ctx context.Context, f operations.Finding) (noted operations.Finding, fresh bool, err error)
	SettleFinding(ctx context.Context, id int64, done string) error
	CloseVanishedFindings(ctx context.Context, age time.Duration) error
	FindingCounts(ctx context.Context, since time.Time) ([]operations.FindingCount, error)

	Comparisons(ctx context.Context) ([]operations.Comparison, error)
	SaveComparison(ctx context.Context, c operations.Comparison) error
}

// Reconciler finds live rows without a running workflow, and running workflows without a live row, and repairs them:
// when an operator terminates or resets a workflow, when a start was lost, or when one of the two was restored from a
// backup. Reconcile checks what is new, three times a minute. Compare compares everything, once an hour.
type Reconciler struct {
	Temporal  client.Client
	Namespace string // of Temporal
	Store     Store
	Workloads []service.Workload
	Log       *slog.Logger
	// a workflow whose row ended, or one that began, within this time may be about to follow; default 30 s
	Grace time.Duration
	Lists *rate.Limiter // of visibility requests, whose capacity all users of a server share; nil: no limit

	OnFinding func(workload, finding string)  // counts new incidents; nil: not counted
	OnSweep   func(err error)                 // counts sweeps; nil: not counted
	Trigger   func(ctx context.Context) error // starts a comparison soon, unless one is running; nil: none is started
	Webhooks  *Webhooks                       // whose workflows are kept running, too; nil: none
}

// ListsPerSecond is a fifth of the visibility requests that a server allows per namespace by default.
const ListsPerSecond = 2

const (
	settled   = 5 * time.Second // a younger row may still be on its way to Temporal
	vanished  = time.Minute     // an open finding not found for this long counts as gone
	pageLimit = 1000

	overlap       = 5 * time.Minute // of two sweeps: Temporal's lists lag
	mostUnsettled = 1000            // rows that a sweep hands to the next one
)

// Sweep is the result of one sweep, for people and for the next sweep.
type Sweep struct {
	At       time.Time      `json:"at"`
	Millis   int64          `json:"ms"`
	Closed   int            `json:"closed"`        // workflows checked because they closed before their end
	Findings int            `json:"findings"`      // new ones
	Day      map[string]int `json:"day,omitempty"` // findings of the last 24 hours by kind

	// The next sweep's starting point.
	Since     time.Time           `json:"since"`               // it checks workflows that closed after this, less overlap
	Unsettled map[string][]string `json:"unsettled,omitempty"` // entities that could not be settled, by workload

	// From the last comparison.
	ComparedAt *time.Time     `json:"compared_at,omitempty"` // when it began; nil: not all workloads were compared yet
	Live       map[string]int `json:"live"`                  // rows by workload
	Running    map[string]int `json:"running"`               // workflows by workload
}

// Reconcile is one sweep. It continues from the last one; the zero Sweep means none. An idle row or workflow costs
// nothing. A sweep that could not check everything fails, and is retried.
func (r *Reconciler) Reconcile(ctx context.Context, last Sweep) (Sweep, error) {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	s := newSweeper(r)
	err := s.sweepAll(ctx, last)
	if r.OnSweep != nil {
		r.OnSweep(err)
	}

	if err != nil {
		return Sweep{}, cmp.Or(temporalio.LoopOutcome(ctx), temporalio.RetryUntilSeen(ctx, err))
	}
	return s.sweep, temporalio.LoopOutcome(ctx)
}

// sweeper is the state of one attempt of an activity.
type sweeper struct {
	*Reconciler
	grace time.Duration
	sweep Sweep
}

func newSweeper(r *Reconciler) *sweeper {
	return &sweeper{Reconciler: r, grace: cmp.Or(r.Grace, 30*time.Second)}
}

// sweepAll is one sweep over all workloads.
func (s *sweeper) sweepAll(ctx context.Context, last Sweep) error {
	began := time.Now()
	s.sweep = Sweep{
		At: began.UTC(), Since: began.UTC(), Unsettled: map[string][]string{}, Live: map[string]int{}, Running: map[string]int{},
	}

	var err error
	for _, workload := range s.Workloads {
		err = errors.Join(err, s.prepare(ctx, workload, last.Unsettled[workload.Name()]))
		temporalio.Progressed(ctx)
	}

	err = errors.Join(err, s.closed(ctx, last.Since), s.lastComparison(ctx), s.compareAfterOutage(ctx, last.Since))
	if err == nil {
		err = errors.Join(s.Store.CloseVanishedFindings(ctx, vanished), s.countFindings(ctx))
	}

	s.boundUnsettled(last.Since)
	s.sweep.Millis = time.Since(began).Milliseconds()
	return err
}

// boundUnsettled keeps a sweep's result small. The next sweep finds what is left out by going back as far as this one.
func (s *sweeper) boundUnsettled(since time.Time) {
	room := mostUnsettled
	for name, left := range s.sweep.Unsettled {
		if len(left) > room {
			s.sweep.Unsettled[name], s.sweep.Since = left[:room], since
		}
		room -= len(s.sweep.Unsettled[name])
	}
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
