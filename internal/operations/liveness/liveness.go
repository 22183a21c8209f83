// Package pulse lets a process say that it lives and how the systems outside answer it. Nothing is asked for this: the
// calls that are made anyway are noted in memory, and the record hears of them every few seconds.
package liveness

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
)

// Names of the systems outside.
const (
	PostgreSQL  = "postgresql"
	Temporal    = "temporal"
	Yandex      = "yandex"
	Telegram    = "telegram"
	QBittorrent = "qbittorrent"
	Toncenter   = "toncenter"
	Toncenter2  = "toncenter-2" // the second source
	Fragment    = "fragment"
)

// Store is what a reporter needs of the record.
type Store interface {
	Beat(ctx context.Context, p operations.Process, seen []operations.OutsideSystem) error
	Leave(ctx context.Context, identity string) error
}

// Options configure a Reporter.
type Options struct {
	Store    Store
	Identity string // as Temporal knows this process
	Service  string
	Version  string
	Every    time.Duration // between two beats; default 5 s
	Log      *slog.Logger  // default: none
}

// Reporter is safe for concurrent use.
type Reporter struct {
	o       Options
	started time.Time
	carries atomic.Int64

	mu   sync.Mutex
	seen map[string]*operations.OutsideSystem // since the last beat that was recorded
}

// New makes a Pulse; Run lets it beat.
func New(o Options) *Reporter {
	o.Every = cmp.Or(o.Every, 5*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Reporter{o: o, started: time.Now(), seen: map[string]*operations.OutsideSystem{}}
}

// Noting gives what notes the outcome of calls of one system.
func (p *Reporter) Noting(system string) func(error) {
	return func(err error) { p.Note(system, err) }
}

// Note notes the outcome of a call. What a system refuses because of the question, it has answered.
func (p *Reporter) Note(system string, err error) {
	if errors.Is(err, context.Canceled) {
		return // by who asked
	}

	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()

	o := p.seen[system]
	if o == nil {
		o = &operations.OutsideSystem{Name: system}
		p.seen[system] = o
	}

	if code := failure(err); code != "" {
		o.FailedAt, o.Error = &now, code
		return
	}

	o.SucceededAt = &now
}

// failure gives the code of an error that says something about the system itself; empty: none.
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

// Carry counts an activity that runs in this process until the function it gives is called.
func (p *Reporter) Carry() (drop func()) {
	p.carries.Add(1)
	return func() { p.carries.Add(-1) }
}

// Run beats until ctx ends, and then takes leave.
func (p *Reporter) Run(ctx context.Context) {
	ticker := time.NewTicker(p.o.Every)
	defer ticker.Stop()

	for {
		p.beat(ctx)
		select {
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_ = p.o.Store.Leave(ctx, p.o.Identity) // it is forgotten by itself later
			return
		case <-ticker.C:
		}
	}
}

// beat tells the record. What it cannot hear now it hears with the next beat.
func (p *Reporter) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.o.Every)
	defer cancel()

	p.mu.Lock()
	told := p.seen
	p.seen = map[string]*operations.OutsideSystem{}
	p.mu.Unlock()
	seen := make([]operations.OutsideSystem, 0, len(told))
	for _, o := range told {
		seen = append(seen, *o)
	}

	// two processes lock rows in one order
	slices.SortFunc(seen, func(a, b operations.OutsideSystem) int { return strings.Compare(a.Name, b.Name) })
	err := p.o.Store.Beat(ctx, operations.Process{
		Identity: p.o.Identity, Service: p.o.Service, Version: p.o.Version, Carries: int(p.carries.Load()),
		StartedAt: p.started,
	}, seen)
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}

	p.Note(PostgreSQL, err)
	if err == nil {
		return
	}

	p.o.Log.Warn("the record does not hear of this process", "error", err)
	p.mu.Lock()
	defer p.mu.Unlock()

	for name, old := range told {
		fresh := p.seen[name]
		if fresh == nil {
			p.seen[name] = old
			continue
		}
		fresh.SucceededAt = cmp.Or(fresh.SucceededAt, old.SucceededAt)
		if fresh.FailedAt == nil {
			fresh.FailedAt, fresh.Error = old.FailedAt, old.Error
		}
	}
}
