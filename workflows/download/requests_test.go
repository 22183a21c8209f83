package download

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

const (
	cancel      = lifecycle.DownloadActionCancel
	retryImport = lifecycle.DownloadActionRetryImport
)

// asked is the answer to an update's caller.
type asked struct {
	rejected error // by the validator
	answer   lifecycle.DownloadRecord
	err      error
	did      []string // what was done until the answer
}

// asks sends an update this long after the start.
func (p *play) asks(d time.Duration, action lifecycle.DownloadAction, id string, in lifecycle.DownloadInput) *asked {
	by := &asked{}
	p.after(d, func() {
		p.UpdateWorkflow(string(action), id, &testsuite.TestUpdateCallback{
			OnReject: func(err error) { by.rejected = err },
			OnAccept: func() {},
			OnComplete: func(answer any, err error) {
				p.mu.Lock()
				defer p.mu.Unlock()
				by.answer, _ = answer.(lifecycle.DownloadRecord)
				by.err, by.did = err, slices.Clone(p.done)
			},
		}, in)
	})
	return by
}

// hearRequests decides requests as the record does.
func (p *play) hearRequests() {
	p.OnActivity(downloads.RequestDownload, mock.Anything, mock.Anything).Return(func(_ context.Context, r lifecycle.DownloadAsked) (lifecycle.DownloadRecord, error) {
		p.did(string(r.Action)+"?", r.RequestID)
		p.decide()
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case r.In.JobID != jobID, lifecycle.Download.Terminal(p.record.Status), r.Action == retryImport && p.record.Attention != fault.ImportFailed:
			return lifecycle.DownloadRecord{}, temporalio.Refusal(fault.New(fault.InvalidTransition, "no").With("current", p.record.Status))
		case r.Action == retryImport:
			p.record.Attention = ""
		default:
			p.record.CancelRequested = true
		}
		return p.record, nil
	}).Maybe()
}

// TestCancelByUpdate ends jobs in each waiting state, and answers with the end.
func TestCancelByUpdate(t *testing.T) {
	t.Parallel()
	for place, c := range map[string]struct {
		set  func(*importPlay)
		want []string
	}{
		"downloading": {func(p *importPlay) { p.saw(time.Millisecond, lifecycle.ObservedDownloading) }, []string{"add", "begin"}},
		"handing over": {func(p *importPlay) {
			p.add = func(ctx context.Context, _ int) (lifecycle.DownloadRecord, error) {
				<-ctx.Done()
				return p.record, ctx.Err()
			}
		}, []string{"add"}},
		"missing": {func(p *importPlay) { p.saw(time.Millisecond, lifecycle.ObservedAbsent) }, []string{"add", "went_missing"}},
		"importing": {func(p *importPlay) {
			p.imports = func(ctx context.Context, _ int) error {
				<-ctx.Done()
				return ctx.Err()
			}
			p.saw(time.Millisecond, lifecycle.ObservedComplete)
		}, []string{"add", "begin", "import"}},
		"before the next run": {func(p *importPlay) {
			going := make(chan struct{})
			p.decide = func() { <-going }
			p.after(time.Second+100*time.Millisecond, func() { p.SetContinueAsNewSuggested(true) })
			p.after(time.Second+200*time.Millisecond, func() { close(going) })
		}, []string{"add"}},
	} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			p := newImportPlay(t)
			p.hearRequests()
			c.set(p)
			by := p.asks(time.Second, cancel, "mine", lifecycle.DownloadInput{Actor: 3, JobID: jobID})
			p.run(append(c.want, "cancel? mine", "remove", "cancel cancelled_by_user")...)
			p.wantCanceled()
			if by.rejected != nil || by.err != nil || by.answer.Status != lifecycle.DownloadCanceled {
				t.Errorf("%+v", by)
			}
		})
	}
}

// away makes qBittorrent unavailable until the nth attempt to remove a torrent.
func (p *play) away(until int, pause time.Duration) {
	p.remove = func(nth int) error {
		if nth < until {
			return temporal.NewApplicationErrorWithOptions("away", string(fault.ProviderUnavailable),
				temporal.ApplicationErrorOptions{NextRetryDelay: pause})
		}
		return nil
	}
}

// TestCancelWhileQBittorrentIsUnavailable answers after the first attempt, and each later request at once; the removal
// continues.
func TestCancelWhileQBittorrentIsUnavailable(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.hearRequests()
	p.away(3, time.Minute)
	first := p.asks(time.Second, cancel, "first", lifecycle.DownloadInput{})
	later := p.asks(30*time.Second, cancel, "later", lifecycle.DownloadInput{})
	p.run("add", "cancel? first", "remove", "remove", "cancel? later", "remove", "cancel cancelled_by_user")
	p.wantCanceled()
	for _, by := range []*asked{first, later} {
		if by.err != nil || by.answer.Status != lifecycle.DownloadQueued || !by.answer.CancelRequested || by.answer.CancelError != fault.ProviderUnavailable {
			t.Errorf("%+v", by)
		}
		if slices.Contains(by.did, "cancel cancelled_by_user") {
			t.Errorf("answered after %q", by.did)
		}
	}
}

// TestCancelInTheNextRun hands a removal over to the next run, which answers the same request with the end.
func TestCancelInTheNextRun(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.hearRequests()
	p.away(100, time.Hour)
	first := p.asks(time.Second, cancel, "mine", lifecycle.DownloadInput{})
	p.after(time.Minute, func() { p.SetContinueAsNewSuggested(true) })
	p.saw(2*time.Minute, lifecycle.ObservedDownloading) // wakes it
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, (*Carried)(nil))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](p.GetWorkflowError())
	if !ok || first.answer.CancelError != fault.ProviderUnavailable {
		t.Fatalf("ended with %v, answered %+v", p.GetWorkflowError(), first)
	}
	var id int64
	var carried *Carried
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &id, &carried); err != nil {
		t.Fatal(err)
	}

	second := newPlay(t)
	second.hearRequests()
	second.record = lifecycle.DownloadRecord{Status: lifecycle.DownloadQueued, CancelRequested: true}
	gone := make(chan struct{})
	second.remove = func(int) error { <-gone; return nil }
	again := second.asks(time.Millisecond, cancel, "mine", lifecycle.DownloadInput{})
	second.after(time.Second, func() { close(gone) })
	second.ExecuteWorkflow(lifecycle.DownloadType, jobID, carried)
	second.wantCanceled()
	if again.err != nil || again.answer.Status != lifecycle.DownloadCanceled || second.counts["cancel?"] != 1 || second.counts["cancel"] != 1 {
		t.Errorf("%+v, did %q", again, second.done)
	}
}

// TestRequestsRefused leaves the job alone: the record refuses, or the validator rejects malformed ones.
func TestRequestsRefused(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.hearRequests()
	refused := p.asks(time.Second, retryImport, "refused", lifecycle.DownloadInput{Actor: 3})
	rejected := []*asked{
		p.asks(2*time.Second, cancel, "nobody", lifecycle.DownloadInput{Actor: -3}),
		p.asks(2*time.Second, cancel, "another job", lifecycle.DownloadInput{JobID: jobID - 1}),
	}
	p.saw(time.Hour, lifecycle.ObservedComplete)
	p.run("add", "retry_import? refused", "complete")
	p.wantCompleted()
	if got := temporalio.RefusalIn(refused.err); got == nil || got.Code != fault.InvalidTransition || len(got.Details) == 0 {
		t.Errorf("refused: %+v", refused)
	}
	for _, by := range rejected {
		if got := temporalio.RefusalIn(by.rejected); got == nil || got.Code != fault.Validation || by.did != nil {
			t.Errorf("rejected: %+v", by)
		}
	}
}

// TestRetryImport retries a failed import, which nothing else starts, and answers before it has run.
func TestRetryImport(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.hearRequests()
	p.imports = func(_ context.Context, nth int) error {
		if nth <= 2 {
			return fails(fault.MediumUnsuitable, false)
		}
		return nil
	}
	p.saw(time.Second, lifecycle.ObservedComplete)
	var answers []*asked
	for i, id := range []string{"first", "second", "late"} {
		answers = append(answers, p.asks(time.Duration(i+1)*time.Hour, retryImport, id, lifecycle.DownloadInput{Actor: 3}))
	}
	p.run("add", "begin", "import", "import_failed MEDIUM_UNSUITABLE", "retry_import? first", "import", "import_failed MEDIUM_UNSUITABLE",
		"retry_import? second", "import")
	p.wantCompleted()
	for _, by := range answers[:2] {
		if by.err != nil || by.answer.Status != lifecycle.DownloadDownloading || by.answer.Attention != "" {
			t.Errorf("%+v", by)
		}
	}
}
