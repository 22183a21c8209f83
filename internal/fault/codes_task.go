package fault

// A task refuses an action.
const (
	WorkspaceNotFound  Code = "WORKSPACE_NOT_FOUND"
	TaskNotFound       Code = "TASK_NOT_FOUND"
	TaskAlreadyClaimed Code = "TASK_ALREADY_CLAIMED" // details: holder
	CommentRequired    Code = "COMMENT_REQUIRED"
	UnresolvedBlockers Code = "UNRESOLVED_BLOCKERS" // details: blockers; cancelled: those of them that will never be DONE
	CyclicDependency   Code = "CYCLIC_DEPENDENCY"   // details: cycle
	UnknownBlocker     Code = "UNKNOWN_BLOCKER"     // details: unknown
	CannotEscalateOwn  Code = "CANNOT_ESCALATE_OWN"
	CannotTakeover     Code = "CANNOT_TAKEOVER"
	LeaseLost          Code = "LEASE_LOST"
	NoLease            Code = "NO_LEASE" // a claim without one needs no heartbeats

	ReviewRequired       Code = "REVIEW_REQUIRED"
	SubmissionNotCurrent Code = "SUBMISSION_NOT_CURRENT" // details: submission, the current one or null
)
