package download

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// next is the recorded switch of the source.
func (p *play) next(by lifecycle.DownloadSwitch) {
	p.did(fmt.Sprint("next ", by.From, " ", by.To), string(by.Outcome))
	p.mu.Lock()
	defer p.mu.Unlock()
	if by.From != p.record.Place || by.To == 0 && p.record.Place == p.record.Sources || p.record.CancelRequested {
		return
	}
	p.record.Place, p.record.Added = by.To, true
	if by.To == 0 {
		p.record.Place, p.record.Added = by.From+1, false
	}
	p.record.Left = p.record.Place < p.record.Sources
}

// newSources is a play of a job with this many sources.
func newSources(t *testing.T, sources int) *play {
	t.Helper()
	p := newPlay(t)
	p.record.Place, p.record.Sources, p.record.Left = 1, sources, true
	return p
}

// of lets the watcher see a source's torrent.
func (p *play) of(place int, after time.Duration, o lifecycle.Observation) {
	o.Place = place
	p.seen(after, o)
}

// earlier lets the watcher see that another source's torrent is complete.
func (p *play) earlier(place int, after time.Duration) {
	complete := lifecycle.Observation{JobID: jobID, Place: place, State: lifecycle.ObservedComplete}
	p.after(after, func() { p.SignalWorkflow(lifecycle.DownloadEarlierSignal, complete) })
}

var (
	overdue  = lifecycle.Observation{Next: true}
	begun    = lifecycle.Observation{State: lifecycle.ObservedDownloading}
	absent   = lifecycle.Observation{State: lifecycle.ObservedAbsent}
	lost     = lifecycle.Observation{State: lifecycle.ObservedLost}
	complete = lifecycle.Observation{State: lifecycle.ObservedComplete}
)

// TestStallMakesRoom tries the next source instead of a stalled one; late or repeated observations of the first one
// change nothing.
func TestStallMakesRoom(t *testing.T) {
	t.Parallel()
	p := newSources(t, 2)
	p.of(1, time.Minute, begun)
	p.of(1, time.Hour, overdue)
	p.of(1, time.Hour+time.Second, overdue)
	p.of(1, time.Hour+2*time.Second, lost)
	p.of(2, time.Hour+time.Minute, overdue) // none is left
	p.of(2, 2*time.Hour, complete)
	p.run("add", "begin", "next 1 0 stalled", "add", "complete")
	p.wantCompleted()
}

// TestFailuresMakeRoom fails through all sources: the last failure is the job's.
func TestFailuresMakeRoom(t *testing.T) {
	t.Parallel()
	p := newSources(t, 4)
	p.add = func(_ context.Context, nth int) (lifecycle.DownloadRecord, error) {
		if nth == 3 {
			return p.record, temporal.NewNonRetryableApplicationError("no", string(fault.EnqueueFailed), nil)
		}
		return p.record, nil
	}
	p.of(1, time.Second, lost)
	p.of(2, time.Minute, absent)
	p.of(4, time.Hour, lost)
	p.run("add", "next 1 0 provider_error", "add", "went_missing", "look", "next 2 0 missing_external_job", "add",
		"next 3 0 enqueue_failed", "add", "fail provider_error")
	p.wantFailed(fault.ProviderError)
}

// TestOutageTakesNoSource fails a job, with all its sources, for a reason that no other source can help with.
func TestOutageTakesNoSource(t *testing.T) {
	t.Parallel()
	for code, reason := range map[fault.Code]fault.Code{
		fault.ProviderUnavailable: fault.EnqueueUnavailable, fault.BookGone: fault.BookGone,
	} {
		p := newSources(t, 2)
		p.add = func(context.Context, int) (lifecycle.DownloadRecord, error) {
			return p.record, temporal.NewApplicationError("away", string(code))
		}
		p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
		p.wantFailed(reason)
		if p.record.Place != 1 {
			t.Errorf("%s: source %d", code, p.record.Place)
		}
	}
}

// TestEarlierSourceCompletes returns to the first source if its torrent completes before the second one's, even while
// the second waits for disk space.
func TestEarlierSourceCompletes(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"added": false, "no room": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newSources(t, 2)
			full := temporal.NewApplicationErrorWithOptions("full", string(fault.NoFreeSpace),
				temporal.ApplicationErrorOptions{NextRetryDelay: time.Minute})
			p.add = func(_ context.Context, nth int) (lifecycle.DownloadRecord, error) {
				if waits && nth == 2 {
					return p.record, full
				}
				return p.record, nil
			}
			p.space = func(int) error { return full }

			p.of(1, time.Minute, overdue)
			p.earlier(1, time.Minute+10*time.Second)
			p.earlier(1, time.Minute+11*time.Second) // repeated
			p.of(2, time.Minute+20*time.Second, lost)
			p.of(1, 2*time.Minute, complete)
			want := []string{"add", "next 1 0 stalled", "add", "next 2 1", "complete"}
			if waits {
				want = []string{"add", "next 1 0 stalled", "add", "space", "next 2 1", "complete"}
			}
			p.run(want...)
			p.wantCompleted()
		})
	}
}

// TestCancelDuringSecondSource ends a job at its second source.
func TestCancelDuringSecondSource(t *testing.T) {
	t.Parallel()
	p := newSources(t, 3)
	p.of(1, time.Minute, overdue)
	p.after(time.Hour, func() { p.SignalWorkflow(lifecycle.CancelSignal, jobID) })
	p.run("add", "next 1 0 stalled", "add", "remove", "cancel cancelled_by_user")
	p.wantCanceled()

	p = newSources(t, 3)
	p.after(time.Second, func() { p.record.CancelRequested = true })
	p.of(1, time.Minute, overdue)
	p.run("add", "next 1 0 stalled", "remove", "cancel cancelled_by_user")
	p.wantCanceled()
}

// TestSourceChangedElsewhere continues with the recorded source, as after a reset.
func TestSourceChangedElsewhere(t *testing.T) {
	t.Parallel()
	p := newSources(t, 3)
	p.after(time.Second, func() { p.record.Place, p.record.Added = 2, false })
	p.of(1, time.Minute, complete)
	p.of(2, time.Hour, complete)
	p.run("add", "complete", "add", "complete")
	p.wantCompleted()
}

// TestMagnets shows that a magnet link's metadata is missing, anew for each source. A record that lags behind the
// watcher's signal does not bring that back.
func TestMagnets(t *testing.T) {
	t.Parallel()
	p := newSources(t, 2)
	p.record.NoMetadata = true
	p.after(time.Second, func() { p.wantView("queued", lifecycle.WaitsForMetadata) })
	p.of(1, time.Minute, lifecycle.Observation{})
	p.after(2*time.Minute, func() { p.wantView("queued", lifecycle.WaitsForSlot) })
	p.of(1, 3*time.Minute, begun)
	p.after(4*time.Minute, func() { p.wantView("downloading", lifecycle.WaitsForQBittorrent) })
	p.of(1, time.Hour, overdue)
	p.after(2*time.Hour, func() { p.wantView("downloading", lifecycle.WaitsForMetadata) })
	p.of(2, 3*time.Hour, complete)
	p.run("add", "begin", "next 1 0 stalled", "add", "complete")
	p.wantCompleted()
}

// TestCarriesSource hands the source over to the next run.
func TestCarriesSource(t *testing.T) {
	t.Parallel()
	p := newSources(t, 3)
	p.record.Place, p.record.Status = 2, lifecycle.DownloadDownloading
	p.of(1, time.Second, lost)
	p.of(2, time.Minute, overdue)
	p.of(3, time.Hour, complete)
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, &Carried{
		Status: lifecycle.DownloadDownloading, Place: 2, Sources: 3, Left: true,
	})
	if got := fmt.Sprint(p.done); got != "[next 2 0 stalled add complete]" {
		t.Error(got)
	}
	p.wantCompleted()
}
