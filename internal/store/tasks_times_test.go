package store_test

import (
	"math"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// TestTimesOfAWorkspaceAreClamped stores settings that no client accepts now, and checks their effect on
// transitions.
func TestTimesOfAWorkspaceAreClamped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		minutes               float64
		wantLimit, wantHolds  time.Duration // 0: unlimited
		leastLimit, leastHold time.Duration
	}{
		"too short":             {1e-9, time.Second, time.Minute, time.Second, time.Minute},
		"tiny without a bound":  {0.001, 60 * time.Millisecond, 60 * time.Millisecond, 0, 0},
		"for ever":              {0, 0, 0, time.Second, time.Minute},
		"usual":                 {5, 5 * time.Minute, 5 * time.Minute, time.Second, time.Minute},
		"longer than ten years": {1e9, task.MaxTaskMinutes * time.Minute, task.MaxTaskMinutes * time.Minute, time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, func(w *task.Workspace) {
				w.StatusDeadlines = map[lifecycle.TaskState]float64{
					lifecycle.TaskNew: c.minutes, lifecycle.TaskInProgress: c.minutes, lifecycle.TaskBlocked: c.minutes,
				}
				w.StuckReleaseAfter = c.minutes
			})

			o.Tasks.TaskTimes = task.Times{LeastDeadline: c.leastLimit, LeastRelease: c.leastHold}
			made := o.made(task.NewTask{})[0]
			wantAfter(t, "the deadline of NEW", made.Since, made.DeadlineAt, c.wantLimit)

			if c.wantLimit == 0 {
				return
			}

			stuck := o.expire(made.ID)
			wantAfter(t, "the release", stuck.Since, stuck.ReleaseAt, c.wantHolds)
			again := o.expire(made.ID)
			wantAfter(t, "the deadline of NEW again", again.Since, again.DeadlineAt, c.wantLimit)
		})
	}
}

// TestReleasesWaitLongerEachTime lets a task be released automatically several times, then lets a person act.
func TestReleasesWaitLongerEachTime(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(w *task.Workspace) { w.StuckReleaseAfter = 10 })
	wanted := o.made(task.NewTask{})[0]
	round := func(want time.Duration) {
		t.Helper()
		stuck := o.expire(wanted.ID)
		wantAfter(t, "the release", stuck.Since, stuck.ReleaseAt, want)
		o.expire(wanted.ID)
	}

	for wait := 10 * time.Minute; wait < 24*time.Hour; wait *= 2 {
		round(wait)
	}

	for range 60 { // far beyond where a power of two overflows
		round(24 * time.Hour)
	}

	o.move(wanted, lifecycle.TaskInProgress, &o.bob.ID)
	stuck := o.expire(wanted.ID)
	wantAfter(t, "the release after somebody acted", stuck.Since, stuck.ReleaseAt, 10*time.Minute)
}

// TestALongReleaseIsNotShortened keeps a release longer than the bound of the doubling.
func TestALongReleaseIsNotShortened(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(w *task.Workspace) { w.StuckReleaseAfter = 3 * 24 * 60 })
	wanted := o.made(task.NewTask{})[0]
	for range 3 {
		stuck := o.expire(wanted.ID)
		wantAfter(t, "the release", stuck.Since, stuck.ReleaseAt, 3*24*time.Hour)
		o.expire(wanted.ID)
	}
}

func wantAfter(t *testing.T, what string, since time.Time, at *time.Time, want time.Duration) {
	t.Helper()
	switch {
	case want == 0 && at != nil:
		t.Errorf("%s is at %s, want none", what, at)
	case want > 0 && at == nil:
		t.Errorf("there is no %s, want one after %s", what, want)
	case want > 0 && math.Abs(at.Sub(since).Seconds()-want.Seconds()) > 0.001:
		t.Errorf("%s is after %s, want %s", what, at.Sub(since), want)
	}
}
