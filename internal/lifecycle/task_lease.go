package lifecycle

// Bounds of a lease, in seconds.
const (
	LeastLease   = 60
	LongestLease = 24 * 60 * 60
)

// TaskReason says why the system moved a task, where the event's type leaves it open.
type TaskReason string

// TaskReasonLease is the reason of a deadline_expired whose holder did not renew the lease in time.
const TaskReasonLease TaskReason = "lease"

// TaskHeld are the states in which a claim holds: its fencing token is good, and its lease can be renewed.
var TaskHeld = []TaskState{TaskInProgress, TaskBlocked}

// BeginsClaim reports whether a step from a state begins a new claim, with a fencing token of its own.
func BeginsClaim(from, to TaskState) bool { return endsClaim[from] && to == TaskInProgress }

// EndsClaim reports whether a step to a state ends the claim: its fencing token is not accepted any more.
func EndsClaim(to TaskState) bool { return endsClaim[to] }

var endsClaim = map[TaskState]bool{TaskNew: true, TaskStuck: true}
