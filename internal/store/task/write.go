package task

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Times limit a workspace's settings, whenever they were written: with shorter times a task would alternate between NEW
// and STUCK.
type Times struct {
	LeastDeadline time.Duration
	LeastRelease  time.Duration
}

// Bounds of a workspace's settings, in minutes.
const (
	MaxTaskMinutes = 10 * 365 * 24 * 60 // of a deadline or a release: ten years
	maxBackoff     = 24 * 60            // of a postponed release, unless the workspace has a longer one
)

// clock sets the deadline of task t by the current settings of its workspace w; status and since are SQL.
func (b Times) clock(status, since string) string {
	waits := status + ` = ` + core.Literal(lifecycle.TaskNew) + ` AND w.new_deadline_waits_for_blockers AND ` + OpenBlocker
	return `clock_waits = (` + waits + `),
		status_deadline_at = CASE WHEN NOT (` + waits + `) AND ` + status + ` IN ` + timedTasks + `
			THEN ` + since + ` + ` + b.limitOf(status) + ` END,
		release_at = CASE WHEN ` + status + ` = ` + core.Literal(lifecycle.TaskStuck) + ` THEN ` + since + ` + ` + b.release() + ` END`
}

// limitOf is how long a task may be in a status; NULL: for ever.
func (b Times) limitOf(status string) string {
	return minutesWithin(`(w.status_deadlines->>`+status+`)::float8`, b.LeastDeadline) + ` * interval '1 minute'`
}

// release is how long a task is STUCK before it is NEW again by itself; NULL: for ever. Each release without an action
// of a user since the one before doubles the wait, up to a limit.
func (b Times) release() string {
	base := minutesWithin(`w.stuck_release_after`, b.LeastRelease)
	return fmt.Sprintf(
		`%[1]s * least(power(2, least(t.releases, 50)), greatest(1, %[2]d / (%[1]s))) * interval '1 minute'`, base,
		maxBackoff,
	)
}

// minutesWithin is a setting within its limits; NULL when it is 0.
func minutesWithin(setting string, least time.Duration) string {
	return fmt.Sprintf(
		`CASE WHEN %[1]s > 0 THEN least(greatest(%[1]s, %[2]g), %[3]d) END`, setting, least.Minutes(), MaxTaskMinutes,
	)
}

// Write is one transition as its workflow has decided it.
type Write struct {
	TaskID     int64                `json:"task_id"`
	Version    int64                `json:"version"`    // the version that this write creates
	RequestID  string               `json:"request_id"` // identifies the request, so that a repetition is recognized
	Action     lifecycle.TaskAction `json:"action"`
	State      lifecycle.TaskState  `json:"status"`
	AssigneeID *int64               `json:"assignee_id,omitempty"`
	At         time.Time            `json:"at"`
	// LeaseSeconds is how long the caller may be silent after this claim; 0: for ever.
	LeaseSeconds int64      `json:"lease_seconds,omitempty"`
	Event        core.Event `json:"event"`
	Guard        Guard      `json:"guard,omitzero"`
}

// Guard is what a workflow assumes when it decides a transition. A write whose guard does not hold changes nothing.
type Guard struct {
	// MemberID is a user who belongs to the workspace and is ACTIVE; 0: anybody.
	MemberID  int64 `json:"member_id,omitempty"`
	Unblocked bool  `json:"unblocked,omitempty"` // every blocker is DONE
}

// WriteTask writes a transition, its event and the answer to a request with a key, unless the record has this version
// already. It returns the state that the record has then: its version and request show the caller whether that is what
// it has written, now or before. Transition and event are one statement, so that they cost one round trip to
// PostgreSQL; an answer, which contains the task as it is then, costs a second one.
func (s *Store) WriteTask(ctx context.Context, w Write) (Snapshot, error) {
	if err := core.Compare(lifecycle.Task, w.State, w.Event); err != nil {
		return Snapshot{}, err
	}

	statement := `WITH written AS (
			UPDATE tasks t SET row_version = $2, request_id = $3, status = $4::text, assignee_id = $5, since = $6,
			` + s.TaskTimes.clock(`$4::text`, `$6::timestamptz`) + `, last_seq = last_seq + 1, updated_at = $6,
			releases = CASE WHEN $11::bigint IS NOT NULL THEN 0 WHEN t.status = ` + core.Literal(lifecycle.TaskStuck) + ` AND $4 = ` + core.Literal(lifecycle.TaskNew) + ` THEN releases + 1 ELSE releases END,
			started_at = coalesce(started_at, CASE WHEN $4 = ` + core.Literal(lifecycle.TaskInProgress) + ` THEN $6::timestamptz END),
			finished_at = CASE WHEN $4 IN ` + endedTasks + ` THEN $6::timestamptz END, ` + claim + `, ` + submissionAfter + `
			FROM workspaces w WHERE w.id = t.workspace_id AND t.id = $1 AND row_version < $2 AND t.status = $9 AND ` + unrenewed + `
				AND ` + reviewHolds + ` AND ` + guardHolds + `
			RETURNING t.*
		), event AS (
			INSERT INTO events (workload, entity_id, seq, owner_id, type, from_state, to_state, actor_id, comment, reason)
			SELECT $7, id::text, last_seq, creator_id, $8, $9, $10, $11, $12, $16 FROM written
		) SELECT `

	args := []any{
		w.TaskID, w.Version, w.RequestID, w.State, w.AssigneeID, w.At,
		lifecycle.WorkloadTask, w.Event.Type, w.Event.From, w.Event.To, w.Event.ActorID, w.Event.Comment,
		lifecycle.BeginsClaim(lifecycle.TaskState(w.Event.From), w.State), lifecycle.EndsClaim(w.State), w.LeaseSeconds,
		w.Event.Reason, w.Guard.MemberID, w.Guard.Unblocked,
	}

	var task Task
	var err error
	if r, keyed := w.request(); keyed {
		err = s.db.InTwoTrips(ctx, func(read *pgx.Batch) {
			read.Queue(statement+taskColumns+` FROM written t`, args...).Query(func(rows pgx.Rows) (err error) {
				task, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Task])
				if err == pgx.ErrNoRows {
					return noTask
				}
				return err
			})
		}, func(_ core.Session, write *pgx.Batch) error {
			return core.QueueAnswer(write, r, Answer{Task: &task})
		})
	} else {
		task.Snapshot, err = core.One[Snapshot](ctx, s.db, noTask, statement+stateColumns+` FROM written`, args...)
	}

	if err == noTask { // a repeated or late write, one whose guard does not hold, or no such task
		return taskState(ctx, s.db, w.TaskID)
	}
	return task.Snapshot, err
}

// submissionAfter ends the submission and its approval when the task gets another assignee or none: $5 is the new one.
const submissionAfter = `submission = CASE WHEN assignee_id = $5 THEN submission END, approved = approved AND coalesce(assignee_id = $5, false)`

// reviewHolds is false when a task would be DONE without the approval that its workspace asks for: the workflow knew an
// old value. lifecycle.TaskFacts.ReviewMissing is the same as a fact.
var reviewHolds = `($4 <> ` + core.Literal(lifecycle.TaskDone) + ` OR t.approved OR NOT w.review_required)`

// guardHolds is a Guard in SQL. The primary keys serve it.
var guardHolds = `($17::bigint = 0 OR ` + memberOf(`$17`) + `) AND (NOT $18::boolean OR NOT ` + OpenBlocker + `)`

// memberOf is true when a user, in SQL, belongs to the workspace of task t and is ACTIVE.
func memberOf(user string) string {
	return `EXISTS (SELECT 1 FROM workspace_members m JOIN users u ON u.id = m.user_id
		WHERE m.workspace_id = t.workspace_id AND m.user_id = ` + user + ` AND ` + core.ActiveUser + `)`
}

// StartTaskClock starts the deadline of a NEW task that has waited for its blockers, as of a moment, unless the record
// has this version already. It is no transition and has no event.
func (s *Store) StartTaskClock(
	ctx context.Context, id, version int64, requestID string, at time.Time,
) (Snapshot, error) {
	_, err := s.db.Exec(ctx, `UPDATE tasks t SET row_version = $2, request_id = $3, clock_waits = false, updated_at = now(),
		status_deadline_at = $4::timestamptz + `+s.TaskTimes.limitOf(`status`)+`
		FROM workspaces w WHERE w.id = t.workspace_id AND t.id = $1 AND clock_waits AND row_version < $2`, id, version, requestID, at)
	if err != nil {
		return Snapshot{}, core.Unavailable(err)
	}
	return taskState(ctx, s.db, id)
}

func taskState(ctx context.Context, s *core.DB, id int64) (Snapshot, error) {
	return core.One[Snapshot](ctx, s, noTask, `SELECT `+stateColumns+` FROM tasks WHERE id = $1`, id)
}

// TaskContext is what a task's workflow cannot know by itself.
type TaskContext struct {
	Member       bool    `db:"member" json:"member,omitempty"` // the user belongs to the workspace
	Admin        bool    `db:"admin" json:"admin,omitempty"`
	OpenBlockers []int64 `db:"open_blockers" json:"open_blockers,omitempty"` // those that are not DONE, ascending
}

// FactsOfTask reads a user's membership and a task's blockers. A user who is not ACTIVE has no rights.
func (s *Store) FactsOfTask(ctx context.Context, id, userID int64) (TaskContext, error) {
	return core.One[TaskContext](ctx, s.db, noTask, `SELECT
		`+memberOf(`$2`)+` AS member,
		EXISTS (SELECT 1 FROM users u WHERE u.id = $2 AND `+core.ActiveUser+` AND u.role = 'ADMIN') AS admin,
		ARRAY (SELECT b.id FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
			WHERE tb.task_id = t.id AND b.status <> `+core.Literal(lifecycle.TaskDone)+` ORDER BY b.id) AS open_blockers
		FROM tasks t WHERE t.id = $1`, id, userID)
}

// WaitingDependents lists the tasks whose deadline has waited for this task and does not wait for another one.
func (s *Store) WaitingDependents(ctx context.Context, id int64) ([]Task, error) {
	return core.List[Task](ctx, s.db, taskSelect+`WHERE clock_waits AND NOT `+OpenBlocker+`
		AND id IN (SELECT task_id FROM task_blockers WHERE blocker_id = $1) ORDER BY id`, id)
}

// MarkTaskStarted records that the task's workflow runs.
func (s *Store) MarkTaskStarted(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE tasks SET workflow_started_at = coalesce(workflow_started_at, now()) WHERE id = $1`, id)
}

// LiveTask is a live task as the reconciler compares it with Temporal.
type LiveTask struct {
	ID           int64               `db:"id"`
	State        lifecycle.TaskState `db:"status"`
	NeverStarted bool                `db:"never_started"` // its workflow
}

// WorkflowID is the id of the workflow that drives the task.
func (t LiveTask) WorkflowID() string { return Task{ID: t.ID}.WorkflowID() }

const liveSelect = `SELECT id, status, workflow_started_at IS NULL AS never_started FROM tasks `

// LiveTasksOf returns the live tasks with these ids that were created at least age ago. The primary key serves it.
func (s *Store) LiveTasksOf(ctx context.Context, age time.Duration, ids []string) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE status NOT IN `+endedTasks+` AND created_at < now() - $2::interval
		AND id = ANY ($1::text[]::bigint[])`, ids, age)
}

// LiveTasks lists live tasks that were created at least age ago, with ids above after, ascending.
func (s *Store) LiveTasks(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveTask, error) {
	return core.List[LiveTask](ctx, s.db, liveSelect+`WHERE status NOT IN `+endedTasks+` AND id > $1 AND created_at < now() - $2::interval ORDER BY id LIMIT $3`, after, age, limit)
}
