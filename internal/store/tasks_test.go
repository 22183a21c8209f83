package store_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// office is a world with a workspace and two of its members.
type office struct {
	*rig
	task.Workspace
	ann, bob, stranger account.User
}

func newOffice(t *testing.T, change func(*task.Workspace)) *office {
	t.Helper()
	o := &office{rig: newRig(t)}
	o.ann, o.bob, o.stranger = o.user(1), o.user(2), o.user(3)
	wanted := task.Workspace{Name: "office", OwnerID: o.ann.ID, StatusDeadlines: task.DefaultStatusDeadlines()}
	if change != nil {
		change(&wanted)
	}

	made, err := o.CreateWorkspace(t.Context(), wanted, core.Request{})
	o.must(err)
	o.Workspace = made
	o.must(o.AddMember(t.Context(), made.OwnerID, made.ID, o.bob.ID))
	o.must(o.AddMember(t.Context(), made.OwnerID, made.ID, o.bob.ID)) // again: nothing
	return o
}

func (o *office) graph(key string, graph ...task.NewTask) ([]task.Task, error) {
	for i := range graph {
		graph[i].Title, graph[i].Labels = "a task of a test", []string{}
		if graph[i].Visibility == "" {
			graph[i].Visibility = task.Public
		}
		graph[i].Priority = task.PriorityNormal
	}
	made, _, err := o.CreateTasks(o.t.Context(), o.Workspace.ID, graph, core.Event{Type: "created", To: "NEW"},
		core.Request{UserID: o.ann.ID, Key: key, Asked: "graph"})
	return made, err
}

func (o *office) made(graph ...task.NewTask) []task.Task {
	o.t.Helper()
	made, err := o.graph("", graph...)
	o.must(err)
	return made
}

// move writes a transition as a workflow would.
func (o *office) move(row task.Task, to lifecycle.TaskState, assignee *int64) task.Snapshot {
	o.t.Helper()
	now, err := o.TaskByID(o.t.Context(), 0, row.ID)
	o.must(err)
	kind := "status_changed"
	if to == lifecycle.TaskStuck {
		kind = "deadline_expired"
	}

	state, err := o.WriteTask(o.t.Context(), task.Write{
		TaskID: row.ID, Version: now.Version + 1, RequestID: fmt.Sprint(to, now.Version), State: to, AssigneeID: assignee,
		At: time.Now(), Event: core.Event{Type: kind, From: string(now.State), To: string(to), Comment: "c"},
	})

	o.must(err)
	return state
}

func (w *rig) count(table string) (n int) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.url)
	w.must(err)
	defer conn.Close(context.Background())
	w.must(conn.QueryRow(w.t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// TestGraph makes a graph with references among its tasks and to one that was there.
func TestGraph(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	old := o.made(task.NewTask{})[0]
	made := o.made(
		task.NewTask{Ref: "roof", BlockedBy: []string{"walls", fmt.Sprint(old.ID), "walls"}},
		task.NewTask{Ref: "walls", BlockedBy: []string{"ground"}},
		task.NewTask{Ref: "ground"},
	)

	blockers := func(i int) []int64 { return made[i].OpenBlockers() }
	if !slices.Equal(blockers(0), []int64{old.ID, made[1].ID}) || !slices.Equal(blockers(1), []int64{made[2].ID}) || len(blockers(2)) != 0 {
		t.Errorf("blockers %v %v %v", made[0].Blockers, made[1].Blockers, made[2].Blockers)
	}
	if made[0].Ready() || !made[2].Ready() || made[2].DeadlineAt.Sub(made[2].Since) != 2*time.Hour {
		t.Errorf("%+v", made[2])
	}

	ready, err := o.Tasks(
		t.Context(), task.Filter{Viewer: o.bob.ID, WorkspaceID: o.Workspace.ID, Ready: true, Limit: 10},
	)
	if err != nil || len(ready) != 2 || ready[0].ID != made[2].ID || ready[1].ID != old.ID {
		t.Errorf("ready: %+v, %v", ready, err)
	}

	o.move(made[2], lifecycle.TaskInProgress, &o.bob.ID)
	o.move(made[2], lifecycle.TaskDone, &o.bob.ID)
	if walls, err := o.TaskByID(t.Context(), o.bob.ID, made[1].ID); err != nil || !walls.Ready() {
		t.Errorf("%+v, %v", walls, err)
	}
}

// TestGraphIsRefused makes nothing of a graph that cannot be, and says why.
func TestGraphIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	private := o.made(task.NewTask{Visibility: task.Private})[0]
	elsewhere, err := o.CreateWorkspace(
		t.Context(), task.Workspace{Name: "other", OwnerID: o.ann.ID, StatusDeadlines: map[lifecycle.TaskState]float64{}},
		core.Request{},
	)

	o.must(err)
	before := o.count("tasks")
	for name, c := range map[string]struct {
		graph  []task.NewTask
		code   fault.Code
		field  string
		detail string
		want   string
	}{
		"a cycle":         {[]task.NewTask{{Ref: "x"}, {Ref: "a", BlockedBy: []string{"x", "b"}}, {Ref: "b", BlockedBy: []string{"c"}}, {Ref: "c", BlockedBy: []string{"a"}}}, fault.CyclicDependency, "tasks[1].blocked_by[1]", "cycle", "[a b c a]"},
		"itself":          {[]task.NewTask{{Ref: "a", BlockedBy: []string{"a"}}}, fault.CyclicDependency, "tasks[0].blocked_by[0]", "cycle", "[a a]"},
		"an unknown id":   {[]task.NewTask{{}, {BlockedBy: []string{"987654"}}}, fault.UnknownBlocker, "tasks[1].blocked_by[0]", "unknown", "[987654]"},
		"an unknown name": {[]task.NewTask{{Ref: "a"}, {BlockedBy: []string{"a", "b"}}}, fault.UnknownBlocker, "tasks[1].blocked_by[1]", "unknown", "[b]"},
		"two of one name": {[]task.NewTask{{Ref: "a"}, {Ref: "a"}}, fault.Validation, "tasks[1].ref", "", ""},
	} {
		_, err := o.graph("", c.graph...)
		refusal := fault.As(err)
		if refusal == nil || refusal.Code != c.code || refusal.Field != c.field || c.detail != "" && fmt.Sprint(refusal.Details[c.detail]) != c.want {
			t.Errorf("%s: %v %+v", name, err, refusal)
		}
	}

	for name, by := range map[string]account.User{"private to another": o.bob, "in another workspace": o.ann} {
		workspace := o.Workspace.ID
		if by.ID == o.ann.ID {
			workspace = elsewhere.ID
		}

		graph := []task.NewTask{
			{Title: "a task of a test", Visibility: "public", Priority: "normal", Labels: []string{}, BlockedBy: []string{fmt.Sprint(private.ID)}},
		}

		_, _, err := o.CreateTasks(
			t.Context(), workspace, graph, core.Event{Type: "created", To: "NEW"}, core.Request{UserID: by.ID},
		)
		if fault.CodeOf(err) != fault.UnknownBlocker {
			t.Errorf("a blocker %s: %v", name, err)
		}
	}

	if after := o.count("tasks"); after != before {
		t.Errorf("%d tasks were made all the same", after-before)
	}
}

// TestVersionedWrites repeats writes and lets old ones come late: the record and its events do not change.
func TestVersionedWrites(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	row := o.made(task.NewTask{})[0]
	write := func(version int64, id string, to lifecycle.TaskState) task.Snapshot {
		state, err := o.WriteTask(t.Context(), task.Write{
			TaskID: row.ID, Version: version, RequestID: id, State: to, AssigneeID: &o.bob.ID, At: time.Now(),
			Event: core.Event{
				Type: "status_changed", From: string(row.State), To: string(to), ActorID: &o.bob.ID, Comment: "c",
			},
		})
		o.must(err)
		return state
	}

	first := write(2, "a", lifecycle.TaskInProgress)
	if first.Version != 2 || !first.HeldBy(o.bob.ID) || first.DeadlineAt.Sub(first.Since) != 24*time.Hour {
		t.Errorf("%+v", first)
	}

	for _, again := range []task.Snapshot{write(2, "a", lifecycle.TaskInProgress), write(2, "b", lifecycle.TaskCancelled), write(1, "c", lifecycle.TaskCancelled)} {
		if again.Version != 2 || again.RequestID != "a" || again.State != lifecycle.TaskInProgress || !again.Since.Equal(first.Since) {
			t.Errorf("a repeated or late write left %+v", again)
		}
	}

	_, err := o.CommentTask(t.Context(), row.ID, "a comment between", core.Request{UserID: o.bob.ID})
	o.must(err)
	row.State = first.State
	if done := write(3, "d", lifecycle.TaskDone); done.State != lifecycle.TaskDone || done.DeadlineAt != nil {
		t.Errorf("%+v", done)
	}

	events, err := o.EventsOfTask(t.Context(), 0, row.ID, 0, 100)
	o.must(err)
	var got []string
	for _, event := range events {
		got = append(got, fmt.Sprint(event.Seq, event.Type))
	}

	if fmt.Sprint(got) != "[1created 2status_changed 3commented 4status_changed]" {
		t.Errorf("events %v", got)
	}
	if page, err := o.EventsOfTask(t.Context(), 0, row.ID, 2, 1); err != nil || len(page) != 1 || page[0].Seq != 3 {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestGuardedWrites writes what a workflow assumed: the record takes it only from an active member, and to begin work
// only when every blocker is DONE.
func TestGuardedWrites(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	blocker := o.made(task.NewTask{})[0]
	blocked := o.made(task.NewTask{BlockedBy: []string{fmt.Sprint(blocker.ID)}})[0]
	free := o.made(task.NewTask{})[0]
	left := o.user(4)
	o.must(o.AddMember(t.Context(), o.OwnerID, o.Workspace.ID, left.ID))
	_, err := o.ChangeUser(t.Context(), left.ID, account.UserChange{Status: account.UserBlocked})
	o.must(err)

	claimed := func(row task.Task, by account.User, guard task.Guard) bool {
		t.Helper()
		state, err := o.WriteTask(t.Context(), task.Write{
			TaskID: row.ID, Version: row.Version + 1, RequestID: "r", State: lifecycle.TaskInProgress, AssigneeID: &by.ID,
			At: time.Now(), Event: core.Event{Type: "claimed", From: "NEW", To: "IN_PROGRESS", ActorID: &by.ID},
			Guard: guard,
		})
		o.must(err)
		return state.Version > row.Version
	}

	for _, c := range []struct {
		what  string
		row   task.Task
		by    account.User
		guard task.Guard
		want  bool
	}{
		{"a stranger", free, o.stranger, task.Guard{MemberID: o.stranger.ID}, false},
		{"a member who is blocked", free, left, task.Guard{MemberID: left.ID}, false},
		{"under an open blocker", blocked, o.bob, task.Guard{MemberID: o.bob.ID, Unblocked: true}, false},
		{"without blockers", free, o.bob, task.Guard{MemberID: o.bob.ID, Unblocked: true}, true},
		{"what needs no end of blockers", blocked, o.bob, task.Guard{MemberID: o.bob.ID}, true},
	} {
		if claimed(c.row, c.by, c.guard) != c.want {
			t.Errorf("%s: written is not %t", c.what, c.want)
		}
	}
	if events := o.count("events"); events != 5 {
		t.Errorf("%d events of three creations and two writes", events)
	}
}

// TestOneOfManyWrites lets many write the same version at once: one is written, all are told which.
func TestOneOfManyWrites(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	row := o.made(task.NewTask{})[0]
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup

	for i := range 20 {
		all.Go(func() {
			state, err := o.WriteTask(t.Context(), task.Write{
				TaskID: row.ID, Version: 2, RequestID: fmt.Sprint(i), State: lifecycle.TaskInProgress, AssigneeID: &o.bob.ID,
				At: time.Now(), Event: core.Event{Type: "claimed", From: "NEW", To: "IN_PROGRESS"},
			})
			mu.Lock()
			defer mu.Unlock()
			if seen[state.RequestID] = true; err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	if len(seen) != 1 || o.count("task_events") != 2 {
		t.Errorf("requests %v, %d events", seen, o.count("task_events"))
	}
}

// TestClockOfNewTasks starts a NEW task's deadline with the end of its last blocker where the workspace wants it so.
func TestClockOfNewTasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(w *task.Workspace) {
		w.NewDeadlineWaitsForBlockers, w.StuckReleaseAfter = true, 0.5
		w.StatusDeadlines[lifecycle.TaskInProgress] = 0
	})

	made := o.made(task.NewTask{Ref: "a"}, task.NewTask{BlockedBy: []string{"a"}})
	if made[0].ClockWaits || made[0].DeadlineAt == nil || !made[1].ClockWaits || made[1].DeadlineAt != nil {
		t.Errorf("%+v %+v", made[0].Snapshot, made[1].Snapshot)
	}
	if state := o.move(made[0], lifecycle.TaskInProgress, &o.bob.ID); state.DeadlineAt != nil {
		t.Errorf("a deadline of 0 minutes: %+v", state)
	}

	o.move(made[0], lifecycle.TaskDone, &o.bob.ID)
	waiting, err := o.WaitingDependents(t.Context(), made[0].ID)
	if err != nil || len(waiting) != 1 || waiting[0].ID != made[1].ID {
		t.Errorf("%+v, %v", waiting, err)
	}

	now := time.Now()
	for range 2 { // the second changes nothing
		state, err := o.StartTaskClock(t.Context(), made[1].ID, 2, "clock", now)
		if err != nil || state.ClockWaits || state.Version != 2 || state.DeadlineAt.Sub(now).Round(time.Second) != 2*time.Hour {
			t.Errorf("%+v, %v", state, err)
		}
	}

	if state := o.move(made[1], lifecycle.TaskStuck, nil); state.DeadlineAt != nil || state.ReleaseAt.Sub(state.Since) != 30*time.Second {
		t.Errorf("%+v", state)
	}
}

// TestWhoSeesATask reads lists, single tasks and the stream of events as different people.
func TestWhoSeesATask(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	start, err := o.EventsNow(t.Context())
	o.must(err)
	public, private := o.made(task.NewTask{})[0], o.made(task.NewTask{Visibility: task.Private})[0]
	given := o.made(task.NewTask{Visibility: task.Private, AssigneeID: &o.bob.ID})[0]

	for name, c := range map[string]struct {
		viewer int64
		want   []int64
	}{
		"the creator":      {o.ann.ID, []int64{given.ID, private.ID, public.ID}},
		"a member":         {o.bob.ID, []int64{given.ID, public.ID}},
		"an outsider":      {o.stranger.ID, nil},
		"an administrator": {0, []int64{given.ID, private.ID, public.ID}},
	} {
		listed, err := o.Tasks(t.Context(), task.Filter{Viewer: c.viewer, Limit: 10})
		o.must(err)
		var got, streamed []int64
		for _, task := range listed {
			got = append(got, task.ID)
		}

		viewer := account.User{ID: c.viewer, Role: account.RoleUser, Status: account.UserActive}
		if c.viewer == 0 {
			viewer.Role = account.RoleAdmin
		}

		events, err := o.EventsAfter(t.Context(), start, 10)
		for deadline := time.Now().Add(30 * time.Second); err == nil && len(events) < 3 && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond) // the transactions of other tests are under way
			events, err = o.EventsAfter(t.Context(), start, 10)
		}

		o.must(err)
		audience, err := o.AudienceOf(t.Context(), events, []int64{c.viewer})
		o.must(err)
		events = slices.DeleteFunc(events, func(e core.StreamedEvent) bool { return !audience.Sees(viewer, e) })

		for _, event := range slices.Backward(events) {
			var id int64
			fmt.Sscan(event.EntityID, &id)
			streamed = append(streamed, id)
		}

		if !slices.Equal(got, c.want) || !slices.Equal(streamed, c.want) {
			t.Errorf("%s sees tasks %v and events of %v, want %v", name, got, streamed, c.want)
		}

		_, err = o.TaskByID(t.Context(), c.viewer, private.ID)
		if seen := err == nil; seen != slices.Contains(c.want, private.ID) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersOfTransitions keeps the answer to a request with the transition that fulfils it, whatever else is told.
func TestAnswersOfTransitions(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	wanted := o.made(task.NewTask{})[0]
	request := task.TaskRequest("k", lifecycle.TaskActionClaim, wanted.ID, lifecycle.TaskInput{Actor: o.bob.ID, Comment: "c"})
	write := func(version int64, by int64, action lifecycle.TaskAction, to lifecycle.TaskState) {
		o.t.Helper()
		now, err := o.TaskByID(t.Context(), 0, wanted.ID)
		o.must(err)
		kind := "status_changed"
		if action == lifecycle.TaskActionClaim {
			kind = "claimed"
		}

		_, err = o.WriteTask(t.Context(), task.Write{
			TaskID: wanted.ID, Version: version, RequestID: request.ID(), Action: action, State: to, AssigneeID: &by,
			At: time.Now(), Event: core.Event{Type: kind, From: string(now.State), To: string(to), ActorID: &by, Comment: "c"},
		})

		o.must(err)
	}

	refusal := fault.New(fault.TaskAlreadyClaimed, "taken")
	kept, err := core.KeepAnswer(t.Context(), o.Answers, request, task.Answer{Refusal: refusal})
	if err != nil || kept.Refusal.Code != refusal.Code {
		t.Fatalf("%+v, %v", kept, err)
	}

	write(2, o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInProgress)
	write(3, o.ann.ID, lifecycle.TaskActionStatus, lifecycle.TaskNew)
	write(4, o.ann.ID, lifecycle.TaskActionClaim, lifecycle.TaskInProgress) // an operator's, who has named it as they like
	write(5, o.bob.ID, lifecycle.TaskActionStatus, lifecycle.TaskBlocked)   // nor is this what the key asked for
	var first task.Answer
	found, err := o.Answered(t.Context(), request, &first)
	o.must(err)
	if !found || first.Refusal != nil || first.Task.Version != 2 || !first.Task.HeldBy(o.bob.ID) || first.Task.StartedAt == nil || first.Task.Title == "" {
		t.Errorf("%v, %+v", found, first)
	}
	if kept, err = core.KeepAnswer(t.Context(), o.Answers, request, task.Answer{Refusal: refusal}); err != nil || kept.Refusal != nil || kept.Task.Version != 2 {
		t.Errorf("what was done is denied: %+v, %v", kept, err)
	}

	other := task.TaskRequest("k", lifecycle.TaskActionEscalate, wanted.ID, lifecycle.TaskInput{Actor: o.bob.ID, Comment: "c"})
	if kept, err = core.KeepAnswer(t.Context(), o.Answers, other, task.Answer{Refusal: refusal}); err != nil || kept.Refusal == nil {
		t.Errorf("another request got %+v, %v", kept, err)
	}
}

// TestTaskWritesKeepToTheTable writes what no rule allows, and a step from a state that the task is not in.
func TestTaskWritesKeepToTheTable(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	row := o.made(task.NewTask{})[0]
	for _, forbidden := range []core.Event{
		{Type: "status_changed", From: "NEW", To: "DONE"}, {Type: "claimed", From: "NEW", To: "NEW"}, {Type: "status_changed", To: "IN_PROGRESS"}, {Type: "", From: "NEW", To: "IN_PROGRESS"},
	} {
		_, err := o.WriteTask(
			t.Context(),
			task.Write{
				TaskID: row.ID, Version: 2, State: lifecycle.TaskState(forbidden.To), At: time.Now(), Event: forbidden,
			},
		)
		if err == nil {
			t.Errorf("%+v was written", forbidden)
		}
	}

	late := core.Event{Type: "status_changed", From: "IN_PROGRESS", To: "DONE"} // the record was set back
	state, err := o.WriteTask(
		t.Context(), task.Write{TaskID: row.ID, Version: 3, State: lifecycle.TaskDone, At: time.Now(), Event: late},
	)
	if err != nil || state.State != lifecycle.TaskNew || state.Version != 1 {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestTaskStats counts a small history.
func TestTaskStats(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{}, task.NewTask{}, task.NewTask{})
	o.move(made[0], lifecycle.TaskInProgress, &o.bob.ID)
	o.move(made[0], lifecycle.TaskDone, &o.bob.ID)
	o.move(made[1], lifecycle.TaskCancelled, nil)

	for i, event := range []core.Event{
		{Type: "deadline_expired", From: "NEW", To: "STUCK"}, {Type: "taken_over", From: "STUCK", To: "IN_PROGRESS"}, {Type: "escalated", From: "IN_PROGRESS", To: "BLOCKED"},
	} {
		_, err := o.WriteTask(t.Context(), task.Write{
			TaskID: made[2].ID, Version: int64(i + 2), State: lifecycle.TaskState(event.To), At: time.Now(),
			AssigneeID: &o.bob.ID, Event: event,
		})
		o.must(err)
	}

	stats, err := o.StatsOfTasks(t.Context(), o.Workspace.ID, time.Now().Add(-time.Hour))
	o.must(err)
	if stats.Created != 3 || stats.Done != 1 || stats.Cancelled != 1 || stats.Takeovers != 1 || stats.Escalations != 1 || stats.Expiries != 1 ||
		stats.LeadTime == nil || *stats.LeadTime < *stats.CycleTime || stats.CycleTimeMedian == nil {
		t.Errorf("%+v", stats)
	}

	later, err := o.StatsOfTasks(t.Context(), o.Workspace.ID, time.Now().Add(time.Hour))
	if err != nil || later.Created+later.Done+later.Takeovers != 0 || later.LeadTime != nil {
		t.Errorf("%+v, %v", later, err)
	}
}

// TestRecordKeepsItsPromises tries to write what must never be.
func TestRecordKeepsItsPromises(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	task := o.made(task.NewTask{})[0]
	conn, err := pgx.Connect(t.Context(), o.url)
	o.must(err)
	defer conn.Close(context.Background())

	for _, change := range []string{
		`status = 'STUCK', status_deadline_at = now()`, `status = 'DONE', status_deadline_at = NULL`,
		`status = 'IN_PROGRESS'`,
		`status = 'CANCELLED', status_deadline_at = NULL`, `release_at = now()`, `clock_waits = true`, `title = 'abc'`,
		`visibility = 'secret'`,
	} {
		if _, err := conn.Exec(t.Context(), `UPDATE tasks SET `+change+` WHERE id = $1`, task.ID); err == nil {
			t.Errorf("the record took: %s", change)
		}
	}
}

// TestWorkspaceChangesTogether changes different settings of a workspace at once: none is lost.
func TestWorkspaceChangesTogether(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := o.ChangeWorkspace(t.Context(), o.Workspace.ID, core.Request{}, func(w *task.Workspace) error {
				w.StuckReleaseAfter++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	now, err := o.WorkspaceByID(t.Context(), 0, o.Workspace.ID)
	o.must(err)
	if now.StuckReleaseAfter != 20 {
		t.Errorf("%g of 20 changes are there", now.StuckReleaseAfter)
	}
	if _, err := o.ChangeWorkspace(t.Context(), 987654, core.Request{}, func(*task.Workspace) error { return nil }); fault.CodeOf(err) != fault.WorkspaceNotFound {
		t.Errorf("got %v", err)
	}
}
