// Package status tells how the whole is doing: what waits, what is held and for how long, whether a worker lives, what
// goes wrong. The HTTP door, the bot and the metrics show the same.
package status

import (
	"cmp"
	"context"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
)

const (
	freshFor     = time.Second // a status is not made anew within this time
	aboveFor     = time.Minute // who is above a limit is not looked for again within this time
	maxAbove     = 20          // of each limit
	errorsWithin = 24 * time.Hour
	maxErrors    = 10
	maxStuck     = 100
)

// Options configure a Reporter.
type Options struct {
	Store      *store.Store
	Temporal   client.Client
	Namespace  string        // of Temporal; default "default"
	Queue      string        // the task queue that deliveries wait in
	Queues     []string      // all task queues; default: that one
	StuckAfter time.Duration // how old a held job's heartbeat may grow; default 30 s
	PollGap    time.Duration // how old qBittorrent's last answer may grow; 0: there is no qBittorrent
	Log        *slog.Logger  // default: none

	// TokenExpiry says when the storage's access token ends; zero when there is none, or when it never ends.
	TokenExpiry func(context.Context) (time.Time, error)
	// TokenRenews says whether the token is renewed without a person; nil: it is.
	TokenRenews func(context.Context) (bool, error)
}

// Reporter makes the status. It is safe for concurrent use.
type Reporter struct {
	o Options

	mu      sync.Mutex // guards what follows; held while a status is made, so that many who ask cost one
	last    Status
	above   []operations.AboveQuota
	aboveAt time.Time
}

// New makes a Reporter; it asks nobody yet.
func New(o Options) *Reporter {
	o.Namespace = cmp.Or(o.Namespace, client.DefaultNamespace)
	o.StuckAfter = cmp.Or(o.StuckAfter, 30*time.Second)
	if len(o.Queues) == 0 {
		o.Queues = []string{o.Queue}
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Reporter{o: o}
}

// Status is how the whole is doing. Times are seconds.
type Status struct {
	At         time.Time
	QueueDepth int64 // deliveries that wait for a worker
	// Temporal told the depth; else it is the record's count of QUEUED
	QueueKnown         bool
	InState            map[string]map[string]int64 // by workload; all states
	WorkerHeartbeatAge *float64                    // since a worker was last heard of; nil when there is none
	TokenExpiresIn     *float64                    // of the storage's access token; nil when unknown or endless
	TopErrors          []operations.ErrorCount     // of the last 24 hours
	StuckJobs          []int64                     // held jobs whose heartbeat is too old

	AboveLimits []operations.AboveQuota // users who have more than a limit allows, as of the last minute

	QBittorrent *QBittorrent // nil when there is none

	Overview
}

// Now gives a status that is at most a second old. Only the record has to be there: what Temporal or the token's keeper
// cannot say is left out.
func (r *Reporter) Now(ctx context.Context) (Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last.At) < freshFor {
		return r.last, nil
	}
	status, err := r.make(core.Reserved(ctx)) // it is asked when something is wrong
	if err == nil {
		r.last = status
	}
	return status, err
}

func (r *Reporter) make(ctx context.Context) (Status, error) {
	s := Status{At: time.Now()}
	var err error
	if err := r.count(ctx, &s); err != nil {
		return s, err
	}
	if err := r.errors(ctx, &s); err != nil {
		return s, err
	}
	if s.StuckJobs, err = r.stuckJobs(ctx); err != nil {
		return s, err
	}
	if s.WorkerHeartbeatAge, err = r.o.Store.HeartbeatAge(ctx); err != nil {
		return s, err
	}

	s.QueueDepth = s.waiting()
	pollers := r.queues(ctx, &s)
	s.TokenExpiresIn = r.tokenExpiresIn(ctx)
	s.AboveLimits = r.aboveLimits(ctx)
	if err := r.downloads(ctx, &s); err != nil {
		return s, err
	}

	return s, r.overview(ctx, &s, pollers)
}

// count fills in how many entities are in which state, all states among them.
func (r *Reporter) count(ctx context.Context, s *Status) error {
	counts, err := r.o.Store.CountOverview(ctx, time.Now().Add(-recent))
	if err != nil {
		return err
	}

	s.InState = map[string]map[string]int64{}
	for _, workload := range lifecycle.Workloads {
		in := map[string]int64{}
		for _, state := range workload.Table.StateNames() {
			in[state] = counts.Counts[workload.Name][state]
		}
		s.InState[workload.Name] = in
	}

	s.countPayments(counts)
	s.OpenFindings, s.RecentFindings = counts.OpenFindings, counts.RecentFindings
	return nil
}

// code is what an error of a job looks like; anything else that got there is not shown.
var code = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

// errors fills in what was met most often lately: by deliveries, and by all workloads.
func (r *Reporter) errors(ctx context.Context, s *Status) error {
	found, err := r.o.Store.WorkloadErrors(ctx, time.Now().Add(-errorsWithin), maxErrors)
	for _, e := range found {
		if !code.MatchString(e.Code) && !isMessage(e) {
			e.Code = "OTHER"
		}
		s.addDeliveryError(e)
		if len(s.Errors) < maxErrors {
			s.Errors = append(s.Errors, e)
		}
	}

	return err
}

// aboveLimits looks who is above a limit, once a minute. When that cannot be told in time it is what was known before.
func (r *Reporter) aboveLimits(ctx context.Context) []operations.AboveQuota {
	if time.Since(r.aboveAt) < aboveFor {
		return r.above
	}

	r.aboveAt = time.Now()
	above, err := r.o.Store.AboveQuotas(ctx, maxAbove)
	if err != nil {
		r.o.Log.Warn("who is above a limit is unknown", "error", err)
		return r.above
	}

	r.above = above
	return above
}

func (r *Reporter) tokenExpiresIn(ctx context.Context) *float64 {
	if r.o.TokenExpiry == nil {
		return nil
	}

	at, err := r.o.TokenExpiry(ctx)
	if err != nil {
		r.o.Log.Warn("the end of the storage's token is unknown", "error", err)
		return nil
	}
	if at.IsZero() {
		return nil
	}

	left := max(0, time.Until(at).Seconds())
	return &left
}

func younger(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
