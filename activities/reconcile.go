package activities

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// Reconciler keeps the record and Temporal agreeing when an operator terminates or resets a workflow, when a start was lost, or
// when one of the two was restored from a backup.
type Reconciler struct {
	Temporal client.Client
	Records  *Records
	Log      *slog.Logger
	// StartDelivery starts a job's workflow; ShowDelivery tells it the state that the record has.
	StartDelivery func(ctx context.Context, jobID int64, workflowID string, ownerID int64) error
	ShowDelivery  func(ctx context.Context, workflowID string, state lifecycle.DeliveryState) error
	// TellDelivery tells a job's workflow of an attempt that was lost; EndDelivery lets it read its end from the record.
	TellDelivery      func(ctx context.Context, workflowID string, attempt lifecycle.Attempt) error
	EndDelivery       func(ctx context.Context, workflowID string) error
	DeliveryHeartbeat time.Duration           // a held job whose heartbeat is older may have lost its worker
	Payloads          converter.DataConverter // of what Temporal keeps; nil: the SDK's own
	Tasks             TaskKeeper
	Downloads         DownloadKeeper
	// EnsureDownloadSync makes sure that the watcher runs; nil: downloads are off.
	EnsureDownloadSync func(ctx context.Context) error
	Transactions       TransactionKeeper
	Wallet             string        // whose monitor must run; empty: none
	StuckAfter         time.Duration // a transaction in processing for longer
	Every              time.Duration // between two looks
	Grace              time.Duration // a workflow whose row ended, or one that began, within this time may be about to follow; default 30 s

	OnFinding   func(workload, finding string)  // counts new incidents; nil: nobody does
	OnSweep     func(err error)                 // counts looks; nil: nobody does
	Counts      *Counts                         // kept between two looks; nil: nobody does
	Media       *MediaSweep                     // the same with what the record says of files
	Watch       func(ctx context.Context) error // raises and closes the alerts about the whole; nil: nobody does
	SweptSignal string                          // how the reconciler's own workflow is told of a sweep
}

const (
	settled   = 5 * time.Second  // a younger job may still be on its way to Temporal
	silent    = 15 * time.Second // a worker whose heartbeat is younger may still be about to write
	vanished  = time.Minute      // an open finding that was not met for so long has gone by itself
	tellEvery = 5 * time.Minute  // what was swept, while nothing is found: each time costs events
	pageLimit = 1000
)

// Sweep is one look at everything, for people.
type Sweep struct {
	At       time.Time      `json:"at"`
	Millis   int64          `json:"ms"`
	Live     map[string]int `json:"live"`            // rows by workload
	Running  map[string]int `json:"running"`         // workflows by workload
	Findings int            `json:"findings"`        // new ones
	Day      map[string]int `json:"day,omitempty"`   // findings of the last 24 hours by kind
	Error    fault.Code     `json:"error,omitempty"` // why a part could not be looked at
}

// sweeper is what one life of the activity remembers from sweep to sweep.
type sweeper struct {
	*Reconciler
	grace    time.Duration
	sweep    Sweep
	resets   time.Time                    // terminated runs are looked at from here on
	suspects map[string]map[string]string // by workload: workflows that showed another state than the record has, and which
	told     time.Time
	overdue  map[string]time.Time // by transaction: the time of a retry that its workflow was told to look at
}

// Reconcile looks again and again for rows and workflows that have lost each other, until the activity's time is nearly over; the
// workflow then starts it anew. One request lists a thousand running workflows of a type, whatever their number; one that looks right
// costs no request of its own.
func (r *Reconciler) Reconcile(ctx context.Context) error {
	deadline := activity.GetInfo(ctx).Deadline.Add(-2 * r.Every)
	ticker := time.NewTicker(r.Every)
	defer ticker.Stop()
	ctx, stop := watched(ctx)
	if r.Counts != nil {
		defer r.Counts.wait()
	}
	if r.Media != nil {
		defer r.Media.wait()
	}
	defer stop() // before it is waited for them
	s := &sweeper{Reconciler: r, grace: cmp.Or(r.Grace, 30*time.Second), resets: time.Now().Add(-time.Hour), suspects: map[string]map[string]string{}, overdue: map[string]time.Time{}}
	for time.Now().Before(deadline) {
		progressed(ctx)
		err := s.look(ctx)
		if err != nil && ctx.Err() == nil {
			r.Log.Warn("reconciler could not look", "error", err) // an outage: the next look sees all
		}
		if r.OnSweep != nil {
			r.OnSweep(err)
		}
		progressed(ctx)
		r.keep(ctx)
		s.tell(ctx)
		if !rest(ctx, ticker.C) {
			return outcomeOf(ctx)
		}
	}
	return nil
}

// keep does what is done beside each look.
func (r *Reconciler) keep(ctx context.Context) {
	if r.Counts != nil {
		r.Counts.keep(ctx)
		progressed(ctx)
	}
	if r.Media != nil {
		r.Media.keep(ctx)
	}
	if r.Watch != nil {
		if err := r.Watch(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("alerts were not looked after", "error", err)
		}
		progressed(ctx)
	}
}

// look is one sweep over all workloads.
func (s *sweeper) look(ctx context.Context) error {
	began := time.Now()
	s.sweep = Sweep{At: began.UTC(), Live: map[string]int{}, Running: map[string]int{}}
	var err error
	for _, part := range []func(context.Context) error{s.losses, s.deliveries, s.tasks, s.downloads, s.transactions} {
		err = errors.Join(err, part(ctx))
		progressed(ctx)
	}
	if err == nil {
		s.resets = began.Add(-time.Minute) // Temporal's lists lag
		err = s.Records.Store.CloseVanishedFindings(ctx, vanished)
	}
	s.sweep.Millis = time.Since(began).Milliseconds()
	if err != nil {
		s.sweep.Error = asFault(err).Code
	}
	return err
}

// tell lets the reconciler's own workflow show what was swept: at once when something was found, else now and then.
func (s *sweeper) tell(ctx context.Context) {
	if s.SweptSignal == "" || ctx.Err() != nil || s.sweep.Findings == 0 && time.Since(s.told) < tellEvery {
		return
	}
	counts, err := s.Records.Store.FindingCounts(ctx, time.Now().Add(-24*time.Hour))
	if err == nil {
		s.sweep.Day = map[string]int{}
		for _, count := range counts {
			s.sweep.Day[count.Finding] += int(count.Count)
		}
		err = s.Temporal.SignalWorkflow(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, "", s.SweptSignal, s.sweep)
	}
	if err != nil {
		s.Log.Warn("the sweep is not shown", "error", err) // the next one is
		return
	}
	s.told = time.Now()
}

// sweep settles all live entities, a page at a time; settle gives the entity's id, after which the next page begins.
func sweep[E any](ctx context.Context, page func(after int64) ([]E, error), settle func(E) int64) error {
	for after := int64(0); ; {
		live, err := page(after)
		if err != nil || len(live) == 0 {
			return err
		}
		progressed(ctx)
		for _, entity := range live {
			after = settle(entity)
			progressed(ctx)
		}
	}
}

// mend records a finding and then does something about it; do says what it did, or nothing when the finding is none after all.
// A finding whose mending fails stays open: the next sweep meets it again.
func (s *sweeper) mend(ctx context.Context, f store.Finding, do func() (done string, err error)) error {
	noted, fresh, err := s.Records.Store.NoteFinding(ctx, f)
	if err != nil {
		return err
	}
	progressed(ctx)
	if fresh {
		s.sweep.Findings++
		if s.OnFinding != nil {
			s.OnFinding(f.Workload, f.Finding)
		}
	}
	if noted.Done == store.DoneRefreshed && time.Since(*noted.DoneAt) < ofOneRun {
		return nil // it was told: who does not listen is not shouted at
	}
	done, err := do()
	progressed(ctx)
	if err != nil {
		return err
	}
	s.Log.Info("reconciled", "workload", f.Workload, "entity", f.Entity, "finding", f.Finding, "done", done)
	return s.Records.Store.SettleFinding(ctx, noted.ID, done)
}

// ofOneRun is how long a workflow that was told to look at the record is not told again.
const ofOneRun = 10 * time.Minute
