package task_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/wait"
	"stagecoach/internal/feed"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/waiting"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// process returns the service of another API process, with its own feed that runs until stop.
func (w *rig) process(change func(*tasks.Service)) (remote *tasks.Service, stop func()) {
	w.Helper()
	remote = &tasks.Service{
		Temporal: w.client, Store: w.store, Log: w.tasks.Log, Patience: w.tasks.Patience,
		Line: waiting.NewLine(0, nil),
	}
	if change != nil {
		change(remote)
	}

	events := feed.New(feed.Options{
		Events: w.store.Notices, Tokens: w.store.Accounts, Webhooks: w.store.Webhooks,
		OnEvents: remote.Line.Hear, Permit: func(account.Holder) error { return nil },
		Render: func(core.StreamedEvent) ([]byte, error) { return nil, nil },
	})
	ctx, cancel := context.WithCancel(w.Context())
	done := make(chan struct{})
	go func() { events.Run(ctx); close(done) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	w.Cleanup(stop)
	return remote, stop
}

// asked is the answer to a request for the next task.
type asked struct {
	*rig
	done chan struct{}
	task *task.Task
	err  error
}

// ask requests the next task for a user.
func (w *rig) ask(ctx context.Context, remote *tasks.Service, user account.User, want tasks.Next, key string) *asked {
	want.Comment = "mine"
	a := &asked{rig: w, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.task, a.err = remote.ClaimNext(ctx, user, want, key)
	}()
	return a
}

// got waits for the answer: a task's id, 0 for none.
func (a *asked) got() int64 {
	a.Helper()
	<-a.done
	a.must(a.err)
	if a.task == nil {
		return 0
	}
	return a.task.ID
}

// waits checks that there is no answer for a while.
func (a *asked) waits() *asked {
	a.Helper()
	select {
	case <-a.done:
		a.Fatalf("answered %v %v at once", a.task, a.err)
	case <-time.After(500 * time.Millisecond):
	}
	return a
}

var long = tasks.Next{Wait: 2 * time.Minute}

// TestNextIsTheBest requests one task after the other, with wishes and without.
func TestNextIsTheBest(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	agent := w.member()
	blocker := w.task(func(n *task.NewTask) { n.AssigneeID = &w.creator.ID })
	made := func(priority string, labels ...string) int64 {
		return w.task(func(n *task.NewTask) { n.Priority, n.Labels = priority, labels }).ID
	}
	low, normal, high := made("low", "docs"), made("normal", "docs", "go"), made("high")
	later, critical := made("high", "go"), made("critical")
	w.task(func(n *task.NewTask) { n.Priority, n.BlockedBy = "critical", []string{fmt.Sprint(blocker.ID)} })
	w.task(func(n *task.NewTask) { n.Priority, n.Visibility = "critical", "private" })
	w.task(func(n *task.NewTask) { n.Priority, n.AssigneeID = "critical", &agent.ID })

	for i, c := range []struct {
		want tasks.Next
		id   int64
	}{
		{tasks.Next{Labels: []string{"docs", "go"}}, normal},
		{tasks.Next{Labels: []string{"docs", "go"}}, 0},
		{tasks.Next{WorkspaceID: w.workspace.ID}, critical},
		{tasks.Next{Priority: "critical"}, 0},
		{tasks.Next{Priority: "high"}, high},
		{tasks.Next{Priority: "normal"}, later},
		{tasks.Next{Priority: "normal"}, 0},
		{tasks.Next{Labels: []string{"docs"}, Priority: "low"}, low},
		{tasks.Next{}, 0},
	} {
		if got := w.ask(t.Context(), w.tasks, agent, c.want, "").got(); got != c.id {
			t.Errorf("%d: asked for %+v and got task %d, want %d", i, c.want, got, c.id)
		}
	}
}

// TestNextWakes lets agents wait for what makes a task ready: its creation, its return, the end of its last blocker,
// and a new label.
func TestNextWakes(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	remote, _ := w.process(nil)
	agent := w.member()

	waiting := w.ask(t.Context(), remote, agent, long, "").waits()
	first := w.task(nil)
	if got := waiting.got(); got != first.ID {
		t.Errorf("created: got %d, want %d", got, first.ID)
	}

	waiting = w.ask(t.Context(), remote, w.creator, long, "").waits()
	second := w.task(func(n *task.NewTask) { n.BlockedBy = []string{fmt.Sprint(first.ID)} })
	waiting.waits()
	_, err := w.tasks.Status(t.Context(), agent, first.ID, lifecycle.TaskDone, "done", "")
	w.must(err)
	if got := waiting.got(); got != second.ID {
		t.Errorf("unblocked: got %d, want %d", got, second.ID)
	}

	waiting = w.ask(t.Context(), remote, agent, long, "").waits()
	_, err = w.tasks.Status(t.Context(), w.creator, second.ID, lifecycle.TaskNew, "free", "")
	w.must(err)
	if got := waiting.got(); got != second.ID {
		t.Errorf("given back: got %d, want %d", got, second.ID)
	}

	third := w.task(nil)
	waiting = w.ask(t.Context(), remote, agent, tasks.Next{Labels: []string{"go"}, Wait: long.Wait}, "").waits()
	w.exec(`WITH edited AS (UPDATE tasks SET labels = '{go}', last_seq = last_seq + 1 WHERE id = $1 RETURNING last_seq)
		INSERT INTO events (workload, entity_id, seq, type, from_state, to_state) SELECT 'task', $1::bigint::text, last_seq, 'edited', '', '' FROM edited`, third.ID)
	if got := waiting.got(); got != third.ID {
		t.Errorf("edited: got %d, want %d", got, third.ID)
	}
}

// TestNextByWish lets agents wait with and without wishes: a task goes to a caller who wants it, and callers that have
// left get nothing. The order among equal wishes is tested in the line's own tests.
func TestNextByWish(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	remote, stop := w.process(nil)
	agent, stranger := w.member(), w.user(account.RoleUser)
	goes, leave := context.WithCancel(t.Context())

	outside := w.ask(t.Context(), remote, stranger, long, "").waits()
	picky := w.ask(t.Context(), remote, agent, tasks.Next{Labels: []string{"go"}, Wait: long.Wait}, "").waits()
	urgent := w.ask(t.Context(), remote, agent, tasks.Next{Priority: "high", Wait: long.Wait}, "").waits()
	gone := w.ask(goes, remote, agent, long, "").waits()
	gone2 := w.ask(goes, remote, agent, long, "key-of-the-gone").waits()
	anything := w.ask(t.Context(), remote, agent, long, "").waits()
	leave()
	<-gone.done
	<-gone2.done

	one := w.task(nil)
	if got := anything.got(); got != one.ID {
		t.Errorf("who wants anything got %d, want %d", got, one.ID)
	}

	two := w.task(func(n *task.NewTask) { n.Priority = "critical" })
	if got := urgent.got(); got != two.ID {
		t.Errorf("who wants urgent work got %d, want %d", got, two.ID)
	}

	three := w.task(func(n *task.NewTask) { n.Labels = []string{"docs", "go"} })
	if got := picky.got(); got != three.ID {
		t.Errorf("the picky one got %d, want %d", got, three.ID)
	}

	outside.waits()
	remote.Line.Stop()
	stop()
	if got := outside.got(); got != 0 {
		t.Errorf("a stranger got %d", got)
	}
	if got := w.ask(t.Context(), remote, stranger, long, "").got(); got != 0 {
		t.Errorf("a stranger got %d", got)
	}
	if gone.err == nil || gone2.err == nil || gone.task != nil || gone2.task != nil {
		t.Errorf("who has gone got %v %v, %v %v", gone.task, gone.err, gone2.task, gone2.err)
	}
}

// TestNextForEachCaller lets many callers in two processes, all of one user, request fewer tasks, which come one by one
// or together: each task goes to one of them, whatever they wish, and no task that a caller waits for is left.
func TestNextForEachCaller(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	const callers, ready, more = 60, 20, 30
	agent := w.member()
	claims := &counting{Client: w.client}
	count := func(c *tasks.Service) { c.Temporal = claims }
	here, _ := w.process(count)
	there, _ := w.process(count)
	add := func(n int) {
		for range n {
			w.task(func(n *task.NewTask) { n.Labels = []string{"go"} })
		}
	}
	add(ready)

	ctx, leave := context.WithCancel(t.Context())
	var all []*asked
	for i := range callers {
		want, key := long, ""
		if i%6 == 0 { // the others could take all tasks
			want.Labels = []string{"go"}
		}
		if i%2 == 0 {
			key = fmt.Sprint("caller-", i)
		}
		all = append(all, w.ask(ctx, []*tasks.Service{here, there}[i/2%2], agent, want, key))
	}

	add(more / 2)
	graph := make([]task.NewTask, more/2)
	for i := range graph {
		graph[i].Title = "a task of a batch"
	}
	_, err := w.tasks.CreateBatch(t.Context(), w.creator, w.workspace.ID, graph, "")
	w.must(err)

	answered := func() (n int) {
		for _, one := range all {
			select {
			case <-one.done:
				n++
			default:
			}
		}
		return n
	}

	wait.Eventually(w, "there is a task for each of them", func() bool { return answered() >= ready+more })
	time.Sleep(time.Second)
	leave()

	had, failures := map[int64]int{}, map[string]int{}
	for i, one := range all {
		<-one.done
		switch {
		case one.task != nil:
			had[one.task.ID]++
		case one.err == nil:
			t.Errorf("caller %d got neither a task nor an error", i)
		default:
			failures[one.err.Error()]++
		}
	}

	if len(had) != ready+more {
		t.Errorf("%d tasks were given out, want %d; the others got %v", len(had), ready+more, failures)
	}
	if sent := claims.sent(); sent > 3*(ready+more) {
		t.Errorf("%d claims were sent for %d tasks", sent, ready+more)
	}
	for id, n := range had {
		found, err := w.store.Tasks.ByID(t.Context(), 0, id)
		if n != 1 || err != nil || !found.HeldBy(agent.ID) || len(w.events(found)) != 2 {
			t.Errorf("task %d has %d callers; %+v, %v, %v", id, n, found.Snapshot, w.events(found), err)
		}
	}
}

// TestNextKeepsItsChoice ends processes at any step of a request with a key: the same request in another process gets
// the same task.
func TestNextKeepsItsChoice(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	agent, other := w.member(), w.member()
	want := tasks.Next{Comment: "mine"}
	next := func(key string, remote *tasks.Service) int64 {
		t.Helper()
		found, err := remote.ClaimNext(t.Context(), agent, want, key)
		w.must(err)
		if found == nil {
			return 0
		}
		return found.ID
	}

	if got := next("k", w.tasks); got != 0 { // it is not stored
		t.Errorf("without a task: got %d", got)
	}

	first, second := w.task(nil), w.task(nil)
	if got := next("k", w.tasks); got != first.ID {
		t.Errorf("got %d, want %d", got, first.ID)
	}

	// the process has chosen, and no more
	w.choose(agent, "chosen", "k", second.ID)
	later := w.task(func(n *task.NewTask) { n.Priority = "critical" })
	if got := next("chosen", w.tasks); got != second.ID {
		t.Errorf("got %d, want the chosen %d", got, second.ID)
	}
	if got := next("chosen", w.tasks); got != second.ID {
		t.Errorf("again: got %d, want %d", got, second.ID)
	}

	// the chosen task goes to someone else, and comes back
	w.choose(agent, "lost", "k", later.ID)
	_, err := w.tasks.Claim(t.Context(), other, later.ID, "mine", "")
	w.must(err)
	if got := next("lost", w.tasks); got != 0 {
		t.Errorf("the lost choice gave %d", got)
	}

	another := w.task(nil)
	if got := next("lost", w.tasks); got != another.ID {
		t.Errorf("after a lost choice: got %d, want %d", got, another.ID)
	}
	_, err = w.tasks.Status(t.Context(), other, later.ID, lifecycle.TaskNew, "free", "")
	w.must(err)
	if got := next("lost", w.tasks); got != another.ID {
		t.Errorf("again: got %d, want %d", got, another.ID)
	}
	if got := next("k", w.tasks); got != first.ID {
		t.Errorf("the first key: got %d, want %d", got, first.ID)
	}
	if got := next("new", w.tasks); got != later.ID {
		t.Errorf("a new key: got %d, want %d", got, later.ID)
	}
}

// choose writes what a process does before it claims a task: the request of key is like that of the key like.
func (w *rig) choose(user account.User, key, like string, id int64) {
	w.Helper()
	w.exec(`INSERT INTO answers (user_id, key, request, answer)
		SELECT user_id, $2, request, jsonb_build_object('id', $4::bigint, 'try', 1) FROM answers WHERE user_id = $1 AND key = $3`,
		user.ID, key, like, id)
}

// TestNextForNobody lets callers leave while their claim is in flight: without a key the task is returned.
func TestNextForNobody(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	agent := w.member()
	free := w.task(nil)
	ctx, leave := context.WithCancel(t.Context())
	remote, _ := w.process(func(c *tasks.Service) { c.Temporal = &leaving{Client: c.Temporal, leave: leave} })
	waits := w.ask(t.Context(), remote, agent, tasks.Next{Priority: "critical", Wait: long.Wait}, "")

	got := w.ask(ctx, remote, agent, tasks.Next{}, "")
	<-got.done
	if now := w.reload(free); got.task != nil || got.err == nil || now.AssigneeID != nil || now.State != lifecycle.TaskNew {
		t.Errorf("who has gone got %v, %v; the task is %+v", got.task, got.err, now.Snapshot)
	}
	if events := w.events(free); !slices.Equal(events, []string{"created", "claimed", "status_changed"}) {
		t.Errorf("its events are %v", events)
	}

	ctx, leave = context.WithCancel(t.Context())
	remote.Temporal.(*leaving).leave = leave
	got = w.ask(ctx, remote, agent, tasks.Next{}, "k")
	<-got.done
	if now := w.reload(free); !now.HeldBy(agent.ID) {
		t.Errorf("with a key the task is %+v", now.Snapshot)
	}
	if again := w.ask(t.Context(), w.tasks, agent, tasks.Next{}, "k").got(); again != free.ID {
		t.Errorf("who comes back gets %d, want %d", again, free.ID)
	}

	ctx, leave = context.WithCancel(t.Context())
	leave()
	another := w.task(nil)
	<-w.ask(ctx, remote, agent, tasks.Next{}, "").done
	if now := w.reload(another); now.AssigneeID != nil || now.Version != another.Version {
		t.Errorf("for nobody the task is %+v", now.Snapshot)
	}
	waits.waits()
	remote.Line.Stop()
	<-waits.done
}

// counting is a Temporal that counts the claims sent. One that is sent again when an answer is late is one claim.
type counting struct {
	client.Client
	claims sync.Map // by workflow and update
}

func (c *counting) sent() (n int) {
	c.claims.Range(func(any, any) bool { n++; return true })
	return n
}

func (c *counting) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if o.UpdateName == string(lifecycle.TaskActionClaim) {
		c.claims.Store([2]string{o.WorkflowID, o.UpdateID}, true)
	}
	return c.Client.UpdateWorkflow(ctx, o)
}

// leaving is a Temporal whose caller leaves when a claim is sent.
type leaving struct {
	client.Client
	leave func()
}

func (l *leaving) UpdateWorkflow(ctx context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if o.UpdateName == string(lifecycle.TaskActionClaim) {
		l.leave()
	}
	return l.Client.UpdateWorkflow(ctx, o)
}
