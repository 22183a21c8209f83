package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Submission is a result submitted by an assignee.
type Submission struct {
	Seq       int64           `db:"seq"` // of its event
	AuthorID  int64           `db:"author_id"`
	Result    json.RawMessage `db:"result"`
	Comment   string          `db:"comment"` // of its event; empty: the event is gone, or its author was forgotten
	CreatedAt time.Time       `db:"created_at"`
}

// keptSubmissions is how many of a task's results are kept: the newest. The events mention all of them.
const keptSubmissions = `20`

// Submissions lists up to limit results, with numbers below before (0: all), of a task visible to a viewer, newest
// first; viewer 0 sees all. Served by the primary key, and that of events.
func (s *Store) Submissions(ctx context.Context, viewer, id, before int64, limit int) ([]Submission, error) {
	return core.List[Submission](ctx, s.db, `SELECT s.seq, s.author_id, s.result, s.created_at, coalesce(e.comment, '') AS comment
		FROM task_submissions s JOIN tasks t ON t.id = s.task_id
		LEFT JOIN events e ON e.workload = $2 AND e.entity_id = $3 AND e.seq = s.seq
		WHERE s.task_id = $4 AND ($5::bigint = 0 OR s.seq < $5) AND `+visible+` ORDER BY s.seq DESC LIMIT $6`,
		viewer, lifecycle.WorkloadTask, fmt.Sprint(id), id, before, limit)
}

// Edit holds the fields changed by the creator; nil fields stay.
type Edit struct {
	Title       *string   `json:"title,omitempty"`
	Description *string   `json:"description,omitempty"`
	Priority    *string   `json:"priority,omitempty"`
	Labels      *[]string `json:"labels,omitempty"`
}

// apply changes a task and returns the names of the changed fields.
func (e Edit) apply(t *Task) (changed []string) {
	set := func(name string, field, wanted *string) {
		if wanted != nil && *wanted != *field {
			*field = *wanted
			changed = append(changed, name)
		}
	}

	set("title", &t.Title, e.Title)
	set("description", &t.Description, e.Description)
	set("priority", &t.Priority, e.Priority)
	if e.Labels != nil && !slices.Equal(*e.Labels, t.Labels) {
		t.Labels = *e.Labels
		changed = append(changed, "labels")
	}

	return changed
}

// keepResult writes a result beside its event, and deletes the oldest ones beyond the limit.
func keepResult(write *pgx.Batch, t Task, author int64, result []byte) {
	write.Queue(`INSERT INTO task_submissions (task_id, seq, author_id, result) VALUES ($1, $2, $3, $4)`,
		t.ID, t.Submission, author, result)
	write.Queue(`DELETE FROM task_submissions WHERE task_id = $1 AND seq <= (
		SELECT seq FROM task_submissions WHERE task_id = $1 ORDER BY seq DESC OFFSET `+keptSubmissions+` LIMIT 1)`, t.ID)
}
