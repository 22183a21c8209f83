package download

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// importPlay is a play with a library folder: a job needs an import before it completes.
type importPlay struct {
	*play
	imports func(ctx context.Context, nth int) error
}

func newImportPlay(t *testing.T) *importPlay {
	t.Helper()
	p := &importPlay{play: newPlay(t), imports: func(context.Context, int) error { return nil }}
	p.OnActivity(downloads.ImportDownload, mock.Anything, jobID).Return(func(ctx context.Context, _ int64) (lifecycle.DownloadRecord, error) {
		err := p.imports(ctx, p.did("import", ""))
		p.mu.Lock()
		defer p.mu.Unlock()
		if err == nil {
			p.record.Status = lifecycle.DownloadCompleted
		}
		return p.record, err
	})
	p.needs = true
	return p
}

func fails(code fault.Code, retry bool) error {
	problem := fault.New(code, "it cannot be put there")
	if retry {
		problem = problem.Retry()
	}
	return temporalio.ToTemporal(problem)
}

// TestImport completes a job at once, through the library.
func TestImport(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.imports = func(context.Context, int) error {
		p.wantView("downloading", lifecycle.WaitsForImport)
		return nil
	}
	p.saw(time.Second, lifecycle.ObservedComplete)
	p.run("add", "begin", "import")
	p.wantCompleted()
}

// TestImportIsRetried rides out some seconds of trouble.
func TestImportIsRetried(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.imports = func(_ context.Context, nth int) error {
		if nth < 5 {
			return fails(fault.ImportFailed, true)
		}
		return nil
	}
	p.saw(time.Second, lifecycle.ObservedComplete)
	p.run("add", "begin", "import", "import", "import", "import", "import")
	p.wantCompleted()
}

// TestInterruptedImport stops an import's worker more often than an import is attempted.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.imports = func(_ context.Context, nth int) error {
		if nth <= 6 {
			return temporalio.Interrupted(0)
		}
		return nil
	}
	p.saw(time.Second, lifecycle.ObservedComplete)
	p.run("add", "begin", "import", "import", "import", "import", "import", "import", "import")
	p.wantCompleted()
}

// TestImportFailsAndIsRepeated waits for a person, whose retry takes effect even if the watcher reports it.
func TestImportFailsAndIsRepeated(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.imports = func(_ context.Context, nth int) error {
		if nth == 1 {
			return fails(fault.MediumUnsuitable, false)
		}
		return nil
	}

	p.saw(time.Second, lifecycle.ObservedDownloading)
	p.saw(2*time.Second, lifecycle.ObservedComplete)
	p.after(3*time.Second, func() { p.wantView("downloading", lifecycle.WaitsForImport) })
	p.saw(4*time.Second, lifecycle.ObservedComplete) // sent before the failure was recorded
	p.after(time.Hour, func() {
		p.mu.Lock()
		p.record.Attention = "" // a person retries it
		p.mu.Unlock()
	})
	p.saw(time.Hour+time.Second, lifecycle.ObservedComplete)
	p.run("add", "begin", "import", "import_failed MEDIUM_UNSUITABLE", "import")
	p.wantCompleted()
	p.took(time.Hour, 2*time.Hour)
}

// TestUnsuitableMakesRoom tries the next source instead of a torrent without files of the medium; a person is asked
// only about the last one.
func TestUnsuitableMakesRoom(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.record.Place, p.record.Sources, p.record.Left = 1, 2, true
	p.imports = func(_ context.Context, nth int) error {
		if nth <= 2 {
			return fails(fault.MediumUnsuitable, false)
		}
		return nil
	}
	p.of(1, time.Second, complete)
	p.of(1, 2*time.Second, complete) // sent before the second source was recorded
	p.of(2, time.Minute, complete)
	p.after(time.Hour, func() {
		p.mu.Lock()
		p.record.Attention = "" // a person retries it
		p.mu.Unlock()
	})
	p.of(2, time.Hour+time.Second, complete)
	p.run("add", "begin", "import", "next 1 0 MEDIUM_UNSUITABLE", "add", "import", "import_failed MEDIUM_UNSUITABLE", "import")
	p.wantCompleted()
}

// TestImportFailsAndIsCancelled removes the torrent.
func TestImportFailsAndIsCancelled(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.imports = func(context.Context, int) error { return fails(fault.ImportFailed, true) }
	p.saw(time.Second, lifecycle.ObservedComplete)
	p.after(time.Hour, func() { p.SignalWorkflow(lifecycle.CancelSignal, jobID) })
	p.run("add", "begin", "import", "import", "import", "import", "import", "import_failed import_failed", "remove",
		"cancel cancelled_by_user")
	p.wantCanceled()
}

// TestCancelDuringImport waits for the end of the attempt, whose files may be in the library folder.
func TestCancelDuringImport(t *testing.T) {
	t.Parallel()
	for name, completes := range map[string]bool{"it is heard": false, "it is too late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newImportPlay(t)
			p.imports = func(ctx context.Context, _ int) error {
				if completes { // in the record: the workflow is notified of the cancel before it gets the answer
					p.mu.Lock()
					p.record.Status = lifecycle.DownloadCompleted
					p.mu.Unlock()
				}
				p.SignalWorkflow(lifecycle.CancelSignal, jobID)
				<-ctx.Done()
				return ctx.Err()
			}
			p.saw(time.Second, lifecycle.ObservedComplete)
			if completes {
				p.run("add", "begin", "import", "remove") // the removal does not change a completed job
				p.wantCompleted()
			} else {
				p.run("add", "begin", "import", "remove", "cancel cancelled_by_user")
				p.wantCanceled()
			}
		})
	}
}

// TestImportWaitsForQBittorrent leaves it to the watcher to report the torrent again.
func TestImportWaitsForQBittorrent(t *testing.T) {
	t.Parallel()
	p := newImportPlay(t)
	p.imports = func(_ context.Context, nth int) error {
		if nth == 1 {
			return temporal.NewNonRetryableApplicationError("away", string(fault.ProviderUnavailable), nil)
		}
		return nil
	}
	p.saw(time.Second, lifecycle.ObservedComplete)
	p.saw(time.Minute, lifecycle.ObservedComplete)
	p.run("add", "begin", "import", "import")
	p.wantCompleted()
}

// wantView queries the workflow's state.
func (p *play) wantView(state, waitsFor string) {
	p.t.Helper()
	value, err := p.QueryWorkflow(lifecycle.StateQuery)
	if err != nil {
		p.t.Error(err)
		return
	}
	var view lifecycle.StateView
	if err := value.Get(&view); err != nil || view.State != state || view.WaitsFor != waitsFor {
		p.t.Errorf("%+v %v", view, err)
	}
}
