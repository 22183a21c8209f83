package shape

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// TaskOptions are the actions on a task, and for each whether the caller may take it now.
type TaskOptions struct {
	TaskID string              `json:"task_id" example:"12"`
	Status lifecycle.TaskState `json:"status" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED"`
	Items  []TaskOption        `json:"items"`
}

// TaskOption is one action on a task, as one caller sees it.
type TaskOption struct {
	Action         lifecycle.TaskAction `json:"action" enum:"claim,escalate,takeover,status,submit,approve,reject,edit"`
	To             lifecycle.TaskState  `json:"to" enum:"NEW,IN_PROGRESS,BLOCKED,STUCK,DONE,CANCELLED" doc:"The status that it leads to, the present one where the status stays; the action status is asked for with it"`
	Allowed        bool                 `json:"allowed" doc:"Whether a request with a comment would be accepted now"`
	ChangesNothing bool                 `json:"changes_nothing" doc:"It would be accepted and change nothing, because you have the task already"`
	Code           *fault.Code          `json:"code" example:"UNRESOLVED_BLOCKERS" doc:"Why it would be refused; null when it is allowed"`
	Reason         string               `json:"reason" example:"claim needs: every blocker is DONE" doc:"The same as a sentence; empty when it is allowed"`
	OnlyFor        []lifecycle.Role     `json:"only_for" example:"[\"creator\"]" doc:"Who may, when you are none of them"`
	Details        map[string]any       `json:"details" doc:"Those of the refusal; depend on the code"`
}
