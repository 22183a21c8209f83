package task

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Act is one action on a task, by a user or the system. The system's actions need no id: each has a condition that no
// longer holds once it is done.
type Act struct {
	TaskID    int64                `json:"task_id"`
	RequestID string               `json:"request_id,omitempty"` // the update's id; empty: the system acts
	Action    lifecycle.TaskAction `json:"action"`
	Input     lifecycle.TaskInput  `json:"input,omitzero"` // without an actor: the system acts
	At        time.Time            `json:"at"`
}

// Acted is a task after an action.
type Acted struct {
	State    Snapshot `json:"state"`
	WaitedOn bool     `json:"waited_on,omitempty"` // by other tasks
	Event    string   `json:"-"`                   // of the transition; empty: nothing changed
}

// Act performs an action if the table allows it, and stores the answer to the request in the same transaction: a
// request repeated on any path changes nothing. It takes two round trips to PostgreSQL. A refusal writes nothing.
func (s *Store) Act(ctx context.Context, a Act) (Acted, error) {
	a.At = a.At.UTC().Truncate(time.Microsecond) // PostgreSQL's precision
	x := &acting{Act: a, times: s.TaskTimes}
	row, err := core.ChangeFor(ctx, s.db, tasks, a.TaskID, core.Asked{
		ID: a.RequestID, Content: fmt.Sprintf("%d %s", a.Input.Actor, x.request().Asked), More: x.read,
	}, x.decide)
	return Acted{State: row.Snapshot, WaitedOn: x.facts.WaitedOn, Event: x.event}, err
}

// StartClock starts the deadline of a NEW task whose last blocker is DONE, as of a moment. It is no transition and has
// no event. Does nothing if there is nothing to start.
func (s *Store) StartClock(ctx context.Context, id int64, at time.Time) (Snapshot, error) {
	row, err := core.Change(ctx, s.db, tasks, id, func(w *walk) error {
		t := w.Row
		if t.ClockWaits && !t.Blocked {
			t.ClockWaits, t.DeadlineAt, w.Edited = false, after(at, s.TaskTimes.limit(t.clock, t.State)), true
		}
		return nil
	})
	return row.Snapshot, err
}

// row is a locked task, with what Task itself does not contain.
type row struct {
	Task
	clock
	LeaseSeconds *int64     `db:"lease_seconds"` // how long the holder may be silent; nil: forever
	LeaseEnd     *time.Time `db:"lease_end"`     // LeaseExpiresAt, or later if the API was unavailable
}

type (
	walk = core.Walk[row, lifecycle.TaskState, lifecycle.TaskAction, lifecycle.TaskFacts]
	step = core.Step[lifecycle.TaskState, lifecycle.TaskAction]
)

// tasks is what core.Change needs to know about tasks. A walk follows the rule of lifecycle.DecideTask.
var tasks = &core.Workload[row, lifecycle.TaskState, lifecycle.TaskAction, lifecycle.TaskFacts]{
	Name: lifecycle.WorkloadTask, Table: lifecycle.Task, None: noTask,
	Lock: []string{`SELECT ` + taskColumns + `, t.lease_seconds, ` + leaseEnd + ` AS lease_end, ` + clockColumns + `
		FROM tasks t JOIN workspaces w ON w.id = t.workspace_id WHERE t.id = $1 FOR UPDATE OF t`},

	Entity: func(t *row) core.Entity[lifecycle.TaskState] {
		return core.Entity[lifecycle.TaskState]{
			ID: fmt.Sprint(t.ID), Owner: &t.CreatorID, State: &t.State, Version: &t.Version,
		}
	},

	Write: func(batch *pgx.Batch, _ lifecycle.TaskState, t *row) {
		batch.Queue(`UPDATE tasks SET last_seq = $2, status = $3, since = $4, assignee_id = $5, status_deadline_at = $6,
			release_at = $7, releases = $8, clock_waits = $9, started_at = $10, finished_at = $11, fencing_token = $12,
			lease_seconds = $13, lease_expires_at = $14, submission = $15, approved = $16, rejected = $17,
			title = $18, description = $19, priority = $20, labels = $21, updated_at = $22, folded = $23 WHERE id = $1`,
			t.ID, t.Version, t.State, t.Since, t.AssigneeID, t.DeadlineAt, t.ReleaseAt, t.Releases, t.ClockWaits, t.StartedAt,
			t.FinishedAt, t.FencingToken, t.LeaseSeconds, t.LeaseExpiresAt, t.Submission, t.Approved, t.Rejected,
			t.Title, t.Description, t.Priority, t.Labels, t.UpdatedAt, core.Fold(t.Title+" "+t.Description))
	},
}

// acting is one action in its transaction.
type acting struct {
	Act
	times Times

	facts   facts
	content *Content // nil: none was stored
	event   string   // of the transition
}

// facts are what the table must know besides the task.
type facts struct {
	Member       bool    `db:"member"` // the user belongs to the workspace; false if not ACTIVE
	Admin        bool    `db:"admin"`
	OpenBlockers []int64 `db:"open_blockers"` // those that are not DONE, ascending
	Cancelled    []int64 `db:"cancelled"`     // those that will never be DONE, ascending
	WaitedOn     bool    `db:"waited_on"`     // by other tasks
}

// memberOf is true if a user, in SQL, belongs to the workspace of task t and is ACTIVE.
func memberOf(user string) string {
	return `EXISTS (SELECT 1 FROM workspace_members m JOIN users u ON u.id = m.user_id
		WHERE m.workspace_id = t.workspace_id AND m.user_id = ` + user + ` AND ` + core.ActiveUser + `)`
}

// factsSelect has its own statement: one that waits for the task's lock reads other rows as they were before.
var factsSelect = `SELECT ` + memberOf(`$2`) + ` AS member,
		EXISTS (SELECT 1 FROM users u WHERE u.id = $2 AND ` + core.ActiveUser + ` AND u.role = 'ADMIN') AS admin,
		ARRAY (SELECT b.id FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
			WHERE tb.task_id = t.id AND b.status <> ` + core.Literal(lifecycle.TaskDone) + ` ORDER BY b.id) AS open_blockers,
		ARRAY (SELECT b.id FROM task_blockers tb JOIN tasks b ON b.id = tb.blocker_id
			WHERE tb.task_id = t.id AND b.status = ` + core.Literal(lifecycle.TaskCancelled) + ` ORDER BY b.id) AS cancelled,
		EXISTS (SELECT 1 FROM task_blockers tb WHERE tb.blocker_id = t.id) AS waited_on
	FROM tasks t WHERE t.id = $1`

// read queues what the decision needs, under the task's lock.
func (x *acting) read(batch *pgx.Batch) {
	batch.Queue(factsSelect, x.TaskID, x.Input.Actor).Query(func(rows pgx.Rows) (err error) {
		x.facts, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[facts])
		return err
	})

	if x.RequestID != "" && hasContent[x.Action] {
		core.QueueKeptContent(batch, x.Input.Actor, x.RequestID, &x.content)
	}
}

// request is the request that the action answers.
func (x *acting) request() core.Request {
	asked := TaskRequest("", x.Action, x.TaskID, x.Input).Asked
	return core.RequestIn(x.RequestID, x.Input.Actor, asked)
}

// decide performs the action if the table allows it, and stores the answer.
func (x *acting) decide(w *walk) error {
	if hasContent[x.Action] && x.content == nil {
		return fault.Invalid("content", "%s needs content that the API has kept under the id of this update", x.Action)
	}

	t := w.Row
	t.Blocked = len(x.facts.OpenBlockers) > 0
	ask, due := x.ask(w)
	if !due {
		return nil
	}

	before := t.Snapshot.Facts(x.facts.OpenBlockers)
	before.Cancelled = x.facts.Cancelled
	rule, _, err := lifecycle.DecideTask(before, ask)
	if err != nil {
		return err
	}

	if rule.Action == lifecycle.TaskActionEdit {
		changed := strings.Join(x.content.Edit.apply(&t.Task), ", ")
		ask.Comment = strings.TrimSuffix(changed+": "+ask.Comment, ": ")
		if changed == "" {
			rule.Event = ""
		}
	}

	taken := step{Action: rule.Action, Comment: ask.Comment}
	if !ask.Caller.System {
		taken.Actor = &ask.Caller.ID
	}

	w.Follow(rule, taken)
	switch x.event = rule.Event; {
	case x.event != "":
		x.follow(t, before, rule, ask)
	case rule.Action == lifecycle.TaskActionClaim && ask.LeaseSeconds > 0: // the holder claims it again
		t.lease(ask.LeaseSeconds, x.At)
		w.Edited = true
	}
	w.Then = func(write *pgx.Batch) error { return x.keep(write, t) }
	return nil
}

// ask is the requested action on a task. due is false if the system has nothing to do: the task has ended, or its
// deadline has restarted.
func (x *acting) ask(w *walk) (ask lifecycle.TaskAsk, due bool) {
	if x.RequestID != "" {
		caller := lifecycle.TaskCaller{ID: x.Input.Actor, Member: x.facts.Member, Admin: x.facts.Admin}
		return lifecycle.TaskAskOf(x.Action, x.Input, caller), true
	}

	ask = lifecycle.TaskAskOf(x.Action, x.Input, lifecycle.TaskCaller{System: true})
	due = !w.Terminal()
	if x.Action == lifecycle.TaskActionExpire {
		due = expire(w, x.At, &ask)
	}
	return ask, due
}

// expire determines how a task's state times out; false: it is not due at that moment.
func expire(w *walk, at time.Time, ask *lifecycle.TaskAsk) bool {
	t := w.Row
	end, lease := t.Due()
	if lease && t.LeaseEnd.After(*end) {
		t.LeaseExpiresAt, w.Edited = t.LeaseEnd, true
		end, lease = t.Due()
	}
	if end == nil || end.After(at) {
		return false
	}

	spent := fmt.Sprintf("Was in %s for %d minutes.", t.State, at.Sub(t.Since)/time.Minute)
	switch {
	case t.State == lifecycle.TaskStuck:
		ask.Action, ask.To, ask.Comment = lifecycle.TaskActionStatus, lifecycle.TaskNew, "Released by itself. "+spent
	case lease:
		ask.Action, ask.Comment = lifecycle.TaskActionLapse, "Lease expired. "+spent
	default:
		ask.Comment = "Status deadline expired. " + spent
	}
	return true
}

// follow applies a rule's consequences besides the state.
func (x *acting) follow(t *row, before lifecycle.TaskFacts, rule lifecycle.TaskRule, ask lifecycle.TaskAsk) {
	t.UpdatedAt = x.At
	switch rule.Action {
	case lifecycle.TaskActionEdit:
	case lifecycle.TaskActionSubmit:
		number := t.Version + 1
		t.Submission, t.Approved, t.Rejected = &number, false, false
	case lifecycle.TaskActionApprove:
		t.Approved, t.Rejected = true, false
	case lifecycle.TaskActionReject:
		t.Approved, t.Rejected = false, true
	default:
		x.enter(t, before, rule, ask)
	}
	t.ReviewMissing = t.ReviewRequired && !t.Approved
}

// enter applies the consequences of a new status. A submission ends with its author's claim.
func (x *acting) enter(t *row, before lifecycle.TaskFacts, rule lifecycle.TaskRule, ask lifecycle.TaskAsk) {
	t.Since = x.At
	if t.AssigneeID = before.AssigneeAfter(rule, ask.Caller.ID); before.EndsSubmission(t.AssigneeID) {
		t.Submission, t.Approved, t.Rejected = nil, false, false
	}

	switch {
	case !ask.Caller.System:
		t.Releases = 0
	case before.State == lifecycle.TaskStuck && t.State == lifecycle.TaskNew:
		t.Releases++
	}

	if t.State == lifecycle.TaskInProgress && t.StartedAt == nil {
		t.StartedAt = &x.At
	}
	if lifecycle.Task.Terminal(t.State) {
		t.FinishedAt = &x.At
	}

	t.hold(before.State, ask.LeaseSeconds, x.At)
	x.times.begin(&t.Task, t.clock)
}

// hold begins or ends the claim of a task that has left a state. A fencing token is at least the time in milliseconds,
// so that a record restored to an earlier state does not issue one twice.
func (t *row) hold(from lifecycle.TaskState, leaseSeconds int64, at time.Time) {
	switch {
	case lifecycle.BeginsClaim(from, t.State):
		t.FencingToken = max(t.FencingToken+1, at.UnixMilli())
		t.LeaseSeconds, t.LeaseExpiresAt = nil, nil
		if leaseSeconds > 0 {
			t.lease(leaseSeconds, at)
		}
	case lifecycle.EndsClaim(t.State):
		t.FencingToken++
		t.LeaseSeconds, t.LeaseExpiresAt = nil, nil
	case !slices.Contains(lifecycle.TaskHeld, t.State):
		t.LeaseExpiresAt = nil
	}
}

// lease begins a lease of the current claim.
func (t *row) lease(seconds int64, from time.Time) {
	end := from.Add(time.Duration(seconds) * time.Second)
	t.LeaseSeconds, t.LeaseExpiresAt = &seconds, &end
}

// keep queues a submission's result, and the answer to the request.
func (x *acting) keep(write *pgx.Batch, t *row) error {
	if x.Action == lifecycle.TaskActionSubmit {
		keepResult(write, t.Task, x.Input.Actor, x.content.Result)
	}
	if x.RequestID == "" {
		return nil
	}
	return core.QueueAnswer(write, x.request(), Answer{Task: &t.Task})
}
