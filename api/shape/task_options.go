package shape

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// TaskOptions are the actions on a task, and whether the caller may take each now.
type TaskOptions struct {
	TaskID string              `json:"task_id" example:"12"`
	Status lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	Items  []TaskOption        `json:"items"`
}

// TaskOption is one action on a task, as one caller sees it.
type TaskOption struct {
	Action         lifecycle.TaskAction `json:"action" enum:"claim,escalate,takeover,status,submit,approve,reject,edit"`
	To             lifecycle.TaskState  `json:"to" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"Resulting status, or the current one if it stays; pass it with the action status"`
	Allowed        bool                 `json:"allowed" doc:"Whether a request with a comment would be accepted now"`
	ChangesNothing bool                 `json:"changes_nothing" doc:"Whether it would be accepted but change nothing, because you already have the task"`
	Code           *fault.Code          `json:"code" example:"UNRESOLVED_BLOCKERS" doc:"Why it would be refused; null: it is allowed"`
	Reason         string               `json:"reason" example:"claim needs: every blocker is DONE" doc:"The reason as a sentence; empty: it is allowed"`
	OnlyFor        []lifecycle.Role     `json:"only_for" example:"[\"creator\"]" doc:"Roles that may take it, if you have none of them"`
	Details        map[string]any       `json:"details" doc:"Details of the refusal; depend on the code"`
}
