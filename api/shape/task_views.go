package shape

import "stagecoach/internal/lifecycle"

// TaskBoard shows the newest tasks of a workspace by status.
type TaskBoard struct {
	WorkspaceID string       `json:"workspace_id" example:"2"`
	Columns     []TaskColumn `json:"columns" doc:"One per status, in the order of a task's life cycle"`
}

// TaskColumn are the newest tasks in one status.
type TaskColumn struct {
	Status lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	Items  []Task              `json:"items" doc:"Claimable ones first, then newest first"`
	Count  int                 `json:"count" example:"3" doc:"Number of tasks, at most 1,000"`
	More   bool                `json:"more" doc:"Whether there are older ones: list the tasks with this status"`
}

// MyTasks are the tasks that wait for the caller.
type MyTasks struct {
	Counts   map[lifecycle.TaskState]int64 `json:"counts" example:"{\"IN_PROGRESS\":2,\"STUCK\":1}" doc:"Number of your open tasks in each status, at most 1,000"`
	Assigned []Task                        `json:"assigned" doc:"Your open tasks, nearest deadline first"`
	Ready    []Task                        `json:"ready" doc:"Tasks that you can claim now, newest first"`
}

// TaskGraph is a graph of tasks and their dependencies.
type TaskGraph struct {
	Items   []TaskNode `json:"items" doc:"Oldest first"`
	Partial bool       `json:"partial" doc:"The requested number was found: there may be more"`
}

// TaskNode is a task of a graph.
type TaskNode struct {
	ID         string              `json:"id" example:"12"`
	Title      string              `json:"title" example:"Write the release notes"`
	Status     lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	AssigneeID *string             `json:"assignee_id" example:"4" doc:"null: unassigned"`
	BlockedBy  []string            `json:"blocked_by" example:"[\"11\"]" doc:"Tasks of this graph that it waits for, including done ones"`
}
