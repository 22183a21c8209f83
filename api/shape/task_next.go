package shape

// NextTask is the task that a caller has got.
type NextTask struct {
	Task *Task `json:"task" doc:"null when none became ready in time"`
}
