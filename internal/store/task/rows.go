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
	Public  = "public"  // every member of the workspace
	Private = "private" // its creator, its assignee and administrators

	PriorityLow      = "low"
	PriorityNormal   = "normal"
	PriorityHigh     = "high"
	PriorityCritical = "critical"
)

// Priorities lists the priorities, the lowest first.
var Priorities = []string{PriorityLow, PriorityNormal, PriorityHigh, PriorityCritical}

// Snapshot is the part of a task that its workflow knows: ids and times only.
type Snapshot struct {
	Version    int64               `db:"last_seq" json:"version"` // the number of its newest event
	State      lifecycle.TaskState `db:"status" json:"status"`
	Since      time.Time           `db:"since" json:"since"` // when the status was entered
	CreatorID  int64               `db:"creator_id" json:"creator_id"`
	AssigneeID *int64              `db:"assignee_id" json:"assignee_id,omitempty"`
	Visibility string              `db:"visibility" json:"visibility"`
	DeadlineAt *time.Time          `db:"status_deadline_at" json:"deadline_at,omitempty"`
	ReleaseAt  *time.Time          `db:"release_at" json:"release_at,omitempty"`   // when STUCK ends by itself
	StartedAt  *time.Time          `db:"started_at" json:"started_at,omitempty"`   // first IN_PROGRESS
	FinishedAt *time.Time          `db:"finished_at" json:"finished_at,omitempty"` // DONE or CANCELLED
	ClockWaits bool                `db:"clock_waits" json:"clock_waits,omitempty"`

	// FencingToken is the number of the present claim, or a later one that no claim has: it grows with each claim and
	// with the end of each.
	FencingToken   int64      `db:"fencing_token" json:"fencing_token,omitempty"`
	LeaseExpiresAt *time.Time `db:"lease_expires_at" json:"lease_expires_at,omitempty"` // when the claim ends unless it is renewed

	Submission *int64 `db:"submission" json:"submission,omitempty"` // the assignee's newest result; nil: there is none
	// ReviewMissing says that the workspace asks for a review and the result is not approved. It changes with the
	// workspace's setting, so a workflow may know an old value.
	ReviewMissing bool `db:"review_missing" json:"review_missing,omitempty"`
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

// Due is when the task's state ends by itself, and whether that is by the end of the lease; nil: it does not.
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
func (t Task) Facts() lifecycle.TaskFacts { return t.Snapshot.Facts(t.OpenBlockers()) }

// Blocker is a task that must be DONE before another may start.
type Blocker struct {
	ID     int64               `json:"id"`
	Status lifecycle.TaskState `json:"status"`
}

// WorkflowID is the id of the workflow that drives the task.
func (t Task) WorkflowID() string { return fmt.Sprintf("task/%d", t.ID) }

// OpenBlockers lists the ids of the blockers that are not DONE.
func (t Task) OpenBlockers() []int64 {
	var open []int64
	for _, blocker := range t.Blockers {
		if blocker.Status != lifecycle.TaskDone {
			open = append(open, blocker.ID)
		}
	}
	return open
}

// Ready reports whether the task can be claimed now.
func (t Task) Ready() bool {
	return t.State == lifecycle.TaskNew && t.AssigneeID == nil && t.Visibility == Public && len(t.OpenBlockers()) == 0
}

const (
	// reviewRequired is the setting of the workspace of a task.
	reviewRequired = `(SELECT review_required FROM workspaces WHERE workspaces.id = t.workspace_id)`

	stateColumns = `t.last_seq, t.status, t.since, t.creator_id, t.assignee_id, t.visibility, t.status_deadline_at, t.release_at,
		t.started_at, t.finished_at, t.clock_waits, t.fencing_token, t.lease_expires_at, t.submission,
		NOT t.approved AND ` + reviewRequired + ` AS review_missing`
	taskColumns = stateColumns + `, t.id, t.workspace_id, t.title, t.description, t.priority, t.labels, t.workflow_started_at,
		t.created_at, t.updated_at, t.approved, ` + reviewRequired + ` AS review_required,
		(SELECT coalesce(jsonb_agg(jsonb_build_object('id', b.id, 'status', b.status) ORDER BY b.id), '[]')
			FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id WHERE tb.task_id = t.id) AS blockers`
	taskSelect = `SELECT ` + taskColumns + ` FROM tasks t `
	// visible is true of a task t that user $1 (0: an administrator) may see. Audience.Sees says the same of its events.
	visible = `($1::bigint = 0 OR t.creator_id = $1 OR t.assignee_id = $1 OR (t.visibility = 'public'
		AND EXISTS (SELECT 1 FROM workspace_members m WHERE m.workspace_id = t.workspace_id AND m.user_id = $1)))`
)

// OpenBlocker is true of a task t with a blocker that is not DONE.
var OpenBlocker = `EXISTS (SELECT 1 FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
	WHERE tb.task_id = t.id AND b.status <> ` + core.Literal(lifecycle.TaskDone) + `)`

var noTask = fault.New(fault.TaskNotFound, "there is no such task")

// ByID returns a task that a viewer may see; viewer 0 sees all.
func (s *Store) ByID(ctx context.Context, viewer, id int64) (Task, error) {
	return core.One[Task](ctx, s.db, noTask, taskSelect+`WHERE `+visible+` AND t.id = $2`, viewer, id)
}

// Answered reads the first answer to a request into answer, as Answered does, and a task that a viewer may see, in one
// round trip. found is nil when there is no such task.
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

// Filter chooses tasks; zero fields choose all.
type Filter struct {
	Viewer      int64 // only what this user may see; 0: an administrator
	WorkspaceID int64
	Status      lifecycle.TaskState
	AssigneeID  int64
	Ready       bool // can be claimed now
	Live        bool // neither DONE nor CANCELLED
	Before      int64
	Limit       int
}

var (
	// wantedTasks are the conditions of a Filter besides the viewer.
	wantedTasks = `($2::bigint = 0 OR workspace_id = $2) AND ($3 = '' OR status = $3)
		AND ($4::bigint = 0 OR assignee_id = $4) AND ($5::bigint = 0 OR id < $5)
		AND (NOT $6 OR (` + claimable + `))
		AND (NOT $7 OR status NOT IN ` + endedTasks + `)`

	// nearTasks returns a page for each reason why user $1 may see tasks: the first visible tasks are among these, and
	// each page has an index, while one search with all reasons may read the complete table. The array and the order by
	// two columns keep PostgreSQL from searching a workspace's tasks among all tasks, the newest first.
	nearTasks = `(SELECT id FROM tasks t WHERE creator_id = $1 AND ` + wantedTasks + ` ORDER BY id DESC LIMIT $8)
		UNION (SELECT id FROM tasks t WHERE assignee_id = $1 AND ` + wantedTasks + ` ORDER BY id DESC LIMIT $8)
		UNION SELECT near.id FROM workspace_members m CROSS JOIN LATERAL (
			SELECT id FROM tasks t WHERE t.workspace_id = ANY (ARRAY [m.workspace_id]) AND visibility = 'public' AND ` + wantedTasks + `
			ORDER BY t.workspace_id, id DESC LIMIT $8) near WHERE m.user_id = $1`
)

// List lists tasks, the newest first. The indexes tasks_creator, _assignee, _workspace, _workspace_status, _live,
// _live_assignee and _ended serve it.
func (s *Store) List(ctx context.Context, f Filter) ([]Task, error) {
	return core.Chosen[Task](ctx, s.db, taskSelect+f.where(), f.args()...)
}

// where chooses the tasks of a filter, with args.
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

// EventsOf lists up to limit events, with numbers above after, of a task that a viewer may see, the oldest first;
// viewer 0 sees all.
func (s *Store) EventsOf(ctx context.Context, viewer, id, after int64, limit int) ([]core.StreamedEvent, error) {
	return core.List[core.StreamedEvent](ctx, s.db, core.EventSelect+`WHERE workload = $2 AND entity_id = $3 AND seq > $4
		AND EXISTS (SELECT 1 FROM tasks t WHERE t.id = $5 AND `+visible+`) ORDER BY seq LIMIT $6`,
		viewer, lifecycle.WorkloadTask, fmt.Sprint(id), after, id, limit)
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

// Sets of states as the statements name them.
var (
	endedTasks = core.SetOf(lifecycle.Task.Ended())
	heldTasks  = core.SetOf(lifecycle.TaskHeld)
	// without a worker, and open for one
	StartableTasks = core.SetOf([]lifecycle.TaskState{lifecycle.TaskNew, lifecycle.TaskStuck})
)
