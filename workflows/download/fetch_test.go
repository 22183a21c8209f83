package download

import (
	"slices"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// TestFetchAttempts fetches a file that crashes its worker: three are lost to it, and the job fails.
func TestFetchAttempts(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.fetch = func(int) error { return temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil) }
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, nil)
	if want := []string{"fetch", "fetch", "fetch", "fail enqueue_failed"}; !slices.Equal(p.done, want) {
		t.Errorf("%q, want %q", p.done, want)
	}
}

// TestFetchBeforeAdding fetches a job's file first, and nothing for a magnet link.
func TestFetchBeforeAdding(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.fetch = func(int) error { return nil }
	p.saw(time.Minute, lifecycle.ObservedComplete)
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, nil)
	if len(p.done) < 2 || p.done[0] != "fetch" || p.done[1] != "add" {
		t.Errorf("%q", p.done)
	}
}

// TestInterruptedFetch interrupts a fetch more often than there are attempts: only failed ones count.
func TestInterruptedFetch(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.fetch = func(nth int) error {
		switch nth {
		case 2:
			return temporalio.Interrupted(1) // the first one has failed
		case 3, 4, 5, 6:
			return temporalio.Interrupted(0)
		default:
			return fails(fault.SourceUnavailable, true)
		}
	}
	p.run("fetch", "fetch", "fetch", "fetch", "fetch", "fetch", "fetch", "fetch", "fail enqueue_failed")
}
