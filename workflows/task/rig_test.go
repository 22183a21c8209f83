package task_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/task"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	taskstore "stagecoach/internal/store/task"
	"stagecoach/workflows/task"
)

func TestMain(m *testing.M) { testdb.Main(m, testtemporal.Stop) }

// rig is a workspace with people, and the client through which they act.
type rig struct {
	*testing.T
	server    *testtemporal.Server
	client    client.Client
	database  string
	store     *store.Store
	tasks     *tasks.Service
	worker    worker.Worker
	workspace taskstore.Workspace
	creator   account.User
	admin     account.User
	keys      atomic.Int64
}

func newRig(t *testing.T, change tasks.WorkspaceChange) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}
	return newRigOn(t, testtemporal.Take(t), change)
}

// newRigOn uses a server that no other test uses.
func newRigOn(t *testing.T, server *testtemporal.Server, change tasks.WorkspaceChange) *rig {
	t.Helper()
	return newRigAt(t, server, testdb.URL(t), change)
}

func newRigAt(t *testing.T, server *testtemporal.Server, database string, change tasks.WorkspaceChange) *rig {
	t.Helper()
	w := &rig{T: t, server: server, client: server.Client, database: database}
	var err error
	w.store, err = store.Open(t.Context(), w.database, testdb.Key)
	w.must(err)
	t.Cleanup(w.store.Close)

	skipIDs(w)
	w.tasks = &tasks.Service{
		Temporal: w.client, Store: w.store, Log: slog.New(slog.DiscardHandler), Patience: wait.Patience,
	}

	w.startWorker()
	w.creator = w.user(account.RoleUser)
	w.admin = w.user(account.RoleAdmin)
	name := t.Name()
	change.Name = &name
	w.workspace, err = w.tasks.CreateWorkspace(t.Context(), w.creator, change, "")
	w.must(err)
	return w
}

var firstID atomic.Int64

func (w *rig) startWorker() {
	w.Helper()
	o := testtemporal.WorkerOptions()
	o.WorkerStopTimeout = time.Second
	w.worker = worker.New(w.client, lifecycle.MainQueue, o)
	w.worker.RegisterWorkflowWithOptions(task.Run, workflow.RegisterOptions{Name: lifecycle.TaskType})
	w.worker.RegisterActivity(&activities.Activities{Store: w.store.Tasks, Temporal: w.client, Metrics: metrics.New().Task()})
	w.must(w.worker.Start())
	w.Cleanup(w.worker.Stop)
}

func (w *rig) user(role string) account.User {
	w.Helper()
	user, err := w.store.Accounts.CreateUser(
		w.Context(), account.User{Name: "agent", Role: role, Status: account.UserActive}, account.NewToken(),
	)
	w.must(err)
	return user
}

// member makes an agent of the workspace.
func (w *rig) member() account.User {
	w.Helper()
	user := w.user(account.RoleUser)
	_, err := w.tasks.AddMember(w.Context(), w.creator, w.workspace.ID, user.ID)
	w.must(err)
	_, err = w.tasks.Agree(w.Context(), user, w.workspace.ID)
	w.must(err)
	return user
}

func (w *rig) task(change func(*taskstore.NewTask)) taskstore.Task {
	w.Helper()
	wanted := taskstore.NewTask{Title: "a task of a test"}
	if change != nil {
		change(&wanted)
	}
	made, err := w.tasks.Create(w.Context(), w.creator, w.workspace.ID, wanted, "")
	w.must(err)
	return made
}

func (w *rig) reload(t taskstore.Task) taskstore.Task {
	w.Helper()
	found, err := w.store.Tasks.ByID(w.Context(), 0, t.ID)
	w.must(err)
	return found
}

// events lists the types of a task's events.
func (w *rig) events(t taskstore.Task) []string {
	w.Helper()
	events, err := w.store.Tasks.EventsOf(w.Context(), 0, t.ID, 0, 10000)
	w.must(err)
	types := []string{}
	for _, event := range events {
		types = append(types, event.Type)
	}
	return types
}

// history gives the events of a workflow's newest run.
func (w *rig) history(t taskstore.Task) []*historypb.HistoryEvent {
	w.Helper()
	return w.server.History(w, t.WorkflowID(), "")
}

// wantTimers waits until a task's workflow has begun this many timers, and this many of them have fired.
func (w *rig) wantTimers(t taskstore.Task, begun, fired int) {
	w.Helper()
	wait.Eventually(w, fmt.Sprintf("%d timers are begun, %d have fired", begun, fired), func() bool {
		kinds := map[enumspb.EventType]int{}
		for _, event := range w.history(t) {
			kinds[event.EventType]++
		}
		return kinds[enumspb.EVENT_TYPE_TIMER_STARTED] == begun && kinds[enumspb.EVENT_TYPE_TIMER_FIRED] == fired
	})
}

func (w *rig) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v %v", err, cause(err))
	}
}

func cause(err error) error {
	if f := fault.As(err); f != nil {
		return f.Cause
	}
	return nil
}

func (w *rig) wantCode(err error, code fault.Code) {
	w.Helper()
	if fault.CodeOf(err) != code {
		w.Errorf("got %v %v, want %s", err, cause(err), code)
	}
}

func (w *rig) key() string { return fmt.Sprint("key-", w.keys.Add(1)) }

// skipIDs makes the ids of this test's tasks unique: they name workflows, and the server remembers those of earlier
// tests.
func skipIDs(w *rig) {
	w.Helper()
	w.exec(fmt.Sprintf(`ALTER TABLE tasks ALTER COLUMN id RESTART WITH %d`, firstID.Add(1_000_000)))
}

// exec sends a statement, bypassing the store.
func (w *rig) exec(sql string, args ...any) {
	w.Helper()
	_, err := testdb.DB(w, w.database).Exec(w.Context(), sql, args...)
	w.must(err)
}
