package task

import (
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Answer is the outcome of a request for an action, as stored for repetitions with the same key.
type Answer struct {
	Task    *Task        `json:"task,omitempty"` // right after the action
	Refusal *fault.Error `json:"refusal,omitempty"`
}

// TaskAnswerOf returns the answer with a task, or with a refusal.
func TaskAnswerOf(task *Task, refusal *fault.Error) Answer {
	return Answer{Task: task, Refusal: refusal}
}

// Outcome returns the answer as the request gets it.
func (a Answer) Outcome() (Task, error) { return core.Outcome(a.Task, a.Refusal) }

// Content is what a request submits or edits. It is stored in the record and does not travel through Temporal.
type Content struct {
	Result []byte `json:"result,omitempty"` // of submit: the JSON exactly as sent
	Edit   Edit   `json:"edit,omitzero"`    // of edit
}

// hasContent lists the actions that have a Content.
var hasContent = map[lifecycle.TaskAction]bool{lifecycle.TaskActionSubmit: true, lifecycle.TaskActionEdit: true}

// TaskRequest is the request by the input's actor for an action.
func TaskRequest(key string, action lifecycle.TaskAction, taskID int64, in lifecycle.TaskInput) core.Request {
	asked := fmt.Sprintf(
		"%s %d %s %d %d %s %s", action, taskID, in.To, in.LeaseSeconds, in.Submission, in.Content, in.Comment,
	)
	return core.Request{UserID: in.Actor, Key: key, Asked: asked}
}
