package task

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/task"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// memory is a record in memory that keeps to the same promises as the real one.
type memory struct {
	mu        sync.Mutex // for heartbeats: they come whenever they like
	state     task.Snapshot
	events    []core.Event
	deadlines map[lifecycle.TaskState]time.Duration
	release   time.Duration
	lease     time.Duration
	open      []int64 // blockers that are not DONE
	waiting   bool    // others wait for this task
	told      int
	failures  int // writes that fail before one succeeds
	writes    int // tried

	reviews    bool // the workspace asks for a review
	submission int64
	approved   bool
}

func newMemory() *memory {
	return &memory{
		state: task.Snapshot{
			Version: 1, State: lifecycle.TaskNew, CreatorID: creatorID, Visibility: task.Public,
		},
		deadlines: map[lifecycle.TaskState]time.Duration{
			lifecycle.TaskNew: 120 * time.Minute, lifecycle.TaskInProgress: 60 * time.Minute,
			lifecycle.TaskBlocked: 30 * time.Minute,
		},
	}
}

// facts knows the people of rules_test.go.
func (m *memory) facts(ctx context.Context, q activities.Question) (activities.Facts, error) {
	if q.Write != nil {
		written, err := m.write(ctx, *q.Write)
		if err != nil || written.State.Version >= q.Write.Version {
			return activities.Facts{Written: &written}, err
		}
	}

	facts := activities.Facts{TaskContext: task.TaskContext{OpenBlockers: m.open}}
	for _, person := range people {
		if person.ID == q.UserID && !person.System {
			facts.Member, facts.Admin = person.Member, person.Admin
		}
	}
	return facts, nil
}

func (m *memory) write(_ context.Context, w task.Write) (activities.Written, error) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.writes++
	if m.failures > 0 {
		m.failures--
		return activities.Written{}, temporal.NewApplicationError("away", string(fault.StoreUnavailable))
	}

	lease := m.state.LeaseExpiresAt
	renewed := w.Event.Reason == string(lifecycle.TaskReasonLease) && lease != nil && lease.After(w.At)
	unreviewed := w.State == lifecycle.TaskDone && m.reviews && !m.approved
	if m.state.Version < w.Version && !renewed && !unreviewed && m.holds(w.Guard) {
		m.hold(w)
		if m.state.Facts(nil).EndsSubmission(w.AssigneeID) {
			m.submission, m.approved = 0, false
		}
		m.state.Version, m.state.RequestID = w.Version, w.RequestID
		m.events = append(m.events, w.Event)
		m.enter(w.State, w.AssigneeID, w.At)
	}
	m.state.ReviewMissing = m.reviews && !m.approved
	return activities.Written{State: m.state, Tell: m.waiting && m.state.State == lifecycle.TaskDone}, nil
}

// holds says whether what a workflow assumes is so.
func (m *memory) holds(g task.Guard) bool {
	member := g.MemberID == 0
	for _, person := range people {
		member = member || person.ID == g.MemberID && person.Member
	}
	return member && !(g.Unblocked && len(m.open) > 0)
}

// hold begins or ends the claim that a write begins or ends.
func (m *memory) hold(w task.Write) {
	begins, ends := lifecycle.BeginsClaim(m.state.State, w.State), lifecycle.EndsClaim(w.State)
	if begins || ends {
		m.state.FencingToken++
	}
	if begins && w.LeaseSeconds > 0 {
		m.lease = time.Duration(w.LeaseSeconds) * time.Second
		m.renew(w.At)
	} else if !slices.Contains(lifecycle.TaskHeld, w.State) || begins {
		m.state.LeaseExpiresAt = nil
	}
}

// heartbeat renews the lease of a task that is held, also while the workflow writes.
func (m *memory) heartbeat(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.Contains(lifecycle.TaskHeld, m.state.State) {
		m.renew(at)
	}
}

func (m *memory) renew(at time.Time) {
	expires := at.Add(m.lease)
	m.state.LeaseExpiresAt = &expires
}

// load is what the workflow reads.
func (m *memory) load(context.Context, int64) (activities.Loaded, error) {
	m.state.ReviewMissing = m.reviews && !m.approved
	return activities.Loaded{State: m.state, Unblocked: len(m.open) == 0}, nil
}

// change does what leaves the status as it is, and does not reach the workflow.
func (m *memory) change(action lifecycle.TaskAction) {
	switch action {
	case lifecycle.TaskActionSubmit:
		m.submission++
		m.approved = false
	case lifecycle.TaskActionApprove:
		m.approved = true
	case lifecycle.TaskActionReject:
		m.approved = false
	default:
	}
}

func (m *memory) enter(status lifecycle.TaskState, assignee *int64, at time.Time) {
	m.state.State, m.state.AssigneeID, m.state.Since = status, assignee, at
	m.state.DeadlineAt, m.state.ReleaseAt = nil, nil
	if limit := m.deadlines[status]; limit > 0 {
		deadline := at.Add(limit)
		m.state.DeadlineAt = &deadline
	}
	if status == lifecycle.TaskStuck && m.release > 0 {
		release := at.Add(m.release)
		m.state.ReleaseAt = &release
	}
}

func (m *memory) clock(_ context.Context, c activities.Clock) (activities.Written, error) {
	if m.state.ClockWaits && m.state.Version < c.Version {
		deadline := c.At.Add(m.deadlines[lifecycle.TaskNew])
		m.state.Version, m.state.RequestID, m.state.ClockWaits, m.state.DeadlineAt = c.Version, c.RequestID, false, &deadline
	}
	return activities.Written{State: m.state}, nil
}

// envRig is one run of the workflow with skipped time.
type envRig struct {
	*testsuite.TestWorkflowEnvironment
	t      tester
	memory *memory
	begin  time.Time
	asked  int
}

// tester is what testing.T and rapid.T have in common here.
type tester interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func newEnvRig(t tester, m *memory) *envRig {
	l := &envRig{TestWorkflowEnvironment: testtemporal.Environment(), t: t, memory: m}
	// Never in the past: the SDK measures the time-outs of local activities by the real clock.
	l.begin = time.Now().Add(time.Hour).Truncate(time.Minute).UTC()
	l.SetStartTime(l.begin)
	l.SetTestTimeout(time.Minute)
	if m.state.Since.IsZero() && !m.state.ClockWaits {
		m.enter(m.state.State, m.state.AssigneeID, l.begin)
	}

	l.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: lifecycle.TaskType})
	l.RegisterActivity(&activities.Activities{})
	l.OnActivity(tasks.LoadTask, mock.Anything, mock.Anything).Return(m.load).Maybe()
	l.OnActivity(tasks.TaskFacts, mock.Anything, mock.Anything).Return(m.facts).Maybe()
	l.OnActivity(tasks.WriteTask, mock.Anything, mock.Anything).Return(m.write).Maybe()
	l.OnActivity(tasks.StartTaskClock, mock.Anything, mock.Anything).Return(m.clock).Maybe()
	l.OnActivity(
		tasks.TellDependents, mock.Anything, mock.Anything,
	).Return(func(context.Context, int64) error { m.told++; return nil }).Maybe()
	l.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	return l
}

// at does something when the workflow has run for so long.
func (l *envRig) at(after time.Duration, do func()) { l.RegisterDelayedCallback(do, after) }

// ask sends an update and lets check compare its outcome.
func (l *envRig) ask(action lifecycle.TaskAction, in lifecycle.TaskInput, check func(lifecycle.TaskView, error)) {
	l.asked++
	l.askAs(fmt.Sprint("request-", l.asked), action, in, check)
}

func (l *envRig) askAs(
	id string, action lifecycle.TaskAction, in lifecycle.TaskInput, check func(lifecycle.TaskView, error),
) {
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

func (l *envRig) run() { l.ExecuteWorkflow(lifecycle.TaskType, int64(9), (*Carried)(nil)) }

// state asks the workflow itself.
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

// types lists the events so far.
func (m *memory) types() []string {
	types := []string{}
	for _, event := range m.events {
		types = append(types, event.Type)
	}
	return types
}

func byAssignee(to lifecycle.TaskState) lifecycle.TaskInput {
	return lifecycle.TaskInput{Actor: assigneeID, Comment: "c", To: to}
}
