package task_test

import (
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
)

// TestNightSettingsMakeNoEndlessLoop stores deadlines of a few nanoseconds, as the release before took them, and lets a task
// go round between NEW and STUCK: that makes few events, and its creator gets through to cancel it.
func TestNightSettingsMakeNoEndlessLoop(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const tiny, watched, most = 1e-9, 10 * time.Second, 100
	release := tiny
	w := newRig(t, service.WorkspaceChange{
		StatusDeadlines: map[lifecycle.TaskState]float64{
			lifecycle.TaskNew: tiny, lifecycle.TaskInProgress: tiny, lifecycle.TaskBlocked: tiny,
		},
		StuckReleaseAfter: &release,
	})

	endless := w.task(nil)
	select { // the check is not how long it takes, but what it leaves in that time
	case <-t.Context().Done():
	case <-time.After(watched):
	}

	if n := len(w.events(endless)); n > most {
		t.Errorf("%d events within %s, want at most %d", n, watched, most)
	}

	_, err := w.tasks.Status(t.Context(), w.creator, endless.ID, lifecycle.TaskCancelled, "enough", "")
	w.must(err)
}
