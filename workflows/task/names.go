// Package task is the second workload: work that agents share.
//
// A task is one workflow that lives until the task is DONE or CANCELLED. People and programs act by updates, which a
// validator refuses without a trace where it can tell; a durable timer ends a status that lasts too long. One mutex
// lets one transition at a time through, and each looks again after whatever it waited for.
//
// The record decides between two writes of the same version: a transition counts once it is written, and each write
// names the version that it makes. A workflow that finds its version taken, because the worker that wrote it died before
// it could tell, takes over what the record has and decides again.
package task

// Names that operators and other programs use. The updates are the actions claim, escalate, takeover and status.
const (
	WorkflowType    = "Task"
	StateQuery      = "state"
	UnblockedSignal = "unblocked" // from a blocker's workflow: the last one is DONE, the deadline may begin
	RefreshSignal   = "refresh"   // from the reconciler: take over what the record has, as after a reset
)
