package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Submission is a result that an assignee has submitted.
type Submission struct {
	Seq       int64           `db:"seq"` // of its event
	AuthorID  int64           `db:"author_id"`
	Result    json.RawMessage `db:"result"`
	Comment   string          `db:"comment"` // of its event; empty: the event is no longer kept, or its author was forgotten
	CreatedAt time.Time       `db:"created_at"`
}

// keptSubmissions is how many results of one task are kept: the newest. The events tell of all.
const keptSubmissions = `20`

// Submissions lists up to limit results, with numbers below before (0: all), of a task that a viewer may see, the newest
// first; viewer 0 sees all. The primary key serves it, and the one of events.
func (s *Store) Submissions(ctx context.Context, viewer, id, before int64, limit int) ([]Submission, error) {
	return core.List[Submission](ctx, s.db, `SELECT s.seq, s.author_id, s.result, s.created_at, coalesce(e.comment, '') AS comment
		FROM task_submissions s JOIN tasks t ON t.id = s.task_id
		LEFT JOIN events e ON e.workload = $2 AND e.entity_id = $3 AND e.seq = s.seq
		WHERE s.task_id = $4 AND ($5::bigint = 0 OR s.seq < $5) AND `+visible+` ORDER BY s.seq DESC LIMIT $6`,
		viewer, lifecycle.WorkloadTask, fmt.Sprint(id), id, before, limit)
}

// Change is an action that leaves a task's status as it is.
type Change struct {
	TaskID int64
	Ask    lifecycle.TaskAsk
	Result json.RawMessage // of submit
	Edit   Edit            // of edit
}

// Edit has the fields that the creator changes; nil fields stay.
type Edit struct {
	Title       *string
	Description *string
	Priority    *string
	Labels      *[]string
}

// apply changes a task and returns the names of the fields that differ.
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

// changedTask is a locked task with what a caller asks for it.
type changedTask struct {
	Task
	ask lifecycle.TaskAsk
}

type taskStep = core.Step[lifecycle.TaskState, lifecycle.TaskAction]

// changes is what core.Change must know of tasks. WriteTask is the other form: it writes what changes the status.
var changes = &core.Workload[changedTask, lifecycle.TaskState, lifecycle.TaskAction, lifecycle.TaskFacts]{
	Name: lifecycle.WorkloadTask, Table: lifecycle.Task, None: noTask,
	Lock: []string{taskSelect + `WHERE t.id = $1 FOR UPDATE OF t`},

	Entity: func(t *changedTask) core.Entity[lifecycle.TaskState] {
		return core.Entity[lifecycle.TaskState]{
			ID: fmt.Sprint(t.ID), Owner: &t.CreatorID, State: &t.State, Version: &t.LastSeq,
		}
	},

	Facts: func(t *changedTask) lifecycle.TaskFacts {
		facts := t.Facts()
		facts.Comment, facts.Named = t.ask.Comment, t.ask.Submission
		return facts
	},

	Effects: map[lifecycle.TaskAction]func(*changedTask, taskStep){
		lifecycle.TaskActionSubmit: func(t *changedTask, _ taskStep) {
			number := t.LastSeq + 1
			t.Submission, t.Approved = &number, false
		},
		lifecycle.TaskActionApprove: func(t *changedTask, _ taskStep) { t.Approved = true },
		lifecycle.TaskActionReject:  func(t *changedTask, _ taskStep) { t.Approved = false },
	},

	Write: func(batch *pgx.Batch, _ lifecycle.TaskState, t *changedTask) {
		t.ReviewMissing, t.UpdatedAt = t.ReviewRequired && !t.Approved, time.Now().UTC().Truncate(time.Microsecond)
		batch.Queue(`UPDATE tasks SET last_seq = $2, submission = $3, approved = $4, title = $5, description = $6, priority = $7, labels = $8,
			updated_at = $9 WHERE id = $1`,
			t.ID, t.LastSeq, t.Submission, t.Approved, t.Title, t.Description, t.Priority, t.Labels, t.UpdatedAt)
	},
}

// ChangeTask takes an action that leaves the status as it is. The action does not reach the task's workflow, which may
// therefore not know the newest approval. An edit that changes nothing makes no event.
func (s *Store) ChangeTask(ctx context.Context, c Change, r core.Request) (Task, error) {
	answer, err := core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) (Answer, error) {
		changed, err := core.ChangeIn(ctx, tx, changes, c.TaskID, c.walk)
		return Answer{Task: &changed.Task}, err
	})
	if err != nil {
		return Task{}, err
	}
	return answer.Outcome()
}

func (c Change) walk(w *core.Walk[changedTask, lifecycle.TaskState, lifecycle.TaskAction, lifecycle.TaskFacts]) error {
	t := w.Row
	if _, _, err := lifecycle.DecideTask(t.Facts(), c.Ask); err != nil {
		return err
	}

	step := taskStep{
		Action: c.Ask.Action, Roles: t.Facts().RolesOf(c.Ask.Caller), Actor: &c.Ask.Caller.ID, Comment: c.Ask.Comment,
	}

	switch step.Action {
	case lifecycle.TaskActionEdit:
		changed := strings.Join(c.Edit.apply(&t.Task), ", ")
		if changed == "" {
			return nil
		}
		step.Comment = strings.TrimSuffix(changed+": "+c.Ask.Comment, ": ")
	case lifecycle.TaskActionSubmit:
		w.Then = c.keepResult(t)
	default:
	}

	t.ask = c.Ask
	return w.Take(step)
}

// keepResult writes a result beside its event, and deletes the oldest above the number that is kept.
func (c Change) keepResult(t *changedTask) func(*pgx.Batch) error {
	return func(write *pgx.Batch) error {
		write.Queue(`INSERT INTO task_submissions (task_id, seq, author_id, result) VALUES ($1, $2, $3, $4)`,
			t.ID, t.Submission, c.Ask.Caller.ID, []byte(c.Result))
		write.Queue(`DELETE FROM task_submissions WHERE task_id = $1 AND seq <= (
			SELECT seq FROM task_submissions WHERE task_id = $1 ORDER BY seq DESC OFFSET `+keptSubmissions+` LIMIT 1)`, t.ID)
		return nil
	}
}
