package task

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/task"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// The callers, by their ids. The creator of a task without another assignee may be its assignee, too.
const creatorID, assigneeID, memberID, outsiderID, adminID = 1, 2, 3, 4, 5

var people = map[string]lifecycle.TaskCaller{
	"creator":  {ID: creatorID, Member: true},
	"assignee": {ID: assigneeID, Member: true},
	"member":   {ID: memberID, Member: true},
	"outsider": {ID: outsiderID},
	"admin":    {ID: adminID, Admin: true},
}

// office is a record with all people in it.
type office struct {
	*store.Store
	db *pgxpool.Pool
}

func newOffice(t *testing.T) *office {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	url := testdb.URL(t)
	record, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)

	db := testdb.DB(t, url)
	for id := int64(creatorID); id <= adminID; id++ {
		user := account.User{Name: "agent", Role: account.RoleUser, Status: account.UserActive}
		if id == adminID {
			user.Role = account.RoleAdmin
		}
		made, err := record.Accounts.CreateUser(t.Context(), user, account.NewToken())
		if err != nil || made.ID != id {
			t.Fatal(made.ID, err)
		}
	}
	return &office{record, db}
}

// settings are those of a workspace, and of the task under test.
type settings struct {
	deadlines map[lifecycle.TaskState]time.Duration // nil: those of usual
	release   time.Duration
	waits     bool // a NEW task's deadline waits for its blockers
	reviews   bool

	state    lifecycle.TaskState // empty: NEW
	assigned bool
	private  bool
	blockers int
	waitedOn bool
}

var usual = map[lifecycle.TaskState]time.Duration{
	lifecycle.TaskNew: 120 * time.Minute, lifecycle.TaskInProgress: 60 * time.Minute, lifecycle.TaskBlocked: 30 * time.Minute,
}

// workspace returns the settings as recorded.
func (s settings) workspace() task.Workspace {
	if s.deadlines == nil {
		s.deadlines = usual
	}
	w := task.Workspace{
		Name: "office", OwnerID: creatorID, StatusDeadlines: map[lifecycle.TaskState]float64{},
		StuckReleaseAfter: s.release.Minutes(), NewDeadlineWaitsForBlockers: s.waits, ReviewRequired: s.reviews,
	}
	for state, limit := range s.deadlines {
		w.StatusDeadlines[state] = limit.Minutes()
	}
	return w
}

// envRig is one run of the workflow with skipped time, on the record.
type envRig struct {
	*testsuite.TestWorkflowEnvironment
	*faulty
	t         tester
	office    *office
	workspace int64
	id        int64
	blockers  []int64
	begin     time.Time
	asked     int
	told      signals // tasks that have waited
}

// tester is what testing.T and rapid.T have in common here.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// faulty is a record whose actions fail.
type faulty struct {
	*task.Store
	mu       sync.Mutex
	failures int             // before one succeeds
	acts     map[string]bool // tried, each once: a local activity that takes long is tried again
}

func (f *faulty) Act(ctx context.Context, a task.Act) (task.Acted, error) {
	f.mu.Lock()
	f.acts[fmt.Sprint(a.RequestID, " ", a.Action, a.At.UnixNano())] = true
	fails := f.failures > 0
	if fails {
		f.failures--
	}
	f.mu.Unlock()

	if fails {
		return task.Acted{}, fault.New(fault.StoreUnavailable, "away").Retry()
	}
	return f.Store.Act(ctx, a)
}

// signals counts the signals to other workflows.
type signals int

func (s *signals) SignalWorkflow(context.Context, string, string, string, any) error {
	*s++
	return nil
}

// rig makes a task. Its run begins an hour from now, because the SDK measures the timeouts of local activities by the
// real clock.
func (o *office) rig(t tester, s settings) *envRig {
	t.Helper()
	ctx := context.Background()
	l := &envRig{t: t, office: o, faulty: &faulty{Store: o.Store.Tasks, acts: map[string]bool{}}}
	made, err := o.Tasks.CreateWorkspace(ctx, s.workspace(), core.Request{})
	l.ok(err)
	l.workspace = made.ID
	for _, member := range []int64{assigneeID, memberID} {
		l.ok(o.Tasks.AddMember(ctx, creatorID, made.ID, member))
	}

	wanted := task.NewTask{}
	for range s.blockers {
		blocker := l.create(task.NewTask{})
		l.blockers = append(l.blockers, blocker.ID)
		wanted.BlockedBy = append(wanted.BlockedBy, fmt.Sprint(blocker.ID))
	}
	if s.private {
		wanted.Visibility = task.Private
	}
	if assignee := int64(assigneeID); s.assigned {
		wanted.AssigneeID = &assignee
	}

	row := l.create(wanted)
	l.id, l.begin = row.ID, row.Since.Add(time.Hour)
	if s.waitedOn {
		l.create(task.NewTask{BlockedBy: []string{fmt.Sprint(l.id)}})
	}
	l.exec(`UPDATE tasks SET since = since + interval '1 hour', status_deadline_at = status_deadline_at + interval '1 hour' WHERE id = $1`, l.id)
	l.bring(s.state)
	l.environment(l.begin)
	return l
}

// environment begins a run, possibly a later one of the same task.
func (l *envRig) environment(at time.Time) {
	l.TestWorkflowEnvironment = testtemporal.Environment()
	l.SetStartTime(at)
	l.SetTestTimeout(time.Minute)
	l.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: lifecycle.TaskType})
	l.RegisterActivity(&activities.Activities{Store: l.faulty, Temporal: &l.told, Metrics: metrics.New().Task()})
	l.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
}

func (l *envRig) create(wanted task.NewTask) task.Task {
	l.t.Helper()
	wanted.Title, wanted.Priority, wanted.Labels = "a task of a test", task.PriorityNormal, []string{}
	if wanted.Visibility == "" {
		wanted.Visibility = task.Public
	}
	made, _, err := l.office.Tasks.Create(context.Background(), l.workspace, []task.NewTask{wanted},
		core.Event{Type: "created", To: "NEW"}, core.Request{UserID: creatorID})
	l.ok(err)
	return made[0]
}

// bring brings the task to a status at the moment when the run begins.
func (l *envRig) bring(to lifecycle.TaskState) {
	l.t.Helper()
	for _, step := range map[lifecycle.TaskState][]lifecycle.TaskState{
		lifecycle.TaskInProgress: {lifecycle.TaskInProgress},
		lifecycle.TaskBlocked:    {lifecycle.TaskInProgress, lifecycle.TaskBlocked},
		lifecycle.TaskStuck:      {lifecycle.TaskStuck},
	}[to] {
		a := task.Act{TaskID: l.id, RequestID: fmt.Sprint(l.id, step), At: l.begin, Action: lifecycle.TaskActionStatus, Input: byAssignee(step)}
		switch step {
		case lifecycle.TaskInProgress:
			a.Action = lifecycle.TaskActionClaim
		case lifecycle.TaskStuck:
			a = task.Act{TaskID: l.id, At: *l.row().DeadlineAt, Action: lifecycle.TaskActionExpire}
		default:
		}
		_, err := l.office.Tasks.Act(context.Background(), a)
		l.ok(err)
	}
}

func (l *envRig) ok(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatalf("%v %v", err, fault.As(err))
	}
}

// exec sends a statement, bypassing the store.
func (l *envRig) exec(sql string, args ...any) {
	l.t.Helper()
	_, err := l.office.db.Exec(context.Background(), sql, args...)
	l.ok(err)
}

// unblock completes all blockers.
func (l *envRig) unblock() {
	l.exec(`UPDATE tasks SET status = 'DONE', assignee_id = 1, status_deadline_at = NULL, finished_at = now() WHERE id = ANY ($1)`, l.blockers)
}

// heartbeat renews the lease of a task that is held.
func (l *envRig) heartbeat(at time.Time) {
	l.exec(`UPDATE tasks SET lease_expires_at = $2::timestamptz + lease_seconds * interval '1 second'
		WHERE id = $1 AND lease_expires_at IS NOT NULL`, l.id, at)
}

func (l *envRig) row() task.Task {
	l.t.Helper()
	row, err := l.office.Tasks.ByID(context.Background(), 0, l.id)
	l.ok(err)
	return row
}

// events lists the task's events after its creation and its transition to the first status.
func (l *envRig) events(after int64) []core.StreamedEvent {
	l.t.Helper()
	events, err := l.office.Tasks.EventsOf(context.Background(), 0, l.id, after, 10_000)
	l.ok(err)
	return events
}

// types lists the types of the events after the creation.
func (l *envRig) types() string {
	l.t.Helper()
	types := []string{}
	for _, event := range l.events(1) {
		types = append(types, event.Type)
	}
	return fmt.Sprint(types)
}

// at schedules something this long after the workflow's start.
func (l *envRig) at(after time.Duration, do func()) { l.RegisterDelayedCallback(do, after) }

// ask sends an update and lets check compare its outcome.
func (l *envRig) ask(action lifecycle.TaskAction, in lifecycle.TaskInput, check func(lifecycle.TaskView, error)) {
	l.asked++
	l.askAs(fmt.Sprint("request-", l.id, "-", l.asked), action, in, check)
}

func (l *envRig) askAs(
	id string, action lifecycle.TaskAction, in lifecycle.TaskInput, check func(lifecycle.TaskView, error),
) {
	title := fmt.Sprint("title of ", id)
	content := task.Content{Result: []byte(`{}`), Edit: task.Edit{Title: &title}}
	l.ok(l.office.Answers.KeepContent(context.Background(), in.Actor, id, content))

	l.UpdateWorkflow(string(action), id, &testsuite.TestUpdateCallback{
		OnReject: func(err error) { check(lifecycle.TaskView{}, err) },
		OnComplete: func(result any, err error) {
			view, _ := result.(lifecycle.TaskView)
			check(view, err)
		},
	}, in)
}

// must sends an update that has to succeed.
func (l *envRig) must(action lifecycle.TaskAction, in lifecycle.TaskInput) {
	l.t.Helper()
	l.ask(action, in, func(_ lifecycle.TaskView, err error) {
		if err != nil {
			l.t.Errorf("%s %+v: %v", action, in, err)
		}
	})
}

func (l *envRig) run() { l.ExecuteWorkflow(lifecycle.TaskType, l.id, (*task.Snapshot)(nil)) }

// state queries the workflow itself.
func (l *envRig) state() (view lifecycle.TaskView) {
	l.t.Helper()
	value, err := l.QueryWorkflow(lifecycle.StateQuery)
	if err == nil {
		err = value.Get(&view)
	}
	if err != nil {
		l.t.Errorf("query: %v", err)
	}
	return view
}

func byAssignee(to lifecycle.TaskState) lifecycle.TaskInput {
	return lifecycle.TaskInput{Actor: assigneeID, Comment: "c", To: to}
}
