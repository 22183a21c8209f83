package task

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

func leased(seconds int64) lifecycle.TaskInput {
	return lifecycle.TaskInput{Actor: assigneeID, Comment: "c", LeaseSeconds: seconds}
}

// TestLeaseEndsTheClaim lets an assignee send heartbeats for a while and then be silent. The earlier of lease and
// deadline ends the status, and the event says which.
func TestLeaseEndsTheClaim(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lease  int64
		renews int // a heartbeat a minute
		reason lifecycle.TaskReason
		spent  int
	}{
		"never renewed":        {120, 0, lifecycle.TaskReasonLease, 2},
		"renewed ten times":    {120, 10, lifecycle.TaskReasonLease, 12},
		"the deadline is soon": {86_400, 0, "", 60},
		"renewed for too long": {120, 100, "", 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			m.deadlines[lifecycle.TaskBlocked] = 0
			l := newEnvRig(t, m)
			l.at(0, func() { l.must("claim", leased(c.lease)) })
			for i := range c.renews {
				l.at(time.Duration(i+1)*time.Minute, func() { m.heartbeat(l.Now()) })
			}
			l.at(24*time.Hour, func() { l.CancelWorkflow() })
			l.run()

			what := "Status deadline"
			if c.reason == lifecycle.TaskReasonLease {
				what = "Lease"
			}
			want := fmt.Sprintf("%s expired. Was in IN_PROGRESS for %d minutes.", what, c.spent)
			if got := m.events[1]; got.Type != "deadline_expired" || got.Comment != want || got.Reason != string(c.reason) {
				t.Errorf("got %+v", got)
			}
			if m.state.LeaseExpiresAt != nil {
				t.Error("the lease is still there")
			}
		})
	}
}

// TestLeaseIsKeptWhileBlocked ends the claim of an assignee who is silent on a BLOCKED task, too.
func TestLeaseIsKeptWhileBlocked(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
	l.at(0, func() { l.must("claim", leased(600)) })
	l.at(time.Minute, func() { l.must("status", byAssignee(lifecycle.TaskBlocked)) })
	l.at(24*time.Hour, func() { l.CancelWorkflow() })
	l.run()
	if got := m.events[2]; got.From != "BLOCKED" || got.Reason != "lease" || got.Comment != "Lease expired. Was in BLOCKED for 9 minutes." {
		t.Errorf("got %+v", got)
	}
}

// TestStaleToken refuses what is done by a claim that has ended, and judges by the table what names no claim.
func TestStaleToken(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
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
		l.must("status", with(byAssignee(lifecycle.TaskBlocked), first)) // good in both states of work
		refused("status", with(byAssignee(lifecycle.TaskInProgress), first+1))
	})
	l.at(10*time.Minute, func() { // STUCK, by the lease
		refused("status", with(byAssignee(lifecycle.TaskInProgress), first))
		refused("takeover", with(lifecycle.TaskInput{Actor: memberID, Comment: "c"}, first))
		l.must("takeover", lifecycle.TaskInput{Actor: memberID, Comment: "c", LeaseSeconds: 60})
	})
	l.at(10*time.Minute+time.Second, func() {
		if m.state.FencingToken <= first || m.state.LeaseExpiresAt == nil {
			t.Errorf("after the takeover: %+v", m.state)
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

// TestDayOfRenewals counts what a lease of a minute costs in a day: one look at the record for each lease that its
// holder has renewed, and a history that continues as new.
func TestDayOfRenewals(t *testing.T) {
	t.Parallel()
	const day = 24 * 60
	m := newMemory()
	m.deadlines = nil
	l := newEnvRig(t, m)
	l.at(0, func() { l.must("claim", leased(60)) })
	var heartbeat func()
	heartbeat = func() { m.heartbeat(l.Now()); l.at(20*time.Second, heartbeat) }
	l.at(time.Second, heartbeat)
	l.at(day*time.Minute, func() { l.SetContinueAsNewSuggested(true); l.SignalWorkflow(lifecycle.TaskRefreshSignal, nil) })
	l.run()

	// A look finds a lease that is 20 seconds old at most: the next one is 40 seconds later at the earliest.
	if m.writes > day*60/40+1 || len(m.events) != 1 {
		t.Errorf("%d looks at the record, %d events", m.writes, len(m.events))
	}

	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v", l.GetWorkflowError())
	}
	var id int64
	var carried *Carried
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &id, &carried); err != nil {
		t.Fatal(err)
	}
	if carried.State.LeaseExpiresAt == nil || carried.State.FencingToken == 0 || len(carried.Answered) != 1 {
		t.Errorf("carried %+v", carried)
	}

	second := newEnvRig(t, m)
	second.SetStartTime(l.begin.Add(day * time.Minute))
	second.at(time.Hour, func() { second.CancelWorkflow() })
	second.ExecuteWorkflow(lifecycle.TaskType, id, carried)
	if len(m.events) != 3 || m.events[1].Reason != "lease" {
		t.Errorf("the next run: %+v", m.events)
	}
}
