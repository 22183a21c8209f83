package task

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

func leased(seconds int64) lifecycle.TaskInput {
	return lifecycle.TaskInput{Actor: assigneeID, Comment: "c", LeaseSeconds: seconds}
}

// TestLeaseEndsTheClaim lets an assignee send heartbeats for a while and then fall silent. The earlier of lease and
// deadline ends the status, and the event says which.
func TestLeaseEndsTheClaim(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, c := range map[string]struct {
		lease  int64
		renews int // one heartbeat per minute
		event  string
		spent  int
	}{
		"never renewed":        {120, 0, lifecycle.TaskLapsed, 2},
		"renewed ten times":    {120, 10, lifecycle.TaskLapsed, 12},
		"the deadline is soon": {86_400, 0, lifecycle.TaskExpired, 60},
		"renewed for too long": {120, 100, lifecycle.TaskExpired, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := o.rig(t, settings{})
			l.at(0, func() { l.must("claim", leased(c.lease)) })
			for i := range c.renews {
				l.at(time.Duration(i+1)*time.Minute, func() { l.heartbeat(l.Now()) })
			}
			l.at(24*time.Hour, func() { l.CancelWorkflow() })
			l.run()

			what := "Status deadline"
			if c.event == lifecycle.TaskLapsed {
				what = "Lease"
			}
			want := fmt.Sprintf("%s expired. Was in IN_PROGRESS for %d minutes.", what, c.spent)
			if got := l.events(2)[0]; got.Type != c.event || got.Comment != want {
				t.Errorf("got %+v", got)
			}
			if l.row().LeaseExpiresAt != nil {
				t.Error("the lease is still there")
			}
		})
	}
}

// TestAHolderAsksForALeaseLater claims a task again, like an agent that began without a lease. From then on silence
// ends the claim.
func TestAHolderAsksForALeaseLater(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, c := range map[string]struct {
		first, second int64 // lease; 0: none
		event         string
		spent         int
	}{
		"no lease, then one":        {0, 120, lifecycle.TaskLapsed, 12},
		"a lease, then a longer":    {900, 1800, lifecycle.TaskLapsed, 40},
		"a lease, then a shorter":   {900, 60, lifecycle.TaskLapsed, 11},
		"a lease, then none asked":  {900, 0, lifecycle.TaskLapsed, 15},
		"never one":                 {0, 0, lifecycle.TaskExpired, 60},
		"later than the deadline's": {0, 86_400, lifecycle.TaskExpired, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := o.rig(t, settings{})
			l.at(0, func() { l.must("claim", leased(c.first)) })
			l.at(10*time.Minute, func() { l.must("claim", leased(c.second)) })
			l.at(24*time.Hour, func() { l.CancelWorkflow() })
			l.run()

			if got := l.events(2)[0]; got.Type != c.event ||
				!strings.HasSuffix(got.Comment, fmt.Sprintf("for %d minutes.", c.spent)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestLeaseIsKeptWhileBlocked ends the claim of a silent assignee on a BLOCKED task, too.
func TestLeaseIsKeptWhileBlocked(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
	l.at(0, func() { l.must("claim", leased(600)) })
	l.at(time.Minute, func() { l.must("status", byAssignee(lifecycle.TaskBlocked)) })
	l.at(24*time.Hour, func() { l.CancelWorkflow() })
	l.run()
	if got := l.events(3)[0]; got.From != "BLOCKED" || got.Type != lifecycle.TaskLapsed || got.Comment != "Lease expired. Was in BLOCKED for 9 minutes." {
		t.Errorf("got %+v", got)
	}
}

// TestStaleToken refuses actions under an ended claim, and applies the table to actions that name no claim.
func TestStaleToken(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
	var first int64
	refused := func(action lifecycle.TaskAction, in lifecycle.TaskInput) {
		l.ask(action, in, func(_ lifecycle.TaskView, err error) {
			if refusal := temporalio.RefusalIn(err); refusal == nil || refusal.Code != fault.LeaseLost {
				t.Errorf("%s %+v: %v", action, in, err)
			}
		})
	}
	with := func(in lifecycle.TaskInput, token int64) lifecycle.TaskInput { in.FencingToken = token; return in }

	l.at(0, func() {
		l.ask("claim", leased(120), func(v lifecycle.TaskView, _ error) { first = v.FencingToken })
	})
	l.at(time.Minute, func() {
		l.must("status", with(byAssignee(lifecycle.TaskBlocked), first)) // valid in both states of work
		refused("status", with(byAssignee(lifecycle.TaskInProgress), first+1))
	})
	l.at(10*time.Minute, func() { // STUCK, by the lease
		refused("status", with(byAssignee(lifecycle.TaskInProgress), first))
		refused("takeover", with(lifecycle.TaskInput{Actor: memberID, Comment: "c"}, first))
		l.must("takeover", lifecycle.TaskInput{Actor: memberID, Comment: "c", LeaseSeconds: 60})
	})
	l.at(10*time.Minute+later, func() {
		if row := l.row(); row.FencingToken <= first || row.LeaseExpiresAt == nil {
			t.Errorf("after the takeover: %+v", row)
		}
		refused("status", with(byAssignee(lifecycle.TaskDone), first))
		refused("status", with(lifecycle.TaskInput{Actor: memberID, Comment: "c", To: lifecycle.TaskDone}, first))
	})
	l.at(20*time.Minute, func() { // STUCK again: without a token the seed's rules decide
		l.must("status", lifecycle.TaskInput{Actor: memberID, Comment: "c", To: lifecycle.TaskInProgress})
	})
	l.at(21*time.Minute, func() {
		l.must("status", lifecycle.TaskInput{Actor: memberID, Comment: "c", To: lifecycle.TaskDone})
	})
	l.run()
}

// TestNightDayOfRenewals counts the cost of a one-minute lease over a day: one read of the record for each renewed
// lease, and a history that continues as new.
func TestNightDayOfRenewals(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const day = 24 * 60
	l := newOffice(t).rig(t, settings{deadlines: map[lifecycle.TaskState]time.Duration{}})
	l.at(0, func() { l.must("claim", leased(60)) })
	var heartbeat func()
	heartbeat = func() { l.heartbeat(l.Now()); l.at(20*time.Second, heartbeat) }
	l.at(time.Second, heartbeat)
	l.at(day*time.Minute, func() { l.SetContinueAsNewSuggested(true); l.SignalWorkflow(lifecycle.TaskRefreshSignal, nil) })
	l.run()

	// A read finds a lease at most 20 seconds old: the next one is at least 40 seconds later.
	if events := l.events(1); len(l.acts) > day*60/40+1 || len(events) != 1 {
		t.Errorf("%d looks at the record, %d events", len(l.acts), len(events))
	}

	id, known := l.continued()
	if known.LeaseExpiresAt == nil || known.FencingToken == 0 {
		t.Errorf("handed over: %+v", known)
	}

	l.environment(l.begin.Add(day * time.Minute))
	l.at(time.Hour, func() { l.CancelWorkflow() })
	l.ExecuteWorkflow(lifecycle.TaskType, id, known)
	if events := l.events(1); len(events) != 3 || events[1].Type != lifecycle.TaskLapsed {
		t.Errorf("the next run: %+v", events)
	}
}
