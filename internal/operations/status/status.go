// Package status reports the state of the service: what waits, what is held and for how long, whether a worker is
// alive, what fails. The HTTP API, the bot and the metrics show the same.
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
	// The minimum age before a status is read again. It is less than the 150 ms that an open page waits after an event, so
	// that the page never shows the state before the event.
	freshFor     = 100 * time.Millisecond
	aboveFor     = time.Minute // minimum age before users above a limit are read again
	maxAbove     = 20          // per limit
	errorsWithin = 24 * time.Hour
	maxErrors    = 10
	maxStuck     = 100
)

// Options configure a Reporter.
type Options struct {
	Store      *store.Store
	Temporal   client.Client
	Namespace  string        // of Temporal; default "default"
	Queue      string        // the task queue whose depth is QueueDepth; default: that of deliveries
	Queues     []string      // all task queues; default: that one
	StuckAfter time.Duration // maximum age of a claimed job's heartbeat; default 30 s
	PollGap    time.Duration // maximum age of qBittorrent's last answer; 0: there is no qBittorrent
	Log        *slog.Logger  // default: none

	// TokenExpiry returns when the storage's access token expires; zero: there is none, or it never expires.
	TokenExpiry func(context.Context) (time.Time, error)
	// TokenRenews reports whether the token is renewed automatically; nil: it is.
	TokenRenews func(context.Context) (bool, error)
}

// Reporter reads the status. It is safe for concurrent use.
type Reporter struct {
	o Options

	mu      sync.Mutex // guards the fields below; held while a status is read, so that concurrent requests cost one read
	last    Status
	above   []operations.AboveQuota
	aboveAt time.Time
}

// New returns a Reporter; it reads nothing yet.
func New(o Options) *Reporter {
	o.Namespace = cmp.Or(o.Namespace, client.DefaultNamespace)
	o.Queue = cmp.Or(o.Queue, lifecycle.DeliveryQueue)
	o.StuckAfter = cmp.Or(o.StuckAfter, 30*time.Second)
	if len(o.Queues) == 0 {
		o.Queues = []string{o.Queue}
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Reporter{o: o}
}

// Status is the state of the service. Times are seconds.
type Status struct {
	At                 time.Time
	QueueDepth         int64                       // deliveries that wait for a worker
	QueueKnown         bool                        // the depth is Temporal's; false: it is the record's count of QUEUED
	InState            map[string]map[string]int64 // by workload; all states
	WorkerHeartbeatAge *float64                    // since a worker's last heartbeat; nil: there is no worker
	TokenExpiresIn     *float64                    // of the storage's access token; nil if unknown or unlimited
	TopErrors          []operations.ErrorCount     // of the last 24 hours
	StuckJobs          []int64                     // claimed jobs whose heartbeat is too old

	AboveLimits []operations.AboveQuota // users who have more than a limit allows, as of the last minute

	QBittorrent *QBittorrent // nil if there is none

	Overview

	pollers []poller // processes that poll queues, from which workers are derived
}

// Now returns a status at most freshFor old. Only the record is required: unknown facts about Temporal and the
// storage's token are left out.
func (r *Reporter) Now(ctx context.Context) (Status, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if time.Since(r.last.At) < freshFor {
		return r.last, nil
	}

	ctx = core.Reserved(ctx) // people need it when something is wrong
	s := Status{At: time.Now()}
	for _, fill := range []func(context.Context, *Status) error{
		r.count, r.errors, r.jobs, r.queues, r.token, r.aboveLimits, r.qbittorrent,
		r.payments, r.watched,
	} {
		if err := fill(ctx, &s); err != nil {
			return s, err
		}
	}

	r.last = s
	return s, nil
}

// count fills in how many entities are in each state, empty states included.
func (r *Reporter) count(ctx context.Context, s *Status) error {
	counts, err := r.o.Store.Operations.CountOverview(ctx, time.Now().Add(-recent))
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

// code is the form of an error's code; a text of another form is not shown.
var code = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,59}$`)

// errors fills in the most frequent recent errors: of deliveries, and of all workloads.
func (r *Reporter) errors(ctx context.Context, s *Status) error {
	found, err := r.o.Store.Operations.WorkloadErrors(ctx, time.Now().Add(-errorsWithin), maxErrors)
	for _, e := range found {
		if !code.MatchString(e.Code) && !isMessage(e) {
			e.Code = "OTHER"
		}
		s.addJobError(e)
		if len(s.Errors) < maxErrors {
			s.Errors = append(s.Errors, e)
		}
	}

	return err
}

// aboveLimits reads once a minute which users are above a limit. If the read fails, the last answer stays.
func (r *Reporter) aboveLimits(ctx context.Context, s *Status) error {
	if time.Since(r.aboveAt) >= aboveFor {
		r.aboveAt = time.Now()
		above, err := r.o.Store.Operations.AboveQuotas(ctx, maxAbove)
		if err != nil {
			r.o.Log.Warn("reading users above limits failed", "error", err)
		} else {
			r.above = above
		}
	}

	s.AboveLimits = r.above
	return nil
}

// token fills in when the storage's token expires, if known.
func (r *Reporter) token(ctx context.Context, s *Status) error {
	if r.o.TokenExpiry == nil {
		return nil
	}

	at, err := r.o.TokenExpiry(ctx)
	switch {
	case err != nil:
		r.o.Log.Warn("expiry of the storage token unknown", "error", err)
	case !at.IsZero():
		s.TokenExpiresIn = new(max(0, time.Until(at).Seconds()))
	}

	return nil
}

// younger returns the smaller of two ages; nil is unknown.
func younger(a, b *float64) *float64 {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}
