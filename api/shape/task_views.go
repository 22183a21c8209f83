package shape

import "stagecoach/internal/lifecycle"

// TaskBoard shows the newest tasks of a workspace by status.
type TaskBoard struct {
	WorkspaceID string       `json:"workspace_id" example:"2"`
	Columns     []TaskColumn `json:"columns" doc:"One for each status, in the order of a task's life"`
}

// TaskColumn are the newest tasks in one status.
type TaskColumn struct {
	Status lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	Items  []Task              `json:"items" doc:"The newest first"`
	More   bool                `json:"more" doc:"There are older ones: list the tasks with this status"`
}

// MyTasks are the tasks that wait for the caller.
type MyTasks struct {
	Counts   map[lifecycle.TaskState]int64 `json:"counts" example:"{\"IN_PROGRESS\":2,\"STUCK\":1}" doc:"How many live tasks you have in each status, 1,000 at most"`
	Assigned []Task                        `json:"assigned" doc:"Your live tasks, those with the nearest deadlines first"`
	Ready    []Task                        `json:"ready" doc:"Tasks that you can claim now, the newest first"`
}

// TaskGraph are tasks that wait for each other.
type TaskGraph struct {
	Items   []TaskNode `json:"items" doc:"The oldest first"`
	Partial bool       `json:"partial" doc:"As many as asked for were found: there may be more"`
}

// TaskNode is a task of a graph.
type TaskNode struct {
	ID         string              `json:"id" example:"12"`
	Title      string              `json:"title" example:"Write the release notes"`
	Status     lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	AssigneeID *string             `json:"assignee_id" example:"4" doc:"null when nobody has it"`
	BlockedBy  []string            `json:"blocked_by" example:"[\"11\"]" doc:"The tasks of this graph that it waits for, done ones too"`
}
