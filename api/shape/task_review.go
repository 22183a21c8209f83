package shape

import (
	"encoding/json"
	"time"
)

// Submission is a result that an assignee has submitted.
type Submission struct {
	Seq       int64           `json:"submission" example:"5" doc:"Submission number, equal to that of its event"`
	AuthorID  string          `json:"author_id" example:"4"`
	Result    json.RawMessage `json:"result" example:"{\"pull_request\":42}" doc:"As it was submitted"`
	Comment   string          `json:"comment" example:"The tests pass" doc:"Empty if its event is no longer kept"`
	CreatedAt time.Time       `json:"created_at" example:"2026-03-01T12:00:00Z"`
}
