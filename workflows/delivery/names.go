// Package delivery is the first workload: a file goes from the storage to a Telegram chat.
//
// A job is one workflow. The Deliver activity waits in its task queue (QUEUED), is taken by one worker (CLAIMED),
// opens the file (DOWNLOADING), lets bytes flow to Telegram (STREAMING) and ends when Telegram acknowledges (DELIVERED).
// A try that fails and may be repeated goes back to the queue by the activity's retry policy; a worker that dies is
// noticed by its heartbeat; a job nobody takes ends by the schedule-to-start time-out; a cancel reaches the stream
// through the heartbeat. The activity writes the stages that it passes, fenced by the number of its claim; the
// workflow writes the end.
package delivery

// Names that operators and other programs use.
const (
	WorkflowType  = "Delivery"
	CancelSignal  = "cancel"
	StateQuery    = "state"
	StageSignal   = "stage"   // from the activity: the stage it is in, when one lasts
	AttemptSignal = "attempt" // from the activity or the reconciler: an attempt that has not ended the job
	Queue         = "delivery"
)
