package lifecycle

// Bounds of a lease, in seconds.
const (
	LeastLease   = 60
	LongestLease = 24 * 60 * 60
)

// TaskHeld are the states in which a claim is valid: its fencing token is accepted, and its lease can be renewed.
var TaskHeld = []TaskState{TaskInProgress, TaskBlocked}

// BeginsClaim reports whether a step from a state begins a new claim with its own fencing token.
func BeginsClaim(from, to TaskState) bool { return endsClaim[from] && to == TaskInProgress }

// EndsClaim reports whether a step to a state ends the claim: its fencing token is no longer accepted.
func EndsClaim(to TaskState) bool { return endsClaim[to] }

var endsClaim = map[TaskState]bool{TaskNew: true, TaskStuck: true}
