package task

import (
	"math"
	"slices"
	"time"

	"stagecoach/internal/lifecycle"
)

// Times limit a workspace's settings, whenever they were written: with shorter times a task would alternate between NEW
// and STUCK.
type Times struct {
	LeastDeadline time.Duration
	LeastRelease  time.Duration
}

// Bounds of a workspace's settings, in minutes.
const (
	MaxTaskMinutes = 10 * 365 * 24 * 60 // of a deadline or a release: ten years
	maxBackoff     = 24 * 60            // of a postponed release, unless the workspace's is longer
)

// clock has a workspace's settings for task times, and the task's history of releases.
type clock struct {
	Deadlines        map[lifecycle.TaskState]float64 `db:"status_deadlines"`    // minutes; 0: none
	ReleaseAfter     float64                         `db:"stuck_release_after"` // minutes; 0: never
	WaitsForBlockers bool                            `db:"new_deadline_waits_for_blockers"`
	Releases         int                             `db:"releases"` // since a user's last action
}

const clockColumns = `w.status_deadlines, w.stuck_release_after, w.new_deadline_waits_for_blockers, t.releases`

// begin sets the times of a task that has just entered its state.
func (b Times) begin(t *Task, c clock) {
	t.ClockWaits = t.State == lifecycle.TaskNew && c.WaitsForBlockers && t.Blocked
	t.DeadlineAt, t.ReleaseAt = nil, nil
	switch {
	case t.ClockWaits:
	case t.State == lifecycle.TaskStuck:
		t.ReleaseAt = after(t.Since, b.release(c))
	case slices.Contains(lifecycle.TaskTimed, t.State):
		t.DeadlineAt = after(t.Since, b.limit(c, t.State))
	}
}

// limit is how many minutes a task may be in a state; 0: unlimited.
func (b Times) limit(c clock, state lifecycle.TaskState) float64 {
	return within(c.Deadlines[state], b.LeastDeadline)
}

// release is how many minutes a task stays STUCK before it automatically becomes NEW again; 0: never. Each release
// without a user's action since the previous one doubles the wait, up to a limit.
func (b Times) release(c clock) float64 {
	base := within(c.ReleaseAfter, b.LeastRelease)
	if base == 0 {
		return 0
	}
	return base * min(math.Pow(2, float64(c.Releases)), max(1, maxBackoff/base))
}

// within clamps a setting to its limits; 0 stays.
func within(minutes float64, least time.Duration) float64 {
	if minutes <= 0 {
		return 0
	}
	return min(max(minutes, least.Minutes()), MaxTaskMinutes)
}

// after is a moment some minutes later, in PostgreSQL's precision; nil for 0 minutes.
func after(moment time.Time, minutes float64) *time.Time {
	if minutes == 0 {
		return nil
	}
	at := moment.Add(time.Duration(minutes * float64(time.Minute))).Truncate(time.Microsecond)
	return &at
}
