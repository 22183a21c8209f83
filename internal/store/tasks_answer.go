package store

import (
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// TaskAnswer is what a request for a transition has led to, as it is kept for those who ask again by the same key.
type TaskAnswer struct {
	Task    *Task        `json:"task,omitempty"` // as it was just after
	Refusal *fault.Error `json:"refusal,omitempty"`
}

// TaskAnswerOf makes the answer of a task, or of a refusal.
func TaskAnswerOf(task *Task, refusal *fault.Error) TaskAnswer {
	return TaskAnswer{Task: task, Refusal: refusal}
}

// Told is the answer as its request gets it.
func (a TaskAnswer) Told() (Task, error) { return told(a.Task, a.Refusal) }

// TaskRequest is a user's request for a transition. To is for the action status only.
func TaskRequest(
	userID int64, key string, action lifecycle.TaskAction, taskID int64, to lifecycle.TaskState, comment string,
) Request {
	return Request{UserID: userID, Key: key, Asked: fmt.Sprintf("%s %d %s %s", action, taskID, to, comment)}
}

// request is what a write fulfils; false when nobody asked for it by a key.
func (w TaskWrite) request() (Request, bool) {
	userID, key, keyed := keyIn(w.RequestID)
	// an operator may name an update as they like
	if !keyed || w.Action == "" || w.Event.ActorID == nil || *w.Event.ActorID != userID {
		return Request{}, false
	}
	to := w.State
	if w.Action != lifecycle.TaskActionStatus {
		to = ""
	}
	return TaskRequest(userID, key, w.Action, w.TaskID, to, w.Event.Comment), true
}
