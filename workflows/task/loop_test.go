package task_test

import (
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
)

// TestNightSettingsMakeNoEndlessLoop stores deadlines of a few nanoseconds, as accepted by the previous release, and
// lets a task cycle between NEW and STUCK: that makes few events, and its creator can still cancel it.
func TestNightSettingsMakeNoEndlessLoop(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const tiny, watched, most = 1e-9, 10 * time.Second, 100
	release := tiny
	w := newRig(t, tasks.WorkspaceChange{
		StatusDeadlines: map[lifecycle.TaskState]float64{
			lifecycle.TaskNew: tiny, lifecycle.TaskInProgress: tiny, lifecycle.TaskBlocked: tiny,
		},
		StuckReleaseAfter: &release,
	})

	endless := w.task(nil)
	select { // the check is not its duration, but what it leaves in that time
	case <-t.Context().Done():
	case <-time.After(watched):
	}

	if n := len(w.events(endless)); n > most {
		t.Errorf("%d events within %s, want at most %d", n, watched, most)
	}

	_, err := w.tasks.Status(t.Context(), w.creator, endless.ID, lifecycle.TaskCancelled, "enough", "")
	w.must(err)
}
