package store_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// office is a rig with a workspace and two of its members.
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

	made, err := o.Tasks.CreateWorkspace(t.Context(), wanted, core.Request{})
	o.must(err)
	o.Workspace = made
	o.must(o.Tasks.AddMember(t.Context(), made.OwnerID, made.ID, o.bob.ID))
	o.must(o.Tasks.AddMember(t.Context(), made.OwnerID, made.ID, o.bob.ID)) // again: nothing
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
	made, _, err := o.Tasks.Create(o.t.Context(), o.Workspace.ID, graph, core.Event{Type: "created", To: "NEW"},
		core.Request{UserID: o.ann.ID, Key: key, Asked: "graph"})
	return made, err
}

func (o *office) made(graph ...task.NewTask) []task.Task {
	o.t.Helper()
	made, err := o.graph("", graph...)
	o.must(err)
	return made
}

// act performs a user's action in a new request.
func (o *office) act(row task.Task, by int64, action lifecycle.TaskAction, in lifecycle.TaskInput) (task.Acted, error) {
	return o.actAs(rand.Text(), row, by, action, in)
}

func (o *office) actAs(
	request string, row task.Task, by int64, action lifecycle.TaskAction, in lifecycle.TaskInput,
) (task.Acted, error) {
	in.Actor = by
	if in.Comment == "" {
		in.Comment = "c"
	}
	return o.Tasks.Act(o.t.Context(), task.Act{TaskID: row.ID, RequestID: request, Action: action, Input: in, At: time.Now()})
}

// move brings a task to a status: by its resulting or previous assignee; nil: by its creator.
func (o *office) move(row task.Task, to lifecycle.TaskState, by *int64) task.Snapshot {
	o.t.Helper()
	if by == nil {
		by = &o.ann.ID
	}

	action, in := lifecycle.TaskActionStatus, lifecycle.TaskInput{To: to}
	if to == lifecycle.TaskInProgress {
		action, in.To = lifecycle.TaskActionClaim, ""
	}
	acted, err := o.act(row, *by, action, in)
	o.must(err)
	return acted.State
}

// expire lets a task's status time out.
func (o *office) expire(id int64) task.Snapshot {
	o.t.Helper()
	now, err := o.Tasks.ByID(o.t.Context(), 0, id)
	o.must(err)
	at, _ := now.Due()
	acted, err := o.Tasks.Act(o.t.Context(), task.Act{TaskID: id, Action: lifecycle.TaskActionExpire, At: *at})
	o.must(err)
	if acted.State.Version != now.Version+1 {
		o.t.Fatalf("nothing has expired: %+v", acted.State)
	}
	return acted.State
}

func (w *rig) count(table string, args ...any) (n int) {
	w.t.Helper()
	w.must(testdb.DB(w.t, w.url).QueryRow(w.t.Context(), "SELECT count(*) FROM "+table, args...).Scan(&n))
	return n
}

// TestGraph makes a graph with references among its tasks and to an existing one.
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

	ready, err := o.Tasks.List(
		t.Context(), task.Filter{Viewer: o.bob.ID, WorkspaceID: o.Workspace.ID, Ready: true, Limit: 10},
	)
	if err != nil || len(ready) != 2 || ready[0].ID != made[2].ID || ready[1].ID != old.ID {
		t.Errorf("ready: %+v, %v", ready, err)
	}

	o.move(made[2], lifecycle.TaskInProgress, &o.bob.ID)
	o.move(made[2], lifecycle.TaskDone, &o.bob.ID)
	if walls, err := o.Tasks.ByID(t.Context(), o.bob.ID, made[1].ID); err != nil || !walls.Ready() {
		t.Errorf("%+v, %v", walls, err)
	}
}

// TestGraphIsRefused rejects impossible graphs as a whole, with the reason.
func TestGraphIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	private := o.made(task.NewTask{Visibility: task.Private})[0]
	elsewhere, err := o.Tasks.CreateWorkspace(
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

		_, _, err := o.Tasks.Create(
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

// TestActs repeats requests, with later ones in between: each has one effect. A refused one has none.
func TestActs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	row := o.made(task.NewTask{})[0]
	first, err := o.actAs("a", row, o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{})
	o.must(err)
	if first.State.Version != 2 || !first.State.HeldBy(o.bob.ID) || first.State.DeadlineAt.Sub(first.State.Since) != 24*time.Hour || first.Event != "claimed" {
		t.Errorf("%+v", first)
	}

	_, err = o.act(row, o.ann.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{})
	if fault.CodeOf(err) != fault.TaskAlreadyClaimed {
		t.Errorf("the second claim: %v", err)
	}

	_, err = o.Tasks.Comment(t.Context(), row.ID, "a comment between", core.Request{UserID: o.bob.ID})
	o.must(err)
	again, err := o.actAs("a", row, o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{})
	if err != nil || again.State.Version != 3 || again.State.State != lifecycle.TaskInProgress || again.Event != "" {
		t.Errorf("repeated: %+v, %v", again, err)
	}

	done := lifecycle.TaskInput{To: lifecycle.TaskDone}
	if ended, err := o.actAs("b", row, o.bob.ID, lifecycle.TaskActionStatus, done); err != nil || ended.State.DeadlineAt != nil {
		t.Errorf("%+v, %v", ended, err)
	}
	if ended, err := o.actAs("a", row, o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{}); err != nil || ended.State.State != lifecycle.TaskDone {
		t.Errorf("repeated at the end: %+v, %v", ended, err)
	}
	if _, err := o.actAs("a", row, o.bob.ID, lifecycle.TaskActionStatus, done); fault.CodeOf(err) != fault.Validation {
		t.Errorf("another request under the same id: %v", err)
	}

	events, err := o.Tasks.EventsOf(t.Context(), 0, row.ID, 0, 100)
	o.must(err)
	var got []string
	for _, event := range events {
		got = append(got, fmt.Sprint(event.Seq, event.Type))
	}

	if fmt.Sprint(got) != "[1created 2claimed 3commented 4status_changed]" {
		t.Errorf("events %v", got)
	}
	if page, err := o.Tasks.EventsOf(t.Context(), 0, row.ID, 2, 1); err != nil || len(page) != 1 || page[0].Seq != 3 {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestActsOfTheSystem lets a deadline pass, and an operator cancel: what is not due, or has ended, changes nothing.
func TestActsOfTheSystem(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	row := o.made(task.NewTask{})[0]
	system := func(action lifecycle.TaskAction, at time.Time) task.Acted {
		t.Helper()
		acted, err := o.Tasks.Act(t.Context(), task.Act{
			TaskID: row.ID, Action: action, Input: lifecycle.TaskInput{Comment: "c"}, At: at,
		})
		o.must(err)
		return acted
	}

	for _, c := range []struct {
		action lifecycle.TaskAction
		at     time.Time
		want   lifecycle.TaskState
		event  string
	}{
		{lifecycle.TaskActionExpire, row.DeadlineAt.Add(-time.Millisecond), lifecycle.TaskNew, ""},
		{lifecycle.TaskActionExpire, *row.DeadlineAt, lifecycle.TaskStuck, "deadline_expired"},
		{lifecycle.TaskActionExpire, *row.DeadlineAt, lifecycle.TaskStuck, ""},
		{lifecycle.TaskActionCancel, *row.DeadlineAt, lifecycle.TaskCancelled, "status_changed"},
		{lifecycle.TaskActionCancel, *row.DeadlineAt, lifecycle.TaskCancelled, ""},
	} {
		if acted := system(c.action, c.at); acted.State.State != c.want || acted.Event != c.event {
			t.Errorf("%s at %s: %+v", c.action, c.at, acted)
		}
	}
}

// TestActsAreJudgedByTheRecord lets users act whom an operator's tool may name: the record knows who belongs to the
// workspace, and which blockers are open.
func TestActsAreJudgedByTheRecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	blocker := o.made(task.NewTask{})[0]
	blocked := o.made(task.NewTask{BlockedBy: []string{fmt.Sprint(blocker.ID)}})[0]
	free := o.made(task.NewTask{})[0]
	left := o.user(4)
	o.must(o.Tasks.AddMember(t.Context(), o.OwnerID, o.Workspace.ID, left.ID))
	_, err := o.Accounts.ChangeUser(t.Context(), left.ID, account.UserChange{Status: account.UserBlocked})
	o.must(err)

	for _, c := range []struct {
		what string
		row  task.Task
		by   account.User
		want fault.Code
	}{
		{"a stranger", free, o.stranger, fault.TaskNotFound},
		{"a member who is blocked", free, left, fault.TaskNotFound},
		{"under an open blocker", blocked, o.bob, fault.UnresolvedBlockers},
		{"a member", free, o.bob, ""},
	} {
		acted, err := o.act(c.row, c.by.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{})
		if fault.CodeOf(err) != c.want || err == nil && !acted.State.HeldBy(c.by.ID) {
			t.Errorf("%s: %+v, %v", c.what, acted, err)
		}
	}
	if events := o.count("events"); events != 4 {
		t.Errorf("%d events of three creations and one claim", events)
	}
}

// TestOneOfManyActs lets many claim at once: one gets the task, the others are refused.
func TestOneOfManyActs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	row := o.made(task.NewTask{})[0]
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			by := []int64{o.ann.ID, o.bob.ID}[i%2]
			_, err := o.act(row, by, lifecycle.TaskActionClaim, lifecycle.TaskInput{Fresh: true})
			switch fault.CodeOf(err) {
			case "":
				won.Add(1)
			case fault.TaskAlreadyClaimed:
			default:
				t.Error(err)
			}
		})
	}

	all.Wait()
	if won.Load() != 1 || o.count("task_events") != 2 {
		t.Errorf("%d have won, %d events", won.Load(), o.count("task_events"))
	}
}

// TestClockOfNewTasks starts a NEW task's deadline at the end of its last blocker if the workspace is set so.
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
	waiting, err := o.Tasks.WaitingDependents(t.Context(), made[0].ID)
	if err != nil || !slices.Equal(waiting, []int64{made[1].ID}) {
		t.Errorf("%v, %v", waiting, err)
	}

	now := time.Now()
	for range 2 { // the second changes nothing
		state, err := o.Tasks.StartClock(t.Context(), made[1].ID, now)
		if err != nil || state.ClockWaits || state.Version != 1 || state.DeadlineAt.Sub(now).Round(time.Second) != 2*time.Hour {
			t.Errorf("%+v, %v", state, err)
		}
	}

	if state := o.expire(made[1].ID); state.DeadlineAt != nil || state.ReleaseAt.Sub(state.Since) != 30*time.Second {
		t.Errorf("%+v", state)
	}
}

// TestWhoSeesATask reads lists, single tasks and the event stream as different people.
func TestWhoSeesATask(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	start, err := o.Notices.EventsNow(t.Context())
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
		listed, err := o.Tasks.List(t.Context(), task.Filter{Viewer: c.viewer, Limit: 10})
		o.must(err)
		var got, streamed []int64
		for _, task := range listed {
			got = append(got, task.ID)
		}

		viewer := account.User{ID: c.viewer, Role: account.RoleUser, Status: account.UserActive}
		if c.viewer == 0 {
			viewer.Role = account.RoleAdmin
		}

		events := o.after(start)
		audience, err := o.Notices.AudienceOf(t.Context(), events, []int64{c.viewer})
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

		_, err = o.Tasks.ByID(t.Context(), c.viewer, private.ID)
		if seen := err == nil; seen != slices.Contains(c.want, private.ID) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnswersOfActs stores the answer to a request with the change, whatever happens later.
func TestAnswersOfActs(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	wanted := o.made(task.NewTask{})[0]
	request := task.TaskRequest("k", lifecycle.TaskActionClaim, wanted.ID, lifecycle.TaskInput{Actor: o.bob.ID, Comment: "c"})
	act := func(by int64, action lifecycle.TaskAction, to lifecycle.TaskState) error {
		_, err := o.actAs(request.ID(), wanted, by, action, lifecycle.TaskInput{To: to})
		return err
	}

	o.must(act(o.bob.ID, lifecycle.TaskActionClaim, ""))
	if err := act(o.bob.ID, lifecycle.TaskActionStatus, lifecycle.TaskBlocked); fault.CodeOf(err) != fault.Validation {
		t.Errorf("not what the key asked for: %v", err)
	}
	o.move(wanted, lifecycle.TaskNew, &o.bob.ID)
	if err := act(o.ann.ID, lifecycle.TaskActionClaim, ""); fault.CodeOf(err) != fault.Validation {
		t.Errorf("the key of somebody else: %v", err)
	}

	var first task.Answer
	found, err := o.Answers.Answered(t.Context(), request, &first)
	o.must(err)
	if !found || first.Refusal != nil || first.Task.Version != 2 || !first.Task.HeldBy(o.bob.ID) || first.Task.StartedAt == nil || first.Task.Title == "" {
		t.Errorf("%v, %+v", found, first)
	}

	refusal := fault.New(fault.TaskAlreadyClaimed, "taken")
	kept, err := core.KeepAnswer(t.Context(), o.Answers, request, task.Answer{Refusal: refusal})
	if err != nil || kept.Refusal != nil || kept.Task.Version != 2 {
		t.Errorf("what was done is denied: %+v, %v", kept, err)
	}

	other := task.TaskRequest("k", lifecycle.TaskActionEscalate, wanted.ID, lifecycle.TaskInput{Actor: o.bob.ID, Comment: "c"})
	if kept, err = core.KeepAnswer(t.Context(), o.Answers, other, task.Answer{Refusal: refusal}); err != nil || kept.Refusal == nil {
		t.Errorf("another request got %+v, %v", kept, err)
	}
}

// TestAnswerIsWhatTheRecordHas compares the answer to each kind of action with the row read afterwards.
func TestAnswerIsWhatTheRecordHas(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(w *task.Workspace) { w.ReviewRequired = true })
	row := o.made(task.NewTask{})[0]
	number, title := int64(3), "another title"
	for i, c := range []struct {
		by      int64
		action  lifecycle.TaskAction
		in      lifecycle.TaskInput
		content *task.Content
	}{
		{o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{LeaseSeconds: 60}, nil},
		{o.bob.ID, lifecycle.TaskActionSubmit, lifecycle.TaskInput{}, &task.Content{Result: []byte(`{"a": 1}`)}},
		{o.ann.ID, lifecycle.TaskActionApprove, lifecycle.TaskInput{Submission: number}, nil},
		{o.ann.ID, lifecycle.TaskActionEdit, lifecycle.TaskInput{}, &task.Content{Edit: task.Edit{Title: &title}}},
		{o.ann.ID, lifecycle.TaskActionEscalate, lifecycle.TaskInput{}, nil},
		{o.bob.ID, lifecycle.TaskActionStatus, lifecycle.TaskInput{To: lifecycle.TaskNew}, nil},
		{o.ann.ID, lifecycle.TaskActionStatus, lifecycle.TaskInput{To: lifecycle.TaskCancelled}, nil},
	} {
		id := fmt.Sprint("request ", i)
		c.in.Actor, c.in.Comment = c.by, "c"
		if c.content != nil {
			o.must(o.Answers.KeepContent(t.Context(), c.by, id, c.content))
		}
		_, err := o.actAs(id, row, c.by, c.action, c.in)
		o.must(err)

		var answer task.Answer
		_, err = o.Answers.Answered(t.Context(), core.RequestIn(id, c.by, task.TaskRequest("", c.action, row.ID, c.in).Asked), &answer)
		o.must(err)
		want, err := o.Tasks.ByID(t.Context(), 0, row.ID)
		o.must(err)
		if got, want := asJSON(answer.Task), asJSON(want); got != want {
			t.Errorf("%s was answered\n%s\nand the record has\n%s", c.action, got, want)
		}
	}
}

func asJSON(row any) string {
	text, _ := json.Marshal(row)
	return string(text)
}

// TestTaskStats counts a small history.
func TestTaskStats(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{}, task.NewTask{}, task.NewTask{})
	o.move(made[0], lifecycle.TaskInProgress, &o.bob.ID)
	o.move(made[0], lifecycle.TaskDone, &o.bob.ID)
	o.move(made[1], lifecycle.TaskCancelled, nil)

	o.expire(made[2].ID)
	_, err := o.act(made[2], o.bob.ID, lifecycle.TaskActionTakeover, lifecycle.TaskInput{})
	o.must(err)
	_, err = o.act(made[2], o.ann.ID, lifecycle.TaskActionEscalate, lifecycle.TaskInput{})
	o.must(err)

	stats, err := o.Tasks.Stats(t.Context(), o.Workspace.ID, time.Now().Add(-time.Hour))
	o.must(err)
	if stats.Created != 3 || stats.Done != 1 || stats.Cancelled != 1 || stats.Takeovers != 1 || stats.Escalations != 1 || stats.Expiries != 1 ||
		stats.LeadTime == nil || *stats.LeadTime < *stats.CycleTime || stats.CycleTimeMedian == nil {
		t.Errorf("%+v", stats)
	}

	later, err := o.Tasks.Stats(t.Context(), o.Workspace.ID, time.Now().Add(time.Hour))
	if err != nil || later.Created+later.Done+later.Takeovers != 0 || later.LeadTime != nil {
		t.Errorf("%+v, %v", later, err)
	}
}

// TestRecordKeepsItsPromises tries to write what must never exist.
func TestRecordKeepsItsPromises(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	task := o.made(task.NewTask{})[0]
	db := testdb.DB(t, o.url)
	for _, change := range []string{
		`status = 'STUCK', status_deadline_at = now()`, `status = 'DONE', status_deadline_at = NULL`,
		`status = 'IN_PROGRESS'`,
		`status = 'CANCELLED', status_deadline_at = NULL`, `release_at = now()`, `clock_waits = true`, `title = ''`,
		`visibility = 'secret'`,
	} {
		if _, err := db.Exec(t.Context(), `UPDATE tasks SET `+change+` WHERE id = $1`, task.ID); err == nil {
			t.Errorf("the record took: %s", change)
		}
	}
}

// TestWorkspaceChangesTogether changes different settings of a workspace concurrently: none is lost.
func TestWorkspaceChangesTogether(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := o.Tasks.ChangeWorkspace(t.Context(), o.Workspace.ID, core.Request{}, func(w *task.Workspace) error {
				w.StuckReleaseAfter++
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}

	all.Wait()
	now, err := o.Tasks.WorkspaceByID(t.Context(), 0, o.Workspace.ID)
	o.must(err)
	if now.StuckReleaseAfter != 20 {
		t.Errorf("%g of 20 changes are there", now.StuckReleaseAfter)
	}
	if _, err := o.Tasks.ChangeWorkspace(t.Context(), 987654, core.Request{}, func(*task.Workspace) error { return nil }); fault.CodeOf(err) != fault.WorkspaceNotFound {
		t.Errorf("got %v", err)
	}
}
