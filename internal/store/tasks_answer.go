package store

import (
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// TaskAnswer is what a request for a transition has led to, as it is kept for those who ask again by the same key.
type TaskAnswer struct {
	Task    *Task        `json:"task,omitempty"` // as it was just after
	Refusal *fault.Error `json:"refusal,omitempty"`
}

// TaskRequest is a user's request for a transition. To is for the action status only.
func TaskRequest(userID int64, key string, action TaskAction, taskID int64, to TaskStatus, comment string) Request {
	return Request{UserID: userID, Key: key, Asked: fmt.Sprintf("%s %d %s %s", action, taskID, to, comment)}
}

// request is what a write fulfils; false when nobody asked for it by a key.
func (w TaskWrite) request() (Request, bool) {
	userID, key, keyed := keyIn(w.RequestID)
	if !keyed || w.Action == "" || w.Event.ActorID == nil || *w.Event.ActorID != userID { // an operator may name an update as they like
		return Request{}, false
	}
	to := w.Status
	if w.Action != TaskActionStatus {
		to = ""
	}
	return TaskRequest(userID, key, w.Action, w.TaskID, to, w.Event.Comment), true
}

// queueTaskAnswer keeps the answer to a request that is fulfilled in the same transaction. It takes the place of a refusal,
// which the same request has met at the same moment elsewhere: what is done is not denied.
func queueTaskAnswer(batch *pgx.Batch, r Request, answer TaskAnswer) error {
	text, err := json.Marshal(answer)
	batch.Queue(`INSERT INTO answers (user_id, key, request, answer) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, key) DO UPDATE SET answer = excluded.answer WHERE answers.request = excluded.request`,
		r.UserID, r.Key, r.Asked, text)
	return err
}
