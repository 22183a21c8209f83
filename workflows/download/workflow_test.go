package download

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

const jobID = int64(42)

// play is a workflow with skipped time and a simulated record and qBittorrent.
type play struct {
	*testsuite.TestWorkflowEnvironment
	t     *testing.T
	began time.Time

	mu     sync.Mutex
	record lifecycle.DownloadRecord
	done   []string // what the workflow did, in order, with the seconds since the start

	space  func(nth int) error
	fetch  func(nth int) error // nil: it has a magnet link
	add    func(ctx context.Context, nth int) (lifecycle.DownloadRecord, error)
	look   func(nth int) (activities.Requery, error)
	remove func(nth int) error
	resume func(nth int) error
	move   func() error
	decide func()              // decides a request
	send   func(nth int) error // nil: not requested
	needs  bool                // a job needs an import: there is a library folder
	counts map[string]int
}

func newPlay(t *testing.T) *play {
	t.Helper()
	p := &play{TestWorkflowEnvironment: testtemporal.Environment(), t: t, counts: map[string]int{}}
	p.record.Status = lifecycle.DownloadQueued
	p.add = func(context.Context, int) (lifecycle.DownloadRecord, error) { return p.record, nil }
	p.look = func(int) (activities.Requery, error) { return activities.Requery{}, nil }
	p.remove, p.resume = func(int) error { return nil }, func(int) error { return nil }
	p.move, p.decide = func() error { return nil }, func() {}
	p.SetTestTimeout(time.Minute) // the clock is real while an activity runs
	p.SetWorkflowRunTimeout(1000 * time.Hour)
	p.RegisterWorkflowWithOptions(
		(&Workflow{Settings: Settings{Grace: time.Minute, AddEvery: time.Minute, AddTries: 5}}).Run, workflow.RegisterOptions{Name: lifecycle.DownloadType},
	)
	p.RegisterActivity(&activities.Activities{})
	p.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	p.OnActivity(downloads.LoadDownload, mock.Anything, jobID).Return(func(context.Context, int64) (lifecycle.DownloadRecord, error) {
		record := p.record
		record.NeedsFile = p.fetch != nil
		return record, nil
	}).Maybe()

	p.OnActivity(downloads.FetchTorrent, mock.Anything, jobID).Return(func(context.Context, int64) (lifecycle.DownloadRecord, error) {
		err := p.fetch(p.did("fetch", ""))
		return p.record, err
	}).Maybe()
	p.OnActivity(downloads.AddTorrent, mock.Anything, jobID).Return(func(ctx context.Context, _ int64) (lifecycle.DownloadRecord, error) {
		return p.add(ctx, p.did("add", ""))
	}).Maybe()
	p.OnActivity(downloads.AwaitSpace, mock.Anything, jobID).Return(func(context.Context, int64) error {
		return p.space(p.did("space", ""))
	}).Maybe()
	p.OnActivity(downloads.LookForTorrent, mock.Anything, jobID).Return(func(context.Context, int64) (activities.Requery, error) {
		return p.look(p.did("look", ""))
	}).Maybe()
	p.OnActivity(downloads.RemoveTorrent, mock.Anything, jobID).Return(func(context.Context, int64) (lifecycle.DownloadRecord, error) {
		err := p.remove(p.did("remove", ""))
		return p.record, err
	}).Maybe()
	p.OnActivity(downloads.NextSource, mock.Anything, mock.Anything).Return(func(_ context.Context, by lifecycle.DownloadSwitch) (lifecycle.DownloadRecord, error) {
		p.next(by)
		return p.record, nil
	}).Maybe()
	p.OnActivity(downloads.ResumeTorrent, mock.Anything, jobID).Return(func(context.Context, int64) error {
		return p.resume(p.did("resume", ""))
	}).Maybe()
	p.OnActivity(downloads.NoteDownload, mock.Anything, mock.Anything).Return(func(_ context.Context, n activities.Note) (lifecycle.DownloadRecord, error) {
		p.did(n.Type, string(n.Reason))
		if attention, changed := map[string]fault.Code{
			lifecycle.DownloadStalled: fault.Stalled, lifecycle.DownloadStopped: fault.TorrentStopped, lifecycle.DownloadRecovered: "",
			lifecycle.DownloadImportFailed: fault.ImportFailed,
		}[n.Type]; changed {
			p.record.Attention = attention
		}
		return p.record, nil
	}).Maybe()
	p.OnActivity(downloads.MoveDownload, mock.Anything, mock.Anything).Return(func(_ context.Context, m lifecycle.DownloadMove) (lifecycle.DownloadRecord, error) {
		if err := p.move(); err != nil {
			return lifecycle.DownloadRecord{}, err
		}

		if m.Action == lifecycle.DownloadActionComplete && p.needs && !lifecycle.Download.Terminal(p.record.Status) {
			record := p.record
			record.NeedsImport = record.Attention != fault.ImportFailed
			return record, nil
		}

		p.did(string(m.Action), string(m.Reason))
		p.mu.Lock()
		defer p.mu.Unlock()

		if lifecycle.Download.Terminal(p.record.Status) {
			return p.record, nil
		}
		switch m.Action {
		case lifecycle.DownloadActionBegin:
			p.record.Status = lifecycle.DownloadDownloading
		case lifecycle.DownloadActionComplete:
			if m.Place == p.record.Place {
				p.record.Status, p.record.ToSend = lifecycle.DownloadCompleted, p.send != nil
			}
		case lifecycle.DownloadActionCancel:
			p.record.Status = lifecycle.DownloadCanceled
		default:
			p.record.Status, p.record.Reason = lifecycle.DownloadFailed, m.Reason
		}

		return p.record, nil
	}).Maybe()

	p.OnActivity(downloads.SendDownload, mock.Anything, jobID).Return(func(context.Context, int64) error {
		return p.send(p.did("send", ""))
	}).Maybe()

	p.began = p.Now()
	return p
}

// did records a step and returns how often it was done.
func (p *play) did(what, reason string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[what]++
	p.done = append(p.done, strings.TrimSpace(what+" "+reason))
	return p.counts[what]
}

// after schedules something this long after the start.
func (p *play) after(d time.Duration, do func()) { p.RegisterDelayedCallback(do, d) }

// seen makes the watcher report something this long after the start.
func (p *play) seen(d time.Duration, o lifecycle.Observation) {
	o.JobID = jobID
	p.after(d, func() { p.SignalWorkflow(lifecycle.DownloadObservedSignal, o) })
}

// saw is seen with only a state.
func (p *play) saw(d time.Duration, state string) { p.seen(d, lifecycle.Observation{State: state}) }

func (p *play) run(want ...string) {
	p.t.Helper()
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
	if !p.IsWorkflowCompleted() {
		p.t.Error("the workflow has not ended")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.done, want) {
		p.t.Errorf("did  %q\nwant %q", p.done, want)
	}
}

// took checks how long the workflow lived. The clock is real while an activity runs.
func (p *play) took(least, most time.Duration) {
	p.t.Helper()
	if took := p.Now().Sub(p.began); took < least || took > most {
		p.t.Errorf("took %s, want %s … %s", took, least, most)
	}
}

func (p *play) wantFailed(reason fault.Code) {
	p.t.Helper()
	failure, ok := errors.AsType[*temporal.ApplicationError](p.GetWorkflowError())
	if !ok || failure.Type() != string(reason) || !failure.NonRetryable() {
		p.t.Errorf("the workflow ended with %v, want %s", p.GetWorkflowError(), reason)
	}
}

func (p *play) wantCanceled() {
	p.t.Helper()
	if err := p.GetWorkflowError(); !temporal.IsCanceledError(err) {
		p.t.Errorf("the workflow ended with %v", err)
	}
}

func (p *play) wantCompleted() {
	p.t.Helper()
	var record lifecycle.DownloadRecord
	if err := p.GetWorkflowResult(&record); err != nil || record.Status != lifecycle.DownloadCompleted {
		p.t.Errorf("got %+v, %v", record, err)
	}
}

// TestCompleteAtFirstSight leaves the transition through downloading to the record.
func TestCompleteAtFirstSight(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.saw(time.Second, lifecycle.ObservedComplete)
	p.run("add", "complete")
	p.wantCompleted()
}

// TestIsSent sends completed files to the chat on request. The download completes whatever happens to that.
func TestIsSent(t *testing.T) {
	t.Parallel()
	away := temporal.NewApplicationError("away", string(fault.StoreUnavailable))
	for name, c := range map[string]struct {
		send func(nth int) error
		want []string
	}{
		"at once": {func(int) error { return nil }, []string{"add", "complete", "send"}},
		"later": {func(nth int) error {
			if nth < 3 {
				return away
			}
			return nil
		}, []string{"add", "complete", "send", "send", "send"}},
		"never": {func(int) error { return temporal.NewNonRetryableApplicationError("no", "X", nil) }, []string{"add", "complete", "send"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.send = c.send
			p.saw(time.Second, lifecycle.ObservedComplete)
			p.run(c.want...)
			p.wantCompleted()
		})
	}

	t.Run("not one that fails", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.send = func(int) error { return nil }
		p.saw(time.Second, lifecycle.ObservedLost)
		p.run("add", "fail provider_error")
	})

	t.Run("after a reset", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.send = func(int) error { return nil }
		p.record = lifecycle.DownloadRecord{Status: lifecycle.DownloadCompleted, ToSend: true}
		p.run("add", "send")
		p.wantCompleted()
	})
}

// TestTwice reports everything twice.
func TestTwice(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	for i, state := range []string{"downloading", "downloading", "broken", "broken", "absent", "absent", "present", "present", "absent", "downloading", "downloading", "complete", "complete"} {
		p.saw(time.Duration(i+1)*time.Second, state)
	}
	p.run("add", "begin", "resume", "went_missing", "found_again", "went_missing", "found_again", "complete")
	p.wantCompleted()
}

// TestMissing has a case for each course of the grace. The times are those of the watcher's signals.
func TestMissing(t *testing.T) {
	t.Parallel()
	minute := time.Minute
	t.Run("59 seconds, and back", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedAbsent)
		p.saw(69*time.Second, lifecycle.ObservedPresent)
		p.saw(time.Hour, lifecycle.ObservedComplete)
		p.run("add", "went_missing", "found_again", "complete")
		p.wantCompleted()
	})

	t.Run("60 seconds", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedAbsent)
		p.run("add", "went_missing", "look", "fail missing_external_job")
		p.wantFailed(fault.MissingExternalJob)
		p.took(70*time.Second, 80*time.Second)
	})

	t.Run("while downloading", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedDownloading)
		p.saw(20*time.Second, lifecycle.ObservedAbsent)
		p.run("add", "begin", "went_missing", "look", "fail missing_external_job")
		p.wantFailed(fault.MissingExternalJob)
	})

	t.Run("an outage of an hour", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedAbsent)
		p.look = func(int) (activities.Requery, error) {
			if p.Now().Sub(p.began) < time.Hour {
				return activities.Requery{}, temporal.NewApplicationErrorWithOptions("away", string(fault.ProviderUnavailable),
					temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Minute}) // the test environment makes only ten attempts
			}
			return activities.Requery{Found: true}, nil
		}

		p.saw(2*time.Hour, lifecycle.ObservedComplete)
		p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
		p.wantCompleted()
		if p.counts["fail"] > 0 || p.counts["found_again"] != 1 || p.counts["look"] != 7 {
			t.Errorf("did %v", p.counts)
		}
	})

	t.Run("only answered polls count", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedAbsent)
		left := []time.Duration{50 * time.Second, minute, 0}
		p.look = func(nth int) (activities.Requery, error) { return activities.Requery{Wait: left[nth-1]}, nil }
		p.run("add", "went_missing", "look", "look", "look", "fail missing_external_job")
		p.took(180*time.Second, 190*time.Second)
	})

	t.Run("found by the last look", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedAbsent)
		p.look = func(int) (activities.Requery, error) { return activities.Requery{Found: true}, nil }
		p.saw(100*time.Second, lifecycle.ObservedPresent)
		p.saw(200*time.Second, lifecycle.ObservedAbsent) // with its own grace
		p.saw(230*time.Second, lifecycle.ObservedComplete)
		p.run("add", "went_missing", "look", "found_again", "went_missing", "found_again", "complete")
		p.wantCompleted()
	})

	t.Run("lost in a restart: added once more", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.seen(10*time.Second, lifecycle.Observation{State: lifecycle.ObservedAbsent, Restarted: true})
		p.saw(25*time.Second, lifecycle.ObservedDownloading)
		p.seen(40*time.Second, lifecycle.Observation{State: lifecycle.ObservedAbsent, Restarted: true})
		p.run("add", "went_missing", "add", "found_again", "begin", "went_missing", "look", "fail missing_external_job")
		p.wantFailed(fault.MissingExternalJob)
	})

	t.Run("cannot be added again", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.add = func(_ context.Context, nth int) (lifecycle.DownloadRecord, error) {
			if nth > 1 {
				return p.record, temporal.NewNonRetryableApplicationError("no", string(fault.EnqueueFailed), nil)
			}
			return p.record, nil
		}

		p.seen(10*time.Second, lifecycle.Observation{State: lifecycle.ObservedAbsent, Restarted: true})
		p.run("add", "went_missing", "add", "look", "fail missing_external_job")
		p.wantFailed(fault.MissingExternalJob)
	})

	t.Run("news at the last moment", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(10*time.Second, lifecycle.ObservedAbsent)
		p.look = func(nth int) (activities.Requery, error) {
			if nth == 1 {
				p.SignalWorkflow(
					lifecycle.DownloadObservedSignal, lifecycle.Observation{JobID: jobID, State: lifecycle.ObservedComplete},
				)
			}
			return activities.Requery{}, nil
		}

		p.run("add", "went_missing", "look", "found_again", "complete")
		p.wantCompleted()
	})
}

// TestErrors resumes a torrent once.
func TestErrors(t *testing.T) {
	t.Parallel()
	broken := lifecycle.Observation{State: lifecycle.ObservedBroken}
	again := lifecycle.Observation{State: lifecycle.ObservedBroken, Resumed: true}
	t.Run("mended", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.seen(time.Second, broken)
		p.saw(20*time.Second, lifecycle.ObservedDownloading)
		p.saw(time.Hour, lifecycle.ObservedComplete)
		p.run("add", "resume", "begin", "complete")
	})

	t.Run("broken again", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.seen(time.Second, broken)
		p.seen(20*time.Second, again)
		p.run("add", "resume", "fail provider_error")
		p.wantFailed(fault.ProviderError)
	})

	t.Run("files gone", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(time.Second, lifecycle.ObservedLost)
		p.run("add", "fail provider_error")
		p.wantFailed(fault.ProviderError)
	})

	t.Run("qBittorrent is away", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.seen(time.Second, broken)
		p.resume = func(nth int) error {
			if nth < 3 {
				return temporal.NewApplicationError("away", string(fault.ProviderUnavailable))
			}
			return nil
		}

		p.saw(time.Hour, lifecycle.ObservedComplete)
		p.run("add", "resume", "resume", "resume", "complete")
	})
}

// TestNotBegun has a case for each way handing over a job can fail.
func TestNotBegun(t *testing.T) {
	t.Parallel()
	fails := func(code fault.Code) error { return temporal.NewApplicationError("no", string(code)) }
	add, five := "add", []string{"add", "add", "add", "add", "add"}

	for name, c := range map[string]struct {
		add  func(nth int) error
		want []string
	}{
		"away":         {func(int) error { return fails(fault.ProviderUnavailable) }, append(five, "fail enqueue_unavailable")},
		"login":        {func(int) error { return fails(fault.ProviderUnauthorized) }, append(five, "fail enqueue_unavailable")},
		"source away":  {func(int) error { return fails(fault.SourceUnavailable) }, append(five, "fail enqueue_failed")},
		"refused":      {func(int) error { return fails(fault.ProviderRejected) }, []string{add, add, add, "fail enqueue_failed"}},
		"no book":      {func(int) error { return fails(fault.BookGone) }, []string{add, "fail book_not_found"}},
		"never begins": {func(int) error { return temporal.NewNonRetryableApplicationError("no", "X", nil) }, []string{add, "fail enqueue_failed"}},
		"lost workers": {func(int) error { return temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil) }, append(five, "fail enqueue_failed")},
		"refused after an outage": {func(nth int) error {
			if nth%2 == 0 {
				return fails(fault.ProviderRejected)
			}
			return fails(fault.ProviderUnavailable)
		}, append(five, add, "fail enqueue_failed")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlay(t)
			p.add = func(_ context.Context, nth int) (lifecycle.DownloadRecord, error) { return p.record, c.add(nth) }
			p.run(c.want...)
			reason, _ := strings.CutPrefix(c.want[len(c.want)-1], "fail ")
			p.wantFailed(fault.Code(reason))
		})
	}

	t.Run("over before it began", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.record = lifecycle.DownloadRecord{Status: lifecycle.DownloadFailed, Reason: fault.WorkflowLost}
		p.run("add")
		p.wantFailed(fault.WorkflowLost)
	})

	t.Run("canceled before it began", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.record.CancelRequested = true
		p.run("remove", "cancel cancelled_by_user")
		p.wantCanceled()
	})
}

// TestBeginsLate waits for disk space, for an unavailable record and for a starting qBittorrent: none of it costs the
// job attempts.
func TestBeginsLate(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.add = func(_ context.Context, nth int) (lifecycle.DownloadRecord, error) {
		codes := []fault.Code{
			fault.NoFreeSpace, fault.StoreUnavailable, fault.StoreUnavailable, fault.StoreUnavailable,
			fault.StoreUnavailable, fault.StoreUnavailable, fault.ProviderRejected, fault.NoFreeSpace,
			fault.ProviderRejected,
		}
		if nth > len(codes) {
			return p.record, nil
		}
		if codes[nth-1] == fault.StoreUnavailable {
			return p.record, temporalio.Interrupted(0)
		}
		return p.record, temporal.NewApplicationError("no", string(codes[nth-1]))
	}
	p.space = func(nth int) error {
		if nth < 3 {
			return temporal.NewApplicationError("full", string(fault.NoFreeSpace))
		}
		return nil
	}

	p.saw(time.Hour, lifecycle.ObservedComplete)
	p.run("add", "space", "space", "space", "add", "add", "add", "add", "add", "add", "add", "space", "add", "add", "complete")
	p.wantCompleted()
}

// TestCancels ends jobs in each waiting state, by signal, by a signal that names the job, and by cancellation of the
// workflow.
func TestCancels(t *testing.T) {
	t.Parallel()
	away := temporal.NewApplicationError("away", string(fault.ProviderUnavailable))
	for name, cancel := range map[string]func(*play){
		"signal":          func(p *play) { p.SignalWorkflow(lifecycle.CancelSignal, nil) },
		"named signal":    func(p *play) { p.SignalWorkflow(lifecycle.CancelSignal, jobID) },
		"odd signal":      func(p *play) { p.SignalWorkflow(lifecycle.CancelSignal, map[string]string{"why": "so"}) },
		"workflow cancel": func(p *play) { p.CancelWorkflow() },
	} {
		for place, c := range map[string]struct {
			set  func(*play)
			want []string
		}{
			"downloading": {func(p *play) { p.saw(time.Millisecond, lifecycle.ObservedDownloading) }, []string{"add", "begin", "remove", "cancel cancelled_by_user"}},
			"handing over": {func(p *play) {
				p.add = func(ctx context.Context, _ int) (lifecycle.DownloadRecord, error) {
					<-ctx.Done()
					return p.record, ctx.Err()
				}
			}, []string{"add", "remove", "cancel cancelled_by_user"}},
			"no room": {func(p *play) {
				full := temporal.NewApplicationError("full", string(fault.NoFreeSpace))
				p.add = func(context.Context, int) (lifecycle.DownloadRecord, error) { return p.record, full }
				p.space = func(int) error {
					return temporal.NewApplicationErrorWithOptions("full", string(fault.NoFreeSpace),
						temporal.ApplicationErrorOptions{NextRetryDelay: time.Minute})
				}
			}, []string{"add", "space", "remove", "cancel cancelled_by_user"}},
			"missing": {func(p *play) { p.saw(time.Millisecond, lifecycle.ObservedAbsent) }, []string{"add", "went_missing", "remove", "cancel cancelled_by_user"}},
			"qBittorrent is away": {func(p *play) {
				p.remove = func(nth int) error {
					if nth < 3 {
						return away
					}
					return nil
				}
			}, []string{"add", "remove", "remove", "remove", "cancel cancelled_by_user"}},
			"complete meanwhile": {func(p *play) {
				p.remove = func(nth int) error {
					if nth == 1 {
						p.SignalWorkflow(
							lifecycle.DownloadObservedSignal, lifecycle.Observation{JobID: jobID, State: lifecycle.ObservedComplete},
						)
						return away
					}
					return nil
				}
			}, []string{"add", "remove", "remove", "cancel cancelled_by_user"}},
		} {
			t.Run(fmt.Sprintf("%s, %s", name, place), func(t *testing.T) {
				t.Parallel()
				p := newPlay(t)
				c.set(p)
				p.after(time.Second, func() { cancel(p) })
				p.run(c.want...)
				p.wantCanceled()
			})
		}
	}
}

// TestForOthers ignores signals meant for the previous job.
func TestForOthers(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.after(time.Second, func() { p.SignalWorkflow(lifecycle.CancelSignal, jobID-1) })
	p.after(time.Second, func() {
		p.SignalWorkflow(
			lifecycle.DownloadObservedSignal, lifecycle.Observation{JobID: jobID - 1, State: lifecycle.ObservedLost},
		)
	})

	p.saw(2*time.Second, lifecycle.ObservedComplete)
	p.run("add", "complete")
	p.wantCompleted()
}

// TestCancelAndCompletion sends both at the same moment, in either order: one end.
func TestCancelAndCompletion(t *testing.T) {
	t.Parallel()
	complete := lifecycle.Observation{JobID: jobID, State: lifecycle.ObservedComplete}
	t.Run("cancel first", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.after(time.Second, func() {
			p.SignalWorkflow(lifecycle.CancelSignal, nil)
			p.SignalWorkflow(lifecycle.DownloadObservedSignal, complete)
		})
		p.run("add", "remove", "cancel cancelled_by_user")
		p.wantCanceled()
	})

	t.Run("completion first", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.after(time.Second, func() {
			p.SignalWorkflow(lifecycle.DownloadObservedSignal, complete)
		})
		p.after(time.Second, func() { p.SignalWorkflow(lifecycle.CancelSignal, nil) })
		p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
		if p.counts["complete"]+p.counts["cancel"] != 1 || p.counts["remove"] != p.counts["cancel"] {
			t.Errorf("did %q", p.done)
		}
	})
}

// TestStalls sets attention and clears it again; a setting of the watcher's ends the job.
func TestStalls(t *testing.T) {
	t.Parallel()
	t.Run("and goes on", func(t *testing.T) {
		t.Parallel()
		p := newPlay(t)
		p.saw(time.Second, lifecycle.ObservedDownloading)
		p.seen(time.Hour, lifecycle.Observation{State: lifecycle.ObservedDownloading, Stalled: true})
		p.seen(2*time.Hour, lifecycle.Observation{State: lifecycle.ObservedDownloading, Stalled: true})
		p.saw(3*time.Hour, lifecycle.ObservedDownloading)
		p.saw(4*time.Hour, lifecycle.ObservedComplete)
		p.run("add", "begin", "stalled", "recovered", "complete")
		p.wantCompleted()
	})
}

// TestIsStopped shows a torrent that someone has stopped in qBittorrent, and its resumption.
func TestIsStopped(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.seen(time.Second, lifecycle.Observation{Stopped: true})
	p.seen(time.Minute, lifecycle.Observation{Stopped: true})
	p.after(2*time.Minute, func() { p.wantView("queued", lifecycle.WaitsForStart) })
	p.saw(time.Hour, lifecycle.ObservedDownloading)
	p.saw(2*time.Hour, lifecycle.ObservedComplete)
	p.run("add", "stopped", "recovered", "begin", "complete")
	p.wantCompleted()
}

// TestStoppedAfterAStall lets someone stop a stalled torrent, and start it again while it is stalled: the workflow must
// read the record.
func TestStoppedAfterAStall(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.saw(time.Second, lifecycle.ObservedDownloading)
	for i, c := range []struct {
		seen  lifecycle.Observation
		waits string
	}{
		{lifecycle.Observation{Stalled: true}, lifecycle.WaitsForPeers},
		{lifecycle.Observation{Stopped: true}, lifecycle.WaitsForStart},
		{lifecycle.Observation{Stalled: true}, lifecycle.WaitsForPeers},
		{lifecycle.Observation{}, lifecycle.WaitsForQBittorrent},
	} {
		p.seen(time.Duration(i+1)*time.Hour, c.seen)
		p.after(time.Duration(i+1)*time.Hour+time.Minute, func() { p.wantView("downloading", c.waits) })
	}
	p.saw(5*time.Hour, lifecycle.ObservedComplete)
	p.run("add", "begin", "stalled", "stopped", "stalled", "recovered", "complete")
	p.wantCompleted()
}

// TestForgottenCompletion cancels a job whose completion is recorded, although the workflow does not know.
func TestForgottenCompletion(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.after(time.Second, func() {
		p.record = lifecycle.DownloadRecord{Status: lifecycle.DownloadCompleted}
		p.SignalWorkflow(lifecycle.CancelSignal, nil)
	})
	p.run("add", "remove")
	p.wantCompleted()
}

// TestEndsElsewhere adopts an already recorded end.
func TestEndsElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.after(time.Second, func() {
		p.record = lifecycle.DownloadRecord{Status: lifecycle.DownloadFailed, Reason: fault.TerminatedByOperator}
	})
	p.saw(2*time.Second, lifecycle.ObservedAbsent)
	p.run("add", "went_missing")
	p.wantFailed(fault.TerminatedByOperator)
}

// TestContinuesAsNew hands over during a grace, and the next run continues it.
func TestContinuesAsNew(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.saw(time.Second, lifecycle.ObservedDownloading)
	p.saw(2*time.Second, lifecycle.ObservedAbsent)
	p.after(10*time.Second, func() { p.SetContinueAsNewSuggested(true) })
	// wakes it
	p.after(11*time.Second, func() { p.SignalWorkflow(lifecycle.DownloadObservedSignal, lifecycle.Observation{}) })
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](p.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v", p.GetWorkflowError())
	}

	var carried struct {
		ID      int64
		Carried *Carried
	}
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &carried.ID, &carried.Carried); err != nil {
		t.Fatal(err)
	}
	if carried.ID != jobID || carried.Carried.Status != lifecycle.DownloadDownloading || carried.Carried.GraceEnds == nil {
		t.Fatalf("carried %+v", carried)
	}

	second := newPlay(t)
	second.record.Status = lifecycle.DownloadDownloading
	second.SetStartTime(carried.Carried.GraceEnds.Add(-30 * time.Second))
	second.began = carried.Carried.GraceEnds.Add(-30 * time.Second)
	second.ExecuteWorkflow(lifecycle.DownloadType, jobID, carried.Carried)
	second.wantFailed(fault.MissingExternalJob)
	second.took(30*time.Second, 40*time.Second)
	if got := fmt.Sprint(second.done); got != "[look fail missing_external_job]" {
		t.Errorf("did %s", got)
	}
}

// TestStateQuery follows what operators see.
func TestStateQuery(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	state := func(status, waitsFor string) {
		t.Helper()
		var view lifecycle.StateView
		value, err := p.QueryWorkflow(lifecycle.StateQuery)
		if err == nil {
			err = value.Get(&view)
		}
		if err != nil || view.State != status || view.WaitsFor != waitsFor {
			t.Errorf("got %+v, %v; want %s, %q", view, err, status, waitsFor)
		}
	}

	p.after(time.Second, func() { state("queued", lifecycle.WaitsForSlot) })
	p.saw(2*time.Second, lifecycle.ObservedDownloading)
	p.after(3*time.Second, func() { state("downloading", "qbittorrent") })
	p.saw(4*time.Second, lifecycle.ObservedAbsent)
	p.after(5*time.Second, func() { state("downloading", "torrent") })
	p.saw(6*time.Second, lifecycle.ObservedPresent)
	p.seen(7*time.Second, lifecycle.Observation{State: lifecycle.ObservedPresent, Stalled: true})
	p.after(8*time.Second, func() { state("downloading", lifecycle.WaitsForPeers) })
	p.after(9*time.Second, func() { p.SignalWorkflow(lifecycle.CancelSignal, nil) })
	p.remove = func(nth int) error {
		state("downloading", "qbittorrent")
		return nil
	}

	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
	state("canceled", "")
}

// TestSync continues as new forever, even after the watcher was lost.
func TestSync(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	env.RegisterWorkflowWithOptions(Sync, workflow.RegisterOptions{Name: lifecycle.DownloadSyncType})
	env.RegisterActivity(&activities.Sync{})
	tries := 0
	env.OnActivity(downloadSync.SyncDownloads, mock.Anything).Return(func(context.Context) error {
		if tries++; tries < 4 {
			return errors.New("the worker is gone")
		}
		return nil
	})

	env.ExecuteWorkflow(lifecycle.DownloadSyncType)
	if _, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError()); !ok || tries != 4 {
		t.Errorf("ended with %v after %d tries", env.GetWorkflowError(), tries)
	}
}
