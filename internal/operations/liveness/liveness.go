// Package liveness reports that a process is alive and whether the external systems answer it. It makes no calls of its
// own: the outcomes of calls made anyway are kept in memory, and written to the record every few seconds.
package liveness

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
)

// Store is what a reporter needs from the record.
type Store interface {
	SaveHeartbeat(ctx context.Context, p operations.Process, seen []operations.OutsideSystem) error
	ForgetProcess(ctx context.Context, identity string) error
}

// Options configure a Reporter.
type Options struct {
	Store    Store
	Identity string // of this process in Temporal
	Service  string
	Version  string
	Every    time.Duration // between two heartbeats; default 5 s
	Log      *slog.Logger  // default: none
}

// Reporter is safe for concurrent use.
type Reporter struct {
	o        Options
	started  time.Time
	inFlight atomic.Int64 // activities

	mu   sync.Mutex
	seen map[string]operations.OutsideSystem // since the last recorded heartbeat
}

// New returns a Reporter; Run sends the heartbeats.
func New(o Options) *Reporter {
	o.Every = cmp.Or(o.Every, 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Reporter{o: o, started: time.Now(), seen: map[string]operations.OutsideSystem{}}
}

// Noting returns a function that records the outcome of calls to one system.
func (r *Reporter) Noting(system string) func(error) {
	return func(err error) { r.Note(system, err) }
}

// Note records the outcome of a call. A refusal of the request itself counts as an answer.
func (r *Reporter) Note(system string, err error) {
	if errors.Is(err, context.Canceled) {
		return // cancelled by the caller
	}

	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()

	seen := r.seen[system]
	seen.Name = system
	if code := failure(err); code != "" {
		seen.FailedAt, seen.Error = &now, code
	} else {
		seen.SucceededAt = &now
	}

	r.seen[system] = seen
}

// failure returns the code of an error that concerns the system itself; empty: none.
func failure(err error) string {
	f := fault.As(err)
	switch {
	case err == nil:
		return ""
	case f == nil:
		return string(fault.Internal)
	case f.Retryable:
		return string(f.Code)
	}

	for _, ending := range []string{"_UNAUTHORIZED", "_PROTOCOL", "_VERIFY"} {
		if strings.HasSuffix(string(f.Code), ending) {
			return string(f.Code)
		}
	}
	return ""
}

// Run sends heartbeats until ctx ends, and then removes the process from the record.
func (r *Reporter) Run(ctx context.Context) {
	ticker := time.NewTicker(r.o.Every)
	defer ticker.Stop()

	for {
		r.heartbeat(ctx)
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = r.o.Store.ForgetProcess(ctx, r.o.Identity) // otherwise the record forgets it later
			return
		case <-ticker.C:
		}
	}
}

// heartbeat records what was seen since the last one. If the write fails, the next heartbeat includes it.
func (r *Reporter) heartbeat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Every)
	defer cancel()

	r.mu.Lock()
	seen := r.seen
	r.seen = map[string]operations.OutsideSystem{}
	r.mu.Unlock()

	// So that two processes lock rows in the same order.
	systems := slices.SortedFunc(maps.Values(seen), func(a, b operations.OutsideSystem) int {
		return strings.Compare(a.Name, b.Name)
	})

	err := r.o.Store.SaveHeartbeat(ctx, operations.Process{
		Identity: r.o.Identity, Service: r.o.Service, Version: r.o.Version, InFlight: int(r.inFlight.Load()),
		StartedAt: r.started,
	}, systems)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}

	r.Note(operations.PostgreSQL, err)
	if err != nil {
		r.o.Log.Warn("heartbeat of this process not recorded", "error", err)
		r.putBack(seen)
	}
}

// putBack merges what was taken with what was seen since.
func (r *Reporter) putBack(taken map[string]operations.OutsideSystem) {
	r.mu.Lock()
	defer r.mu.Unlock()

	for name, old := range taken {
		fresh := r.seen[name]
		fresh.Name = name
		fresh.SucceededAt = cmp.Or(fresh.SucceededAt, old.SucceededAt)
		if fresh.FailedAt == nil {
			fresh.FailedAt, fresh.Error = old.FailedAt, old.Error
		}
		r.seen[name] = fresh
	}
}
