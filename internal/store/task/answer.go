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

// TaskRequest is the request of the input's actor for a transition.
func TaskRequest(key string, action lifecycle.TaskAction, taskID int64, in lifecycle.TaskInput) core.Request {
	asked := fmt.Sprintf("%s %d %s %d %s", action, taskID, in.To, in.LeaseSeconds, in.Comment)
	return core.Request{UserID: in.Actor, Key: key, Asked: asked}
}

// request returns the request that a write fulfils; false: it had no key.
func (w Write) request() (core.Request, bool) {
	userID, key, keyed := core.KeyIn(w.RequestID)
	// an operator may choose any name for an update
	if !keyed || w.Action == "" || w.Event.ActorID == nil || *w.Event.ActorID != userID {
		return core.Request{}, false
	}

	in := lifecycle.TaskInput{Actor: userID, Comment: w.Event.Comment, LeaseSeconds: w.LeaseSeconds}
	if w.Action == lifecycle.TaskActionStatus {
		in.To = w.State
	}
	return TaskRequest(key, w.Action, w.TaskID, in), true
}
