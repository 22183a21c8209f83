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
	// no try has ended
	spentPayments = setOf([]PaymentState{PaymentSigned, PaymentPaid}) // that may have moved money, or have
	openOrders    = setOf([]lifecycle.TransactionState{lifecycle.TransactionPending, lifecycle.TransactionProcessing})
)

// setOf writes states as the right side of IN.
func setOf[S ~string](states []S) string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = "'" + string(state) + "'"
	}
	return "(" + strings.Join(names, ", ") + ")"
}
