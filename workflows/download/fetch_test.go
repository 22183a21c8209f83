package download

import (
	"slices"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/lifecycle"
)

// TestFetchAttempts fetches a file that no worker survives: three are lost over it, and the job fails.
func TestFetchAttempts(t *testing.T) {
	t.Parallel()
	p := newPlay(t)
	p.fetch = func(int) error { return temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_HEARTBEAT, nil) }
	p.ExecuteWorkflow(lifecycle.DownloadType, jobID, nil)
	if want := []string{"fetch", "fetch", "fetch", "fail enqueue_failed"}; !slices.Equal(p.done, want) {
		t.Errorf("%q, want %q", p.done, want)
	}
}

// TestFetchBeforeAdding fetches the file of a job first, and nothing for a magnet link.
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
