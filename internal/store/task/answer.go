package task

import (
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Answer is the outcome of a request for a transition, as it is kept for repetitions with the same key.
type Answer struct {
	Task    *Task        `json:"task,omitempty"` // as it was right after it
	Refusal *fault.Error `json:"refusal,omitempty"`
}

// TaskAnswerOf returns the answer with a task, or with a refusal.
func TaskAnswerOf(task *Task, refusal *fault.Error) Answer {
	return Answer{Task: task, Refusal: refusal}
}

// Outcome returns the answer as the request gets it.
func (a Answer) Outcome() (Task, error) { return core.Outcome(a.Task, a.Refusal) }

// TaskRequest is a user's request for a transition. To is for the action status only.
func TaskRequest(
	userID int64, key string, action lifecycle.TaskAction, taskID int64, to lifecycle.TaskState, comment string,
) core.Request {
	return core.Request{UserID: userID, Key: key, Asked: fmt.Sprintf("%s %d %s %s", action, taskID, to, comment)}
}

// request returns the request that a write fulfils; false: it had no key.
func (w Write) request() (core.Request, bool) {
	userID, key, keyed := core.KeyIn(w.RequestID)
	// an operator may choose any name for an update
	if !keyed || w.Action == "" || w.Event.ActorID == nil || *w.Event.ActorID != userID {
		return core.Request{}, false
	}
	to := w.State
	if w.Action != lifecycle.TaskActionStatus {
		to = ""
	}
	return TaskRequest(userID, key, w.Action, w.TaskID, to, w.Event.Comment), true
}
