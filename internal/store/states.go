package store

import (
	"strings"

	"stagecoach/internal/lifecycle"
)

// Sets of states as the statements name them, made from the tables. They stand in the statements and are no parameters,
// because PostgreSQL must prove by them that a partial index serves.
var (
	liveJobs   = setOf(lifecycle.Delivery.Live())
	heldJobs   = setOf(lifecycle.DeliveryHeld)
	endedJobs  = setOf(lifecycle.Delivery.Ended())
	endedTasks = setOf(lifecycle.Task.Ended())
	timedTasks = setOf(lifecycle.TaskTimed)
	// nobody works on them, and somebody may
	startableTasks = setOf([]lifecycle.TaskState{lifecycle.TaskNew, lifecycle.TaskStuck})
	liveDownloads  = setOf(lifecycle.Download.Live())
	endedDownloads = setOf(lifecycle.Download.Ended())
	// without a medium
	failedDownload = setOf([]lifecycle.DownloadState{lifecycle.DownloadFailed, lifecycle.DownloadCanceled})
)

// literal writes a state, or another word of ours, as PostgreSQL does.
func literal[S ~string](word S) string { return "'" + string(word) + "'" }

// setOf writes states as the right side of IN.
func setOf[S ~string](states []S) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = literal(state)
	}
	return "(" + strings.Join(names, ", ") + ")"
}
