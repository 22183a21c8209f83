package task

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Visibilities and priorities of a task.
const (
	Public  = "public"  // visible to every member of the workspace
	Private = "private" // visible to its creator, its assignee and administrators

	PriorityLow      = "low"
	PriorityNormal   = "normal"
	PriorityHigh     = "high"
	PriorityCritical = "critical"
)

// Priorities lists the priorities, lowest first.
var Priorities = []string{PriorityLow, PriorityNormal, PriorityHigh, PriorityCritical}

// Snapshot is the part of a task known to its workflow: ids and times only.
type Snapshot struct {
	Version    int64               `db:"last_seq" json:"version"` // the number of its newest event
	State      lifecycle.TaskState `db:"status" json:"status"`
	Since      time.Time           `db:"since" json:"since"` // when the status was entered
	CreatorID  int64               `db:"creator_id" json:"creator_id"`
	AssigneeID *int64              `db:"assignee_id" json:"assignee_id,omitempty"`
	Visibility string              `db:"visibility" json:"visibility"`
	DeadlineAt *time.Time          `db:"status_deadline_at" json:"deadline_at,omitempty"`
	ReleaseAt  *time.Time          `db:"release_at" json:"release_at,omitempty"`   // when STUCK ends automatically
	StartedAt  *time.Time          `db:"started_at" json:"started_at,omitempty"`   // first IN_PROGRESS
	FinishedAt *time.Time          `db:"finished_at" json:"finished_at,omitempty"` // DONE or CANCELLED
	ClockWaits bool                `db:"clock_waits" json:"clock_waits,omitempty"`
	Blocked    bool                `db:"blocked" json:"blocked,omitempty"` // some blocker is not DONE

	// FencingToken is the current claim's number, or a later one that no claim has: it grows with the beginning and the
	// end of each claim.
	FencingToken   int64      `db:"fencing_token" json:"fencing_token,omitempty"`
	LeaseExpiresAt *time.Time `db:"lease_expires_at" json:"lease_expires_at,omitempty"` // end of the claim unless renewed

	Submission *int64 `db:"submission" json:"submission,omitempty"` // the assignee's newest result; nil: none
	// ReviewMissing means that the workspace requires a review and the result is not approved. It changes with the
	// workspace's setting, so a workflow's value may be stale.
	ReviewMissing bool `db:"review_missing" json:"review_missing,omitempty"`
	Rejected      bool `db:"rejected" json:"rejected,omitempty"` // the submission
}

// HeldBy reports whether a user is the assignee.
func (s Snapshot) HeldBy(userID int64) bool {
	return s.AssigneeID != nil && *s.AssigneeID == userID
}

// Facts are the inputs of a decision about the task. openBlockers are those that are not DONE.
func (s Snapshot) Facts(openBlockers []int64) lifecycle.TaskFacts {
	facts := lifecycle.TaskFacts{
		State: s.State, CreatorID: s.CreatorID, AssigneeID: s.AssigneeID, Public: s.Visibility == Public,
		OpenBlockers: openBlockers, FencingToken: s.FencingToken, ReviewMissing: s.ReviewMissing,
	}
	if s.Submission != nil {
		facts.Submission = *s.Submission
	}
	return facts
}

// WaitsFor is what the task waits for, or empty.
func (s Snapshot) WaitsFor() string {
	inReview := s.Submission != nil && s.ReviewMissing && !s.Rejected
	return lifecycle.TaskWaitsFor(s.State, s.AssigneeID != nil, s.Blocked, inReview)
}

// Due is when the task's state times out, and whether because the lease ends; nil: it does not.
func (s Snapshot) Due() (at *time.Time, lease bool) {
	switch {
	case s.State == lifecycle.TaskStuck:
		return s.ReleaseAt, false
	case s.LeaseExpiresAt != nil && (s.DeadlineAt == nil || s.LeaseExpiresAt.Before(*s.DeadlineAt)):
		return s.LeaseExpiresAt, true
	default:
		return s.DeadlineAt, false
	}
}

// Task is the record of one task.
type Task struct {
	Snapshot
	ID                int64      `db:"id"`
	WorkspaceID       int64      `db:"workspace_id"`
	Title             string     `db:"title"`
	Description       string     `db:"description"`
	Priority          string     `db:"priority"`
	Labels            []string   `db:"labels"`
	WorkflowStartedAt *time.Time `db:"workflow_started_at"`
	CreatedAt         time.Time  `db:"created_at"`
	UpdatedAt         time.Time  `db:"updated_at"`
	Blockers          []Blocker  `db:"blockers"`

	Approved       bool `db:"approved"` // the submission
	ReviewRequired bool `db:"review_required"`
}

// Facts are the inputs of a decision about the task.
func (t Task) Facts() lifecycle.TaskFacts {
	facts := t.Snapshot.Facts(t.OpenBlockers())
	facts.Cancelled = t.CancelledBlockers()
	return facts
}

// Blocker is a task that must be DONE before another may start.
type Blocker struct {
	ID     int64               `json:"id"`
	Status lifecycle.TaskState `json:"status"`
}

// WorkflowID is the id of the workflow that drives the task.
func (t Task) WorkflowID() string { return fmt.Sprintf("task/%d", t.ID) }

// OpenBlockers lists the ids of the blockers that are not DONE.
func (t Task) OpenBlockers() []int64 {
	return t.blockers(func(s lifecycle.TaskState) bool { return s != lifecycle.TaskDone })
}

// CancelledBlockers lists the ids of the blockers that will never be DONE.
func (t Task) CancelledBlockers() []int64 {
	return t.blockers(func(s lifecycle.TaskState) bool { return s == lifecycle.TaskCancelled })
}

func (t Task) blockers(in func(lifecycle.TaskState) bool) (ids []int64) {
	for _, blocker := range t.Blockers {
		if in(blocker.Status) {
			ids = append(ids, blocker.ID)
		}
	}
	return ids
}

// Ready reports whether the task can be claimed now.
func (t Task) Ready() bool {
	return t.State == lifecycle.TaskNew && t.AssigneeID == nil && t.Visibility == Public && len(t.OpenBlockers()) == 0
}

const (
	// reviewRequired is the setting of the workspace of a task.
	reviewRequired = `(SELECT review_required FROM workspaces WHERE workspaces.id = t.workspace_id)`
	// visible is true of a task t that user $1 (0: an administrator) may see. Audience.Sees does the same for its events.
	visible = `($1::bigint = 0 OR t.creator_id = $1 OR t.assignee_id = $1 OR (t.visibility = 'public'
		AND EXISTS (SELECT 1 FROM workspace_members m WHERE m.workspace_id = t.workspace_id AND m.user_id = $1)))`
)

var (
	// OpenBlocker is true of a task t with a blocker that is not DONE.
	OpenBlocker = `EXISTS (SELECT 1 FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
	WHERE tb.task_id = t.id AND b.status <> ` + core.Literal(lifecycle.TaskDone) + `)`
	// blocked is the same for list columns, where PostgreSQL might evaluate an EXISTS over the whole table.
	blocked = `coalesce((SELECT true FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
		WHERE tb.task_id = t.id AND b.status <> ` + core.Literal(lifecycle.TaskDone) + ` LIMIT 1), false)`

	stateColumns = `t.last_seq, t.status, t.since, t.creator_id, t.assignee_id, t.visibility, t.status_deadline_at, t.release_at,
		t.started_at, t.finished_at, t.clock_waits, t.fencing_token, t.lease_expires_at, t.submission, t.rejected,
		` + blocked + ` AS blocked, NOT t.approved AND ` + reviewRequired + ` AS review_missing`
	taskColumns = stateColumns + `, t.id, t.workspace_id, t.title, t.description, t.priority, t.labels, t.workflow_started_at,
		t.created_at, t.updated_at, t.approved, ` + reviewRequired + ` AS review_required,
		(SELECT coalesce(jsonb_agg(jsonb_build_object('id', b.id, 'status', b.status) ORDER BY b.id), '[]')
			FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id WHERE tb.task_id = t.id) AS blockers`
	taskSelect = `SELECT ` + taskColumns + ` FROM tasks t `
)

var noTask = fault.New(fault.TaskNotFound, "there is no such task")

// ByID returns a task visible to a viewer; viewer 0 sees all.
func (s *Store) ByID(ctx context.Context, viewer, id int64) (Task, error) {
	return core.One[Task](ctx, s.db, noTask, taskSelect+`WHERE `+visible+` AND t.id = $2`, viewer, id)
}

// Answered reads the first answer to a request into answer, as core's Answered does, and a task visible to a viewer, in
// one round trip. found is nil if there is no such task.
func (s *Store) Answered(
	ctx context.Context, r core.Request, answer *Answer, viewer, id int64,
) (answered bool, found *Task, err error) {
	batch := &pgx.Batch{}
	core.QueueAnswered(batch, r, answer, &answered)
	batch.Queue(taskSelect+`WHERE `+visible+` AND t.id = $2`, viewer, id).Query(func(rows pgx.Rows) (err error) {
		found, err = core.Optional[Task](rows)
		return err
	})

	err = s.db.SendBatch(ctx, batch).Close()
	return answered, found, core.Unavailable(err)
}

// Filter selects tasks; zero fields select all.
type Filter struct {
	Viewer      int64 // only what this user may see; 0: an administrator
	WorkspaceID int64
	Status      lifecycle.TaskState
	AssigneeID  int64
	Ready       bool   // claimable now
	Live        bool   // neither DONE nor CANCELLED
	Words       string // or parts of words, in title and description, any order and case; searches the newest 1,000
	Before      int64
	Limit       int
}

var (
	// wantedTasks are a Filter's conditions besides the viewer and the words.
	wantedTasks = `($2::bigint = 0 OR workspace_id = $2) AND ($3 = '' OR status = $3)
		AND ($4::bigint = 0 OR assignee_id = $4) AND ($5::bigint = 0 OR id < $5)
		AND (NOT $6 OR (` + claimable + `))
		AND (NOT $7 OR status NOT IN ` + EndedTasks + `)`

	// nearTasks returns a page for each reason why user $1 may see tasks: the first visible tasks are among these, and
	// each page has an index, while one search by all reasons may scan the table. The array and the order by two columns
	// keep PostgreSQL from searching for a workspace's tasks among all tasks, newest first.
	nearTasks = `(SELECT id FROM tasks t WHERE creator_id = $1 AND ` + wantedTasks + ` ORDER BY id DESC LIMIT $8)
		UNION (SELECT id FROM tasks t WHERE assignee_id = $1 AND ` + wantedTasks + ` ORDER BY id DESC LIMIT $8)
		UNION SELECT near.id FROM workspace_members m CROSS JOIN LATERAL (
			SELECT id FROM tasks t WHERE t.workspace_id = ANY (ARRAY [m.workspace_id]) AND visibility = 'public' AND ` + wantedTasks + `
			ORDER BY t.workspace_id, id DESC LIMIT $8) near WHERE m.user_id = $1`
	// allTasks is nearTasks for an administrator.
	allTasks = `SELECT id FROM tasks t WHERE ` + wantedTasks + ` ORDER BY id DESC LIMIT $8`
)

// searchedTasks is how many tasks one search reads, the newest that pass the filter: a task has up to 20 KB of text.
const searchedTasks = 1000

// List lists tasks, newest first. Words are searched for only in the newest 1,000. Served by the indexes tasks_creator,
// _assignee, _workspace, _workspace_status, _live, _live_assignee and _ended, and for the words by the key.
func (s *Store) List(ctx context.Context, f Filter) ([]Task, error) {
	if f.Words == "" {
		return core.Chosen[Task](ctx, s.db, taskSelect+f.where(), f.args()...)
	}

	wanted := f
	wanted.Limit = searchedTasks
	near := allTasks
	if f.Viewer != 0 {
		near = nearTasks
	}
	// The subquery keeps PostgreSQL from reading the text of all tasks.
	return core.Chosen[Task](ctx, s.db, taskSelect+`WHERE `+visible+` AND id IN (
			SELECT n.id FROM (SELECT id FROM (`+near+`) near ORDER BY id DESC LIMIT $8) n
			WHERE (SELECT folded FROM tasks WHERE id = n.id) LIKE ALL ($9::text[]) ORDER BY n.id DESC LIMIT $10)
		ORDER BY id DESC`, append(wanted.args(), core.Patterns(f.Words), f.Limit)...)
}

// where selects a filter's tasks, with args.
func (f Filter) where() string {
	where := `WHERE ` + visible
	if f.Viewer != 0 {
		where += ` AND id IN (` + nearTasks + `)`
	}
	return where + ` AND ` + wantedTasks + ` ORDER BY id DESC LIMIT $8`
}

func (f Filter) args() []any {
	return []any{f.Viewer, f.WorkspaceID, f.Status, f.AssigneeID, f.Before, f.Ready, f.Live, f.Limit}
}

// EventsOf lists up to limit events, with numbers above after, of a task visible to a viewer, oldest first; viewer 0
// sees all.
func (s *Store) EventsOf(ctx context.Context, viewer, id, after int64, limit int) ([]core.StreamedEvent, error) {
	return core.List[core.StreamedEvent](ctx, s.db, core.EventSelect+`WHERE workload = $2 AND entity_id = $3 AND seq > $4
		AND `+ofVisibleTask+` ORDER BY seq LIMIT $6`, viewer, lifecycle.WorkloadTask, fmt.Sprint(id), after, id, limit)
}

// LastEventsOf is EventsOf for those with numbers below before, newest first; before 0: all.
func (s *Store) LastEventsOf(ctx context.Context, viewer, id, before int64, limit int) ([]core.StreamedEvent, error) {
	return core.List[core.StreamedEvent](ctx, s.db, core.EventSelect+`WHERE workload = $2 AND entity_id = $3 AND ($4::bigint = 0 OR seq < $4)
		AND `+ofVisibleTask+` ORDER BY seq DESC LIMIT $6`, viewer, lifecycle.WorkloadTask, fmt.Sprint(id), before, id, limit)
}

const ofVisibleTask = `EXISTS (SELECT 1 FROM tasks t WHERE t.id = $5 AND ` + visible + `)`

// SetMuted mutes or unmutes a task for a user, who is not notified of a muted one.
func (s *Store) SetMuted(ctx context.Context, userID, id int64, muted bool) error {
	return s.db.Do(ctx, `INSERT INTO task_watchers (task_id, user_id, watches, muted) VALUES ($1, $2, false, $3)
		ON CONFLICT (task_id, user_id) DO UPDATE SET muted = excluded.muted`, id, userID, muted)
}

// Comment adds a comment to a task's events. Comments do not reach its workflow: there may be thousands.
func (s *Store) Comment(ctx context.Context, id int64, comment string, r core.Request) (core.StreamedEvent, error) {
	return core.AnswerOnce(ctx, s.db, r, func(tx pgx.Tx) (core.StreamedEvent, error) {
		var seq, creator int64
		err := tx.QueryRow(ctx, `UPDATE tasks SET last_seq = last_seq + 1
			WHERE id = $1 RETURNING last_seq, creator_id`, id).Scan(&seq, &creator)
		if err == pgx.ErrNoRows {
			return core.StreamedEvent{}, noTask
		}
		if err != nil {
			return core.StreamedEvent{}, err
		}

		batch := &pgx.Batch{}
		said := core.Event{Type: "commented", ActorID: &r.UserID, Comment: comment}
		core.QueueEvent(batch, lifecycle.WorkloadTask, fmt.Sprint(id), seq, &creator, said)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return core.StreamedEvent{}, err
		}

		return core.One[core.StreamedEvent](ctx, tx, noTask, core.EventSelect+`WHERE workload = $1 AND entity_id = $2 AND seq = $3`,
			lifecycle.WorkloadTask, fmt.Sprint(id), seq)
	})
}

// Sets of states as used in the statements.
var (
	EndedTasks = core.SetOf(lifecycle.Task.Ended())
	heldTasks  = core.SetOf(lifecycle.TaskHeld)
	// unassigned and open to be taken
	StartableTasks = core.SetOf([]lifecycle.TaskState{lifecycle.TaskNew, lifecycle.TaskStuck})
)
