package waiting

import (
	"context"
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// readyTask is a record in which one task is ready, whatever is asked for.
type readyTask struct{ task.Ready }

func (r readyTask) ReadyAmong(context.Context, []int64, []int64, []int64) ([]task.Ready, error) {
	return []task.Ready{r.Ready}, nil
}

var ready = task.Ready{ID: 7, WorkspaceID: 2, Priority: "high", Labels: []string{"docs", "go"}, Members: []int64{1, 2}}

// heard is the event that makes the task ready.
var heard = []core.StreamedEvent{{Workload: lifecycle.WorkloadTask, EntityID: "7", To: string(lifecycle.TaskNew)}}

// join adds a waiter who has looked, found nothing, and rests.
func join(t *testing.T, q *Queue, user int64, wish task.Wish) *Waiter {
	t.Helper()
	w, err := q.Join(account.User{ID: user}, wish)
	if err != nil {
		t.Fatal(err)
	}
	if again, stopped := q.endLook(w); again || stopped {
		t.Fatal("a waiter that has missed nothing looks again, or the queue has stopped")
	}
	return w
}

// woken waits for a waiter's wake.
func woken(t *testing.T, w *Waiter) {
	t.Helper()
	select {
	case <-w.woken:
	case <-time.After(time.Minute):
		t.Fatal("the waiter was not woken")
	}
}

// TestOfferIsPassedOn wants an offer to reach the next waiter when the first one leaves without the task, and when it
// looks and finds nothing.
func TestOfferIsPassedOn(t *testing.T) {
	t.Parallel()
	q := New(Options{Store: readyTask{ready}})
	first, second, third := join(t, q, 1, task.Wish{}), join(t, q, 2, task.Wish{}), join(t, q, 1, task.Wish{})
	q.Hear(t.Context(), heard)

	woken(t, first)
	q.Leave(first, nil)
	woken(t, second)
	if !q.begin(second) {
		t.Fatal("the queue has stopped")
	}
	q.endLook(second)

	woken(t, third)
	q.begin(third)
	q.Leave(third, &task.Task{ID: ready.ID})
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(second.offers) != 0 {
		t.Error("a task that was taken is offered again")
	}
}

// TestOffersFit wakes the waiters that want a task of this kind, and no others.
func TestOffersFit(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		wish task.Wish
		want bool
	}{
		"any":                 {task.Wish{}, true},
		"its workspace":       {task.Wish{WorkspaceID: 2}, true},
		"another workspace":   {task.Wish{WorkspaceID: 3}, false},
		"a member":            {task.Wish{MemberID: 2}, true},
		"somebody else":       {task.Wish{MemberID: 3}, false},
		"less urgent is fine": {task.Wish{Priority: "normal"}, true},
		"its priority":        {task.Wish{Priority: "high"}, true},
		"more urgent":         {task.Wish{Priority: "critical"}, false},
		"its labels":          {task.Wish{Labels: []string{"go", "docs"}}, true},
		"a label more":        {task.Wish{Labels: []string{"go", "sql"}}, false},
	} {
		q := New(Options{Store: readyTask{ready}})
		w, last := join(t, q, 1, c.wish), join(t, q, 2, task.Wish{})
		q.Hear(t.Context(), heard)

		if !c.want {
			woken(t, last) // the offer has passed the first one
			if len(w.woken) != 0 {
				t.Errorf("%s: the waiter was woken", what)
			}
			continue
		}
		woken(t, w)
	}
}

// TestWaitersAreLimited wants a bound for each user who is no administrator, and one for the process.
func TestWaitersAreLimited(t *testing.T) {
	t.Parallel()
	q := New(Options{PerUser: 1, InAll: 3})
	user, admin := account.User{ID: 1}, account.User{ID: 2, Role: account.RoleAdmin, Status: account.UserActive}
	for i, c := range []struct {
		user account.User
		want fault.Code
	}{
		{user, ""}, {user, fault.QuotaExceeded}, {admin, ""}, {admin, ""}, {admin, fault.RateLimited},
	} {
		if _, err := q.Join(c.user, task.Wish{}); fault.CodeOf(err) != c.want {
			t.Errorf("join %d: %v, want %q", i+1, err, c.want)
		}
	}
}

// TestChoosersKeepApart wants callers who choose at the same time to get different tasks, and a task that was let go to
// be chosen again.
func TestChoosersKeepApart(t *testing.T) {
	t.Parallel()
	var a Attempts
	var without [][]int64
	choose := func() int64 {
		t.Helper()
		id, err := a.Choose(func(tried []int64, _ int) ([]int64, error) {
			without = append(without, tried)
			if len(tried) == 2 {
				return nil, nil
			}
			return []int64{7, 8}, nil // as a reader sees them that began before the others chose
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}

	if first, second, third := choose(), choose(), choose(); first != 7 || second != 8 || third != 0 {
		t.Errorf("chosen %d, %d, %d", first, second, third)
	}
	if len(without[0]) != 0 || !slices.Equal(without[1], []int64{7}) || len(without[2]) != 2 {
		t.Errorf("the readers were told that others try %v", without)
	}

	a.LetGo(7)
	if again := choose(); again != 7 {
		t.Errorf("chosen %d after it was let go", again)
	}
}
