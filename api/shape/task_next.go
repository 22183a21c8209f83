package shape

// NextTask is the task that a caller has claimed.
type NextTask struct {
	Task *Task `json:"task" doc:"null: none became ready in time"`
}
