package task

import (
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Answer is what a request for a transition has led to, as it is kept for those who ask again by the same key.
type Answer struct {
	Task    *Task        `json:"task,omitempty"` // as it was just after
	Refusal *fault.Error `json:"refusal,omitempty"`
}

// TaskAnswerOf makes the answer of a task, or of a refusal.
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

// request is what a write fulfils; false when nobody asked for it by a key.
func (w Write) request() (core.Request, bool) {
	userID, key, keyed := core.KeyIn(w.RequestID)
	// an operator may name an update as they like
	if !keyed || w.Action == "" || w.Event.ActorID == nil || *w.Event.ActorID != userID {
		return core.Request{}, false
	}
	to := w.State
	if w.Action != lifecycle.TaskActionStatus {
		to = ""
	}
	return TaskRequest(userID, key, w.Action, w.TaskID, to, w.Event.Comment), true
}
