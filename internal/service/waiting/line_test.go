package waiting

import (
	"context"
	"slices"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// becameReady returns events that make this many tasks ready.
func becameReady(n int) (events []core.StreamedEvent) {
	for range n {
		events = append(events, core.StreamedEvent{Workload: lifecycle.WorkloadTask, To: string(lifecycle.TaskNew)})
	}
	return events
}

// inLine makes a line of this many callers who have checked and found nothing.
func inLine(t *testing.T, n int) (l *Line, callers []*Caller) {
	t.Helper()
	l = NewLine(0, nil)
	for range n {
		c, err := l.Join(account.User{ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		callers = append(callers, c)
	}
	return l, callers
}

// woken lists the positions of the callers who have a reason to check.
func woken(callers []*Caller) (places []int) {
	for i, c := range callers {
		if len(c.woken) > 0 {
			places = append(places, i)
		}
	}
	return places
}

// lookInVain lets a woken caller check and find nothing.
func lookInVain(t *testing.T, l *Line, c *Caller) {
	t.Helper()
	if !l.Rest(t.Context(), c, nil) {
		t.Fatal("a woken caller does not look")
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	l.Rest(gone, c, nil)
}

// TestLineWakesAsManyAsTasks wakes callers in order, for each kind of event that makes a task ready.
func TestLineWakesAsManyAsTasks(t *testing.T) {
	t.Parallel()
	l, callers := inLine(t, 5)
	l.Hear(becameReady(2))
	if got := woken(callers); !slices.Equal(got, []int{0, 1}) {
		t.Errorf("two tasks wake %v", got)
	}

	l.Hear([]core.StreamedEvent{
		{Workload: lifecycle.WorkloadTask, To: string(lifecycle.TaskInProgress)},
		{Workload: lifecycle.WorkloadDelivery, To: string(lifecycle.TaskNew)},
		{Workload: lifecycle.WorkloadTask, To: string(lifecycle.TaskDone)},
		{Workload: lifecycle.WorkloadTask, Type: lifecycle.TaskEdited},
	})
	if got := woken(callers); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("after an end and an edit %v are awake", got)
	}

	l.Hear(becameReady(10)) // more than callers
	if got := woken(callers); len(got) != len(callers) {
		t.Errorf("%v are awake", got)
	}
}

// TestWakesArePassedOn requires the next caller to check if one has found nothing, has left before checking, or has got
// a task.
func TestWakesArePassedOn(t *testing.T) {
	t.Parallel()
	l, callers := inLine(t, 5)
	l.Hear(becameReady(1))
	lookInVain(t, l, callers[0])
	if got := woken(callers); !slices.Equal(got, []int{1}) {
		t.Fatalf("after a look in vain %v are awake", got)
	}

	l.Leave(callers[1], false)
	if got := woken(callers); !slices.Equal(got, []int{2}) {
		t.Fatalf("after a caller has gone %v are awake", got)
	}

	if !l.Rest(t.Context(), callers[2], nil) {
		t.Fatal("a woken caller does not look")
	}
	l.Leave(callers[2], true)
	if got := woken(callers); !slices.Equal(got, []int{3}) {
		t.Fatalf("after a caller has got a task %v are awake", got)
	}

	lookInVain(t, l, callers[3]) // no other task became ready
	if got := woken(callers); got != nil {
		t.Errorf("%v are awake", got)
	}
}

// TestWakesEnd bounds the checks for a task that fits nobody.
func TestWakesEnd(t *testing.T) {
	t.Parallel()
	l, callers := inLine(t, 2*mostPasses)
	l.Hear(becameReady(1))

	looks := 0
	for got := woken(callers); got != nil; got = woken(callers) {
		lookInVain(t, l, callers[got[0]])
		looks++
	}
	if looks != mostPasses {
		t.Errorf("%d callers have looked, want %d", looks, mostPasses)
	}
}

// TestLineIsLimited requires a limit per person with their agents, administrators excepted, and one per process, and
// lets nobody wait after Stop.
func TestLineIsLimited(t *testing.T) {
	t.Parallel()
	last := 0
	l := NewLine(1, func(n int) { last = n })
	user, admin := account.User{ID: 1}, account.User{ID: 2, Role: account.RoleAdmin, Status: account.UserActive}
	agent, adminsAgent := account.User{ID: 3, OwnerID: &user.ID}, account.User{ID: 4, OwnerID: &admin.ID}
	join := func(user account.User, want fault.Code) *Caller {
		t.Helper()
		c, err := l.Join(user)
		if fault.CodeOf(err) != want {
			t.Fatalf("with %d in line: %v, want %q", last, err, want)
		}
		return c
	}

	first := join(user, "")
	join(user, fault.QuotaExceeded)
	join(agent, fault.QuotaExceeded)
	for range mostWaiting - 2 {
		join(admin, "")
	}
	join(adminsAgent, "")
	join(admin, fault.RateLimited)

	l.Leave(first, false)
	if last != mostWaiting-1 {
		t.Errorf("%d wait", last)
	}
	again := join(user, "")
	l.Stop()
	if l.Rest(t.Context(), again, nil) {
		t.Error("a caller rests in a process that stops")
	}
}

// TestEachTriesAnotherTask requires concurrent callers to try different tasks, and a task whose try has ended to be
// tried again.
func TestEachTriesAnotherTask(t *testing.T) {
	t.Parallel()
	var tried Tries
	few := tried.Choices()
	ready := []int64{7, 8}
	if first, second, third := tried.Begin(ready), tried.Begin(ready), tried.Begin(ready); first != 7 || second != 8 || third != 0 {
		t.Errorf("tried %d, %d, %d", first, second, third)
	}
	if more := tried.Choices(); more <= few {
		t.Errorf("with two tries under way a caller reads %d tasks, %d without", more, few)
	}

	tried.End(7)
	if again := tried.Begin(ready); again != 7 {
		t.Errorf("tried %d after the end of its try", again)
	}
}
