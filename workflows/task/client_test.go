package task_test

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TestSixFaults has a case for each fault of the previous system.
func TestSixFaults(t *testing.T) {
	t.Parallel()
	deadlines := func(minutes float64) tasks.WorkspaceChange {
		return tasks.WorkspaceChange{StatusDeadlines: map[lifecycle.TaskState]float64{
			lifecycle.TaskNew: 0, lifecycle.TaskInProgress: minutes, lifecycle.TaskBlocked: 0,
		}}
	}
	w := newRig(t, deadlines(30))
	ctx, ann, bob := t.Context(), w.member(), w.member()
	allow := func(minutes float64) {
		t.Helper()
		_, err := w.tasks.ChangeWorkspace(ctx, w.creator, w.workspace.ID, deadlines(minutes), "")
		w.must(err)
	}

	// 1. The loser of a claim gets the lost claim as the refusal, not an impossible transition.
	claimed := w.task(nil)
	_, err := w.tasks.Claim(ctx, ann, claimed.ID, "mine", "")
	w.must(err)
	_, err = w.tasks.Claim(ctx, bob, claimed.ID, "mine", "")
	w.wantCode(err, fault.TaskAlreadyClaimed)
	if holder := fault.As(err).Details["holder"]; fmt.Sprint(holder) != fmt.Sprint(ann.ID) {
		t.Errorf("the holder is %v", holder)
	}

	// 2. Only its assignee begins a task, least of all a private one.
	free := w.task(nil)
	_, err = w.tasks.Status(ctx, ann, free.ID, lifecycle.TaskInProgress, "c", "")
	w.wantCode(err, fault.InsufficientAccess)
	private := w.task(func(n *task.NewTask) { n.Visibility = task.Private })
	_, err = w.tasks.Status(ctx, ann, private.ID, lifecycle.TaskInProgress, "c", "")
	w.wantCode(err, fault.TaskNotFound)
	if got := w.reload(free); got.AssigneeID != nil || got.State != lifecycle.TaskNew {
		t.Errorf("%+v", got.Snapshot)
	}

	// 3. An assignee set at creation waits for the blockers like everyone else.
	waiting := w.task(func(n *task.NewTask) { n.AssigneeID, n.BlockedBy = &ann.ID, []string{fmt.Sprint(free.ID)} })
	if waiting.State != lifecycle.TaskNew {
		t.Errorf("created %s", waiting.State)
	}

	_, err = w.tasks.Status(ctx, ann, waiting.ID, lifecycle.TaskInProgress, "c", "")
	w.wantCode(err, fault.UnresolvedBlockers)
	_, err = w.tasks.Claim(ctx, ann, free.ID, "c", "")
	w.must(err)
	_, err = w.tasks.Status(ctx, ann, free.ID, lifecycle.TaskDone, "c", "")
	w.must(err)
	_, err = w.tasks.Status(ctx, ann, waiting.ID, lifecycle.TaskInProgress, "c", "")
	w.must(err)

	// 4. A task that a user cannot see can be neither escalated nor taken over.
	secret := w.task(func(n *task.NewTask) { n.Visibility, n.AssigneeID = task.Private, &ann.ID })
	allow(2.0 / 60)
	_, err = w.tasks.Status(ctx, ann, secret.ID, lifecycle.TaskInProgress, "c", "")
	w.must(err)
	_, err = w.tasks.Escalate(ctx, bob, secret.ID, "c", "")
	w.wantCode(err, fault.TaskNotFound)
	wait.Eventually(
		w, "the secret task is STUCK", func() bool { return w.reload(secret).State == lifecycle.TaskStuck },
	)
	_, err = w.tasks.Takeover(ctx, bob, secret.ID, "c", "")
	w.wantCode(err, fault.TaskNotFound)

	// 5. A status left and re-entered has the new deadline, not the old one.
	var back task.Task
	for seconds := 2.0; back.ID == 0 || w.reload(back).State == lifecycle.TaskStuck; seconds *= 2 { // too short for a busy machine
		allow(seconds / 60)
		back = w.task(func(n *task.NewTask) { n.AssigneeID = &ann.ID })
		_, err = w.tasks.Status(ctx, ann, back.ID, lifecycle.TaskInProgress, "c", "")
		w.must(err)
		_, err = w.tasks.Status(ctx, ann, back.ID, lifecycle.TaskBlocked, "c", "")
	}
	w.must(err)
	allow(30)
	again, err := w.tasks.Status(ctx, ann, back.ID, lifecycle.TaskInProgress, "c", "")
	w.must(err)
	w.wantTimers(back, 2, 1) // the first deadline is over
	if got := w.reload(back); got.State != lifecycle.TaskInProgress || !got.DeadlineAt.Equal(*again.DeadlineAt) {
		t.Errorf("%+v", got.Snapshot)
	}

	// 6. A cycle is refused at creation.
	_, err = w.tasks.CreateBatch(ctx, ann, w.workspace.ID, []task.NewTask{
		{Ref: "hen", Title: "get a hen", BlockedBy: []string{"egg"}}, {Ref: "egg", Title: "get an egg", BlockedBy: []string{"hen"}},
	}, "")

	w.wantCode(err, fault.CyclicDependency)
}

// TestDeadlineOnTime lets one deadline pass on a real server: not early, and once.
func TestDeadlineOnTime(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{StatusDeadlines: map[lifecycle.TaskState]float64{lifecycle.TaskNew: 2.0 / 60}})
	due := w.task(nil)
	wait.Eventually(w, "the task is STUCK", func() bool { return w.reload(due).State == lifecycle.TaskStuck })
	events, err := w.store.Tasks.EventsOf(t.Context(), 0, due.ID, 0, 10)
	w.must(err)
	late := events[1].CreatedAt.Sub(*due.DeadlineAt)
	t.Logf("%s late", late)
	if late < 0 || len(events) != 2 || events[1].Comment != "Status deadline expired. Was in NEW for 0 minutes." {
		t.Errorf("%s late, %+v", late, events)
	}
}

// TestSameKeySameAnswer repeats requests by their key, after success, refusal and the task's end.
func TestSameKeySameAnswer(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann, bob := t.Context(), w.member(), w.member()
	wanted := w.task(nil)
	first, err := w.tasks.Claim(ctx, ann, wanted.ID, "mine", "a")
	w.must(err)
	_, err = w.tasks.Claim(ctx, bob, wanted.ID, "mine", "a") // another user's key is another key
	w.wantCode(err, fault.TaskAlreadyClaimed)
	_, err = w.tasks.Status(ctx, ann, wanted.ID, lifecycle.TaskNew, "I give it back", "b")
	w.must(err)
	_, err = w.tasks.Claim(ctx, bob, wanted.ID, "mine", "a") // it would be free now
	w.wantCode(err, fault.TaskAlreadyClaimed)
	again, err := w.tasks.Claim(ctx, ann, wanted.ID, "mine", "a")
	if err != nil || again.Version != first.Version || again.State != lifecycle.TaskInProgress || !again.Since.Equal(first.Since) {
		t.Errorf("got %+v, %v; first %+v", again.Snapshot, err, first.Snapshot)
	}

	_, err = w.tasks.Escalate(ctx, ann, wanted.ID, "mine", "a")
	w.wantCode(err, fault.Validation)
	_, err = w.tasks.Status(ctx, w.creator, wanted.ID, lifecycle.TaskCancelled, "over", "c")
	w.must(err)
	if over, err := w.tasks.Status(ctx, w.creator, wanted.ID, lifecycle.TaskCancelled, "over", "c"); err != nil || over.State != lifecycle.TaskCancelled {
		t.Errorf("%+v, %v", over.Snapshot, err)
	}
	if got := fmt.Sprint(w.events(wanted)); got != "[created claimed status_changed status_changed]" {
		t.Errorf("events %s", got)
	}
}

// TestRepeatAfterAPICrash repeats a claim whose API process died before it could store the answer. Meanwhile another
// user has taken over and finished the task: the first answer is returned nevertheless.
func TestRepeatAfterAPICrash(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann, bob := t.Context(), w.member(), w.member()
	wanted := w.task(nil)
	request := core.Request{UserID: ann.ID, Key: "a/key"}
	handle, err := w.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: wanted.WorkflowID(), UpdateID: request.ID(), UpdateName: "claim",
		Args: []any{lifecycle.TaskInput{Actor: ann.ID, Comment: "mine"}}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})

	w.must(err)
	w.must(handle.Get(ctx, nil))
	claimed := w.reload(wanted)
	w.exec(`UPDATE tasks SET status_deadline_at = now() WHERE id = $1`, wanted.ID)
	w.must(w.client.SignalWorkflow(ctx, wanted.WorkflowID(), "", lifecycle.TaskRefreshSignal, nil))
	wait.Eventually(w, "the task is STUCK", func() bool { return w.reload(wanted).State == lifecycle.TaskStuck })
	_, err = w.tasks.Takeover(ctx, bob, wanted.ID, "mine now", "")
	w.must(err)

	for range 2 {
		again, err := w.tasks.Claim(ctx, ann, wanted.ID, "mine", "a/key")
		if err != nil || again.Version != claimed.Version || !again.HeldBy(ann.ID) || !again.UpdatedAt.Equal(claimed.UpdatedAt) || again.StartedAt == nil {
			t.Errorf("got %+v, %v", again, err)
		}
		_, err = w.tasks.Status(ctx, bob, wanted.ID, lifecycle.TaskDone, "done", "over")
		w.must(err)
	}

	_, err = w.tasks.Claim(ctx, ann, wanted.ID, "mine", "another key")
	w.wantCode(err, fault.TaskAlreadyClaimed)
}

// TestAnswersTellTheWholeTask compares a step's answer with the record.
func TestAnswersTellTheWholeTask(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann := t.Context(), w.member()
	for _, key := range []string{"", "k"} {
		wanted := w.task(nil)
		same := func(answer task.Task, err error) {
			t.Helper()
			w.must(err)
			now := w.reload(wanted)
			for _, times := range [][2]*time.Time{
				{answer.StartedAt, now.StartedAt}, {answer.FinishedAt, now.FinishedAt}, {&answer.UpdatedAt, &now.UpdatedAt}, {answer.DeadlineAt, now.DeadlineAt},
			} {
				if (times[0] == nil) != (times[1] == nil) || times[0] != nil && !times[0].Equal(*times[1]) {
					t.Errorf("answered %+v, the record has %+v", answer, now)
				}
			}
		}

		same(w.tasks.Claim(ctx, ann, wanted.ID, "c", key))
		same(w.tasks.Status(ctx, ann, wanted.ID, lifecycle.TaskDone, "c", strings.Repeat(key, 2)))
	}
}

// TestBrokenRecord lets a deadline pass while the record rejects writes for an unforeseen reason: the task waits, and
// is not lost.
func TestBrokenRecord(t *testing.T) {
	t.Parallel()
	w := newRig(
		t, tasks.WorkspaceChange{StatusDeadlines: map[lifecycle.TaskState]float64{lifecycle.TaskInProgress: 1.0 / 60}},
	)

	ctx := t.Context()
	claimed, asked := w.task(nil), w.task(func(n *task.NewTask) { n.Title = "cannot change" })
	db := testdb.DB(t, w.database)
	_, err := db.Exec(
		ctx, `ALTER TABLE tasks ADD CONSTRAINT broken CHECK (last_seq < 3 AND title <> 'cannot change') NOT VALID`,
	)

	w.must(err)
	_, err = w.tasks.Claim(ctx, w.creator, claimed.ID, "c", "")
	w.must(err)
	wait.Eventually(w, "the deadline tries to be written", func() bool {
		return slices.ContainsFunc(w.history(claimed), func(e *historypb.HistoryEvent) bool {
			return e.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
		})
	})

	_, err = w.tasks.Claim(ctx, w.creator, asked.ID, "c", "")
	w.wantCode(err, fault.Internal) // the caller gets the error, and does not wait
	_, err = db.Exec(ctx, `ALTER TABLE tasks DROP CONSTRAINT broken`)
	w.must(err)
	wait.Eventually(w, "the task is STUCK", func() bool { return w.reload(claimed).State == lifecycle.TaskStuck })
}

// TestClosedTasks sends requests about tasks whose workflows have ended: the record answers.
func TestClosedTasks(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann := t.Context(), w.member()
	done, cancelled := w.task(nil), w.task(nil)
	_, err := w.tasks.Claim(ctx, w.creator, done.ID, "c", "")
	w.must(err)
	_, err = w.tasks.Status(ctx, w.creator, done.ID, lifecycle.TaskDone, "c", "")
	w.must(err)
	_, err = w.tasks.Status(ctx, w.creator, cancelled.ID, lifecycle.TaskCancelled, "c", "")
	w.must(err)
	_, err = w.tasks.Status(ctx, w.creator, done.ID, lifecycle.TaskNew, "c", "")
	w.wantCode(err, fault.InvalidTransition)
	_, err = w.tasks.Claim(ctx, ann, cancelled.ID, "c", "")
	w.wantCode(err, fault.InvalidTransition)
	_, err = w.tasks.Claim(ctx, ann, done.ID, "c", "")
	w.wantCode(err, fault.TaskAlreadyClaimed)
	event, err := w.tasks.Comment(ctx, ann, done.ID, "well done", "k")
	w.must(err)
	if again, err := w.tasks.Comment(ctx, ann, done.ID, "well done", "k"); err != nil || again.Seq != event.Seq {
		t.Errorf("%+v, %v", again, err)
	}

	_, err = w.tasks.Comment(ctx, ann, done.ID, " ", "")
	w.wantCode(err, fault.CommentRequired)
}

// TestEventsPerLife counts the events of a task with six transitions: created, claimed, blocked, resumed, returned,
// claimed again, done.
func TestEventsPerLife(t *testing.T) {
	t.Parallel()
	const most = 48
	w := newRig(t, tasks.WorkspaceChange{})
	least, fewest := 1000, 1000 // a busy machine does some steps twice, so that the shortest life counts
	for n := 0; n < 5 && (least > most || fewest > 0); n++ {
		history := w.wholeLife()
		kinds := map[string]int{}
		for _, event := range history {
			kinds[event.EventType.String()]++
		}
		t.Logf("%d events: %v", len(history), kinds)
		least = min(least, len(history))
		fewest = min(fewest, kinds[enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED.String()])
	}

	if least > most {
		t.Errorf("%d events for six updates", least)
	}
	if fewest > 0 {
		t.Error("an activity was scheduled where a local one is enough")
	}
}

// wholeLife takes a task through six transitions, and returns its history.
func (w *rig) wholeLife() []*historypb.HistoryEvent {
	w.Helper()
	ctx, ann := w.Context(), w.member()
	whole := w.task(nil)
	claim := func() {
		_, err := w.tasks.Claim(ctx, ann, whole.ID, "c", "")
		w.must(err)
	}
	status := func(to lifecycle.TaskState) {
		_, err := w.tasks.Status(ctx, ann, whole.ID, to, "c", "")
		w.must(err)
	}

	claim()
	status(lifecycle.TaskBlocked)
	status(lifecycle.TaskInProgress)
	status(lifecycle.TaskNew)
	claim()
	status(lifecycle.TaskDone)

	w.must(w.client.GetWorkflow(ctx, whole.WorkflowID(), "").Get(ctx, nil))
	return w.history(whole)
}

// TestTripsOfAClaim counts the round trips to PostgreSQL of an agent's claim, in API and worker together, without a key
// and with one: the task and an earlier answer, and two for the action.
func TestTripsOfAClaim(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}
	trips := testdb.CountTrips(t, testdb.URL(t))
	w := newRigAt(t, testtemporal.Take(t), trips.URL, tasks.WorkspaceChange{})
	ann := w.member()
	for _, keyed := range []bool{false, true} {
		least := 1000 // a connection's first use of a statement costs one more
		for range 20 {
			free, key := w.task(nil), ""
			if keyed {
				key = w.key()
			}

			before := trips.Count()
			_, err := w.tasks.Claim(t.Context(), ann, free.ID, "mine", key)
			w.must(err)
			least = min(least, trips.Count()-before)
		}
		if least != 3 {
			t.Errorf("%d trips, with a key: %t", least, keyed)
		}
	}
}

// TestNightBatchWithoutTemporal makes a batch while Temporal accepts connections but does not answer: the tasks are
// created, soon.
func TestNightBatchWithoutTemporal(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	defer silent.Close()

	away, err := client.NewLazyClient(client.Options{
		HostPort: silent.Addr().String(), Logger: sdklog.NewStructuredLogger(w.tasks.Log),
	})

	w.must(err)
	defer away.Close()

	var said strings.Builder
	cut := &tasks.Service{
		Temporal: away, Store: w.store, Log: slog.New(slog.NewTextHandler(&said, nil)), Patience: time.Minute,
	}

	graph := make([]task.NewTask, 50)
	for i := range graph {
		graph[i].Title = "one of many"
	}

	made, err := cut.CreateBatch(t.Context(), w.creator, w.workspace.ID, graph, "")
	w.must(err)
	if len(made) != 50 || w.reload(made[49]).WorkflowStartedAt != nil || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("%d tasks, %s", len(made), said.String())
	}
}

// TestWorkerUnavailable sends a request while no worker runs: the outcome is unknown, and the same key returns it
// later.
func TestWorkerUnavailable(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann := t.Context(), w.member()
	wanted := w.task(nil)
	_, err := w.tasks.Claim(ctx, w.creator, wanted.ID, "c", "")
	w.must(err)
	w.worker.Stop()
	hasty := &tasks.Service{Temporal: w.client, Store: w.store, Log: w.tasks.Log, Patience: 10 * time.Second}
	var all sync.WaitGroup

	for range 8 { // the maximum in flight
		all.Go(func() {
			_, err := hasty.Escalate(ctx, ann, wanted.ID, "c", "k")
			w.wantCode(err, fault.TemporalUnavailable)
		})
	}

	time.Sleep(500 * time.Millisecond)
	_, err = hasty.Claim(ctx, ann, wanted.ID, "c", "") // the record knows, and needs no workflow
	w.wantCode(err, fault.TaskAlreadyClaimed)
	all.Wait()
	w.startWorker()
	escalated, err := w.tasks.Escalate(ctx, ann, wanted.ID, "c", "k")
	if err != nil || escalated.State != lifecycle.TaskBlocked {
		t.Errorf("%+v, %v", escalated.Snapshot, err)
	}
	if got := fmt.Sprint(w.events(wanted)); got != "[created claimed escalated]" {
		t.Errorf("events %s", got)
	}
}

// TestNightManyTransitions passes a task around 500 times under 5,000 comments, which are also its events: its workflow
// continues as new now and then, and acting on it stays as fast as on a task without history.
func TestNightManyTransitions(t *testing.T) {
	t.Parallel()
	night.Only(t)
	w := newRigOn(t, testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=1000"), tasks.WorkspaceChange{})
	ctx, ann := t.Context(), w.member()
	assigned := func(n *task.NewTask) { n.AssigneeID = &ann.ID }
	long := w.task(assigned)
	for i := range 5000 {
		_, err := w.store.Tasks.Comment(ctx, long.ID, fmt.Sprint("comment ", i), core.Request{UserID: ann.ID})
		w.must(err)
	}

	pass := func(on task.Task, to lifecycle.TaskState) time.Duration {
		start := time.Now()
		_, err := w.tasks.Status(ctx, ann, on.ID, to, "c", w.key())
		w.must(err)
		return time.Since(start)
	}

	var took, fresh []time.Duration
	for i := range 250 {
		took = append(took, pass(long, lifecycle.TaskInProgress), pass(long, lifecycle.TaskBlocked))
		if i%5 == 0 { // concurrently, for the machine's current speed
			fresh = append(fresh, pass(w.task(assigned), lifecycle.TaskInProgress))
		}
	}

	slices.Sort(took)
	slices.Sort(fresh)
	t.Logf("500 transitions: median %s, p99 %s; of tasks without a past: median %s", took[250], took[495], fresh[25])
	if took[250] > 5*fresh[25] {
		t.Errorf("median %s, %s without a past", took[250], fresh[25])
	}

	first := w.history(long)[0].GetWorkflowExecutionStartedEventAttributes()
	if first.ContinuedExecutionRunId == "" {
		t.Error("the workflow has never started anew")
	}

	got := w.reload(long)
	if got.Version != 5501 || got.State != lifecycle.TaskBlocked {
		t.Errorf("%+v", got.Snapshot)
	}
	if page, err := w.tasks.Events(ctx, ann, long.ID, 4900, false, 200); err != nil || len(page) != 200 || page[0].Seq != 4901 {
		t.Errorf("%d events, %v", len(page), err)
	}
}

// TestWorkspaceRules requests what workspaces refuse.
func TestWorkspaceRules(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann, stranger := t.Context(), w.member(), w.user(account.RoleUser)
	_, err := w.tasks.Workspace(ctx, stranger, w.workspace.ID)
	w.wantCode(err, fault.WorkspaceNotFound)
	_, err = w.tasks.Create(ctx, stranger, w.workspace.ID, task.NewTask{Title: "a title"}, "")
	w.wantCode(err, fault.WorkspaceNotFound)
	_, err = w.tasks.AddMember(ctx, ann, w.workspace.ID, stranger.ID)
	w.wantCode(err, fault.InsufficientAccess)
	_, err = w.tasks.AddMember(ctx, w.admin, w.workspace.ID, 987654) // an unknown id: not revealed
	w.must(err)
	_, err = w.tasks.ChangeWorkspace(
		ctx, w.creator, w.workspace.ID, tasks.WorkspaceChange{StatusDeadlines: map[lifecycle.TaskState]float64{"DONE": 5}},
		"",
	)

	w.wantCode(err, fault.Validation)
	changed, err := w.tasks.ChangeWorkspace(
		ctx, w.admin, w.workspace.ID,
		tasks.WorkspaceChange{StatusDeadlines: map[lifecycle.TaskState]float64{lifecycle.TaskNew: 5}}, "",
	)
	if err != nil || changed.StatusDeadlines[lifecycle.TaskNew] != 5 || changed.StatusDeadlines[lifecycle.TaskBlocked] != 2880 {
		t.Errorf("%+v, %v", changed, err)
	}

	for field, bad := range map[string]task.NewTask{
		"title": {Title: "   "}, "visibility": {Title: "a title", Visibility: "x"}, "priority": {Title: "a title", Priority: "x"},
		"labels": {Title: "a title", Labels: []string{""}}, "assignee_id": {Title: "a title", AssigneeID: &stranger.ID},
	} {
		_, err := w.tasks.Create(ctx, ann, w.workspace.ID, bad, "")
		if f := fault.As(err); f == nil || f.Code != fault.Validation || f.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestTerminated requests a task whose workflow was terminated, before and after its row has ended.
func TestTerminated(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx := t.Context()
	terminated := w.task(nil)
	wait.Eventually(w, "it runs", func() bool { return len(w.history(terminated)) > 4 })
	w.must(w.client.TerminateWorkflow(ctx, terminated.WorkflowID(), "", "by hand"))
	_, err := w.tasks.Claim(ctx, w.creator, terminated.ID, "c", "")
	w.wantCode(err, fault.TemporalUnavailable)

	for range 2 { // the second changes nothing
		w.must(w.tasks.End(ctx, terminated.ID, fault.TerminatedByOperator))
	}

	events, err := w.tasks.Events(ctx, w.creator, terminated.ID, 0, false, 10)
	w.must(err)
	if len(events) != 2 || events[1].Comment != "terminated_by_operator" || events[1].ActorID != nil {
		t.Errorf("%+v", events)
	}

	_, err = w.tasks.Claim(ctx, w.creator, terminated.ID, "c", "")
	w.wantCode(err, fault.InvalidTransition)
}
