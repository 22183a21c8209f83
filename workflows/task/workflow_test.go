package task

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// TestWholeLife claims a task, blocks it, continues and finishes it; its dependents are notified, once.
func TestWholeLife(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.waiting = true
	l := newEnvRig(t, m)
	l.at(time.Minute, func() { l.must("claim", byAssignee("")) })
	l.at(2*time.Minute, func() { l.must("status", byAssignee("BLOCKED")) })
	l.at(3*time.Minute, func() { l.must("status", byAssignee("IN_PROGRESS")) })
	l.at(4*time.Minute, func() { l.must("status", byAssignee("DONE")) })
	l.run()
	var end lifecycle.TaskView
	if err := l.GetWorkflowResult(&end); err != nil || end.State != "DONE" || end.Version != 5 || end.DeadlineAt != nil {
		t.Errorf("got %+v, %v", end, err)
	}
	if got := fmt.Sprint(m.types()); got != "[claimed status_changed status_changed status_changed]" || m.told != 1 {
		t.Errorf("events %s, told %d times", got, m.told)
	}
}

// TestDeadlines lets each status run out of time: exactly then, with exactly this comment, once.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	assignee := int64(assigneeID)
	for status, minutes := range map[lifecycle.TaskState]int{lifecycle.TaskNew: 120, lifecycle.TaskInProgress: 60, lifecycle.TaskBlocked: 30} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			m.state.State = status
			if status != lifecycle.TaskNew {
				m.state.AssigneeID = &assignee
			}

			l := newEnvRig(t, m)
			due := time.Duration(minutes) * time.Minute
			l.at(due-time.Second, func() {
				if got := l.state(); got.State != string(status) || !got.DeadlineAt.Equal(l.begin.Add(due)) {
					t.Errorf("a second before: %+v", got)
				}
			})

			l.at(due+time.Second, func() {
				if got := l.state(); got.State != "STUCK" || got.DeadlineAt != nil || !got.Since.Equal(l.begin.Add(due)) {
					t.Errorf("a second after: %+v", got)
				}
			})

			l.at(30*24*time.Hour, func() { l.CancelWorkflow() })
			l.run()
			want := core.Event{
				Type: "deadline_expired", From: string(status), To: "STUCK",
				Comment: fmt.Sprintf("Status deadline expired. Was in %s for %d minutes.", status, minutes),
			}
			if len(m.events) != 2 || m.events[0] != want {
				t.Errorf("events %+v", m.events)
			}
		})
	}
}

// TestOldDeadlineIsForgotten leaves a status shortly before its deadline and comes back: only the new deadline counts,
// and the minutes are those since the return.
func TestOldDeadlineIsForgotten(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
	l.at(0, func() { l.must("claim", byAssignee("")) })
	l.at(59*time.Minute, func() { l.must("status", byAssignee("BLOCKED")) })
	l.at(59*time.Minute+30*time.Second, func() { l.must("status", byAssignee("IN_PROGRESS")) })
	l.at(119*time.Minute, func() {
		if got := l.state(); got.State != "IN_PROGRESS" {
			t.Errorf("the old deadline has ended the new status: %+v", got)
		}
	})

	l.at(200*time.Minute, func() { l.CancelWorkflow() })
	l.run()
	if len(m.events) != 5 || m.events[3].Comment != "Status deadline expired. Was in IN_PROGRESS for 60 minutes." {
		t.Errorf("events %+v", m.events)
	}
}

// TestStuckRelease releases a STUCK task automatically, only where the workspace wants it, and only if no user acts.
func TestStuckRelease(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.release = 10 * time.Minute
	m.deadlines[lifecycle.TaskNew] = 0
	l := newEnvRig(t, m)
	// expires after 60 minutes
	l.at(0, func() { l.must("claim", byAssignee("")) })
	// in time, expires after 129
	l.at(69*time.Minute, func() { l.must("takeover", lifecycle.TaskInput{Actor: memberID, Comment: "c"}) })
	// released after 139
	l.at(140*time.Minute, func() { l.must("claim", lifecycle.TaskInput{Actor: assigneeID, Comment: "free again"}) })
	l.at(141*time.Minute, func() { l.must("status", byAssignee("DONE")) })
	l.run()
	want := "[claimed deadline_expired taken_over deadline_expired status_changed claimed status_changed]"
	if got := fmt.Sprint(m.types()); got != want || m.events[4].Comment != "Released by itself. Was in STUCK for 10 minutes." || m.events[4].ActorID != nil {
		t.Errorf("events %s, %+v", got, m.events)
	}
}

// TestSettingsApplyFromTheNextTransition changes the workspace while a deadline runs.
func TestSettingsApplyFromTheNextTransition(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
	l.at(time.Minute, func() {
		m.deadlines = map[lifecycle.TaskState]time.Duration{lifecycle.TaskNew: time.Minute, lifecycle.TaskInProgress: 0}
		if got := l.state(); !got.DeadlineAt.Equal(l.begin.Add(120 * time.Minute)) {
			t.Errorf("the running deadline moved: %+v", got)
		}
	})

	l.at(100*time.Minute, func() { l.must("claim", byAssignee("")) })
	l.at(365*24*time.Hour, func() {
		if got := l.state(); got.State != "IN_PROGRESS" || got.DeadlineAt != nil {
			t.Errorf("no deadline was wanted: %+v", got)
		}
		l.must("status", byAssignee("DONE"))
	})

	l.run()
}

// TestClockWaitsForBlockers begins a NEW task's deadline with the end of its last blocker, however that becomes known.
func TestClockWaitsForBlockers(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]func(*envRig){
		"by a signal": func(l *envRig) {
			l.at(2*time.Hour, func() { l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) }) // too early: one is open still
			l.at(3*time.Hour, func() { l.memory.open = nil; l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) })
			l.at(3*time.Hour+time.Second, func() { l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) }) // twice
		},
		"at the start": func(l *envRig) { l.memory.open = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory()
			m.state.ClockWaits, m.open = true, []int64{7}
			l := newEnvRig(t, m)
			m.state.Since = l.begin
			known(l)
			l.at(24*time.Hour, func() { l.CancelWorkflow() })
			l.run()
			spent := 120
			if name == "by a signal" {
				spent = 300
			}

			want := fmt.Sprintf("Status deadline expired. Was in NEW for %d minutes.", spent)
			if len(m.events) != 2 || m.events[0].Comment != want {
				t.Errorf("events %+v", m.events)
			}
		})
	}
}

// TestBlockersAreLookedAt refuses to begin while a blocker is open, and remembers when none is.
func TestBlockersAreLookedAt(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.open = []int64{7, 8}
	l := newEnvRig(t, m)
	l.at(0, func() {
		l.ask("claim", byAssignee(""), func(_ lifecycle.TaskView, err error) {
			refusal := temporalio.RefusalIn(err)
			if refusal == nil || refusal.Code != fault.UnresolvedBlockers || fmt.Sprint(refusal.Details["blockers"]) != "[7 8]" {
				t.Errorf("got %v %v", err, refusal)
			}
		})
	})

	l.at(time.Minute, func() { m.open = nil; l.must("claim", byAssignee("")) })
	l.at(2*time.Minute, func() { l.must("status", byAssignee("DONE")) })
	l.run()
	if len(m.events) != 2 {
		t.Errorf("events %+v", m.events)
	}
}

// TestGuardProvesOnlyWhatItChecks lets a member escalate a task with an open blocker, which asks for no end of blockers:
// the workflow has not learned that there is none.
func TestGuardProvesOnlyWhatItChecks(t *testing.T) {
	t.Parallel()
	assignee := int64(assigneeID)
	m := newMemory()
	m.state.State, m.state.AssigneeID, m.open = lifecycle.TaskInProgress, &assignee, []int64{7}
	l := newEnvRig(t, m)
	l.at(time.Minute, func() { l.must("escalate", lifecycle.TaskInput{Actor: memberID, Comment: "c"}) })
	l.at(2*time.Minute, func() {
		l.ask("status", byAssignee("IN_PROGRESS"), func(_ lifecycle.TaskView, err error) {
			if refusal := temporalio.RefusalIn(err); refusal == nil || refusal.Code != fault.UnresolvedBlockers {
				t.Errorf("resumed under an open blocker: %v", err)
			}
		})
	})
	l.at(3*time.Minute, func() { l.CancelWorkflow() })
	l.run()
}

// TestOneOfManyWins sends many claims in one workflow task, so that all of them pass the validator.
func TestOneOfManyWins(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.open = []int64{} // so that each one has to read them
	l := newEnvRig(t, m)
	won, lost := 0, 0
	l.at(0, func() {
		for i := range 20 {
			l.ask("claim", lifecycle.TaskInput{Actor: []int64{creatorID, assigneeID, memberID, adminID}[i%4], Comment: "c"}, func(_ lifecycle.TaskView, err error) {
				if err == nil {
					won++
				} else if refusal := temporalio.RefusalIn(err); refusal != nil && refusal.Code == fault.TaskAlreadyClaimed {
					lost++
				}
			})
		}
	})

	l.at(time.Minute, func() { l.CancelWorkflow() })
	l.run()
	// One agent wins; its other claims succeed and change nothing. The record alone would see to that: that it is not
	// even asked to write for the others is the work of the mutex.
	if won != 5 || lost != 15 || fmt.Sprint(m.types()) != "[claimed status_changed]" || m.writes != 2 {
		t.Errorf("%d won, %d lost, events %v, %d writes", won, lost, m.types(), m.writes)
	}
}

// TestForgottenWrite has a record that is ahead: a worker wrote a transition and died before it reported it. The next
// caller finds it and decides on it; the first caller repeats the request and gets the answer that it was done.
func TestForgottenWrite(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
	l.at(time.Minute, func() {
		member := int64(memberID)
		m.state.Version, m.state.RequestID = 2, "forgotten"
		m.enter(lifecycle.TaskInProgress, &member, l.begin.Add(time.Minute))
		l.ask("claim", byAssignee(""), func(_ lifecycle.TaskView, err error) {
			if refusal := temporalio.RefusalIn(err); refusal == nil || refusal.Code != fault.TaskAlreadyClaimed {
				t.Errorf("the second claim: %v", err)
			}
		})
	})

	l.at(2*time.Minute, func() {
		l.askAs("forgotten", "claim", lifecycle.TaskInput{Actor: memberID, Comment: "c"}, func(view lifecycle.TaskView, err error) {
			if err != nil || view.Version != 2 || *view.AssigneeID != memberID {
				t.Errorf("the first claim: %+v, %v", view, err)
			}
		})
	})

	l.at(62*time.Minute, func() { l.CancelWorkflow() })
	l.run()
	if got := fmt.Sprint(m.types()); got != "[deadline_expired status_changed]" || m.state.State != lifecycle.TaskCancelled {
		t.Errorf("events %s, %s", got, m.state.State)
	}
}

// TestSameRequestTwice repeats a request after its effect is gone: it is answered as before and does nothing.
func TestSameRequestTwice(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
	l.at(0, func() { l.askAs("once", "claim", byAssignee(""), func(lifecycle.TaskView, error) {}) })
	l.at(time.Minute, func() { l.must("status", byAssignee("NEW")) })
	l.at(2*time.Minute, func() {
		l.askAs("once", "claim", byAssignee(""), func(view lifecycle.TaskView, err error) {
			if err != nil || view.State != "IN_PROGRESS" || view.Version != 2 {
				t.Errorf("got %+v, %v", view, err)
			}
		})
	})

	l.at(3*time.Minute, func() { l.CancelWorkflow() })
	l.run()
	if len(m.events) != 3 {
		t.Errorf("events %+v", m.events)
	}
}

// TestContinueAsNew hands over the state, the requests and the running deadline.
func TestContinueAsNew(t *testing.T) {
	t.Parallel()
	m := newMemory()
	l := newEnvRig(t, m)
	l.at(time.Minute, func() { l.askAs("before", "claim", byAssignee(""), func(lifecycle.TaskView, error) {}) })
	l.at(2*time.Minute, func() { l.must("status", byAssignee("BLOCKED")) })
	l.at(3*time.Minute, func() { l.SetContinueAsNewSuggested(true); l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) })
	l.run()
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v", l.GetWorkflowError())
	}

	var id int64
	var carried *Carried
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &id, &carried); err != nil || id != 9 {
		t.Fatal(id, err)
	}

	second := newEnvRig(t, m)
	second.SetStartTime(l.begin.Add(3 * time.Minute))
	second.at(time.Minute, func() {
		second.askAs("before", "claim", byAssignee(""), func(view lifecycle.TaskView, err error) {
			if err != nil || view.Version != 2 {
				t.Errorf("a request of the run before: %+v, %v", view, err)
			}
		})
		if got := second.state(); got.State != "BLOCKED" || !got.DeadlineAt.Equal(l.begin.Add(32*time.Minute)) {
			t.Errorf("the next run has %+v", got)
		}
	})

	second.at(time.Hour, func() { second.CancelWorkflow() })
	second.ExecuteWorkflow(lifecycle.TaskType, id, carried)
	if len(m.events) != 4 || m.events[2].Comment != "Status deadline expired. Was in BLOCKED for 30 minutes." {
		t.Errorf("events %+v", m.events)
	}
}

// TestRecordAway makes a transition although the record is away for long, and no other one meanwhile.
func TestRecordAway(t *testing.T) {
	t.Parallel()
	m := newMemory()
	m.failures = 10
	l := newEnvRig(t, m)
	claimed := false
	l.at(0, func() {
		l.ask("claim", byAssignee(""), func(_ lifecycle.TaskView, err error) { claimed = err == nil })
		l.ask("claim", lifecycle.TaskInput{Actor: memberID, Comment: "c"}, func(_ lifecycle.TaskView, err error) {
			if refusal := temporalio.RefusalIn(err); refusal == nil || refusal.Code != fault.TaskAlreadyClaimed {
				t.Errorf("the other claim: %v", err)
			}
		})
	})

	l.at(30*time.Minute, func() { l.CancelWorkflow() })
	l.run()
	if !claimed || fmt.Sprint(m.types()) != "[claimed status_changed]" {
		t.Errorf("claimed %v, events %v", claimed, m.types())
	}
}

// TestOperatorCancels ends the task by the temporal CLI, from every status that is not an end.
func TestOperatorCancels(t *testing.T) {
	t.Parallel()
	for _, status := range append(slices.Clone(lifecycle.TaskTimed), lifecycle.TaskStuck) {
		m := newMemory()
		m.state.State = status
		l := newEnvRig(t, m)
		l.at(time.Minute, func() { l.CancelWorkflow() })
		l.run()
		if err := l.GetWorkflowError(); err != nil || m.state.State != lifecycle.TaskCancelled || len(m.events) != 1 || m.events[0].ActorID != nil {
			t.Errorf("%s: ended %v, %s, %+v", status, err, m.state.State, m.events)
		}
	}
}

// TestOutsidersAreRefusedByTheHandler sends updates of strangers with an operator's tool, past the API and the bot.
func TestOutsidersAreRefusedByTheHandler(t *testing.T) {
	t.Parallel()
	for _, visibility := range []string{task.Public, task.Private} {
		m := newMemory()
		m.state.Visibility = visibility
		l := newEnvRig(t, m)
		var codes []fault.Code
		l.at(0, func() {
			l.ask(
				"claim", lifecycle.TaskInput{Actor: outsiderID, Comment: "c"},
				func(_ lifecycle.TaskView, err error) { codes = append(codes, temporalio.RefusalIn(err).Code) },
			)
		})

		l.at(time.Minute, func() { l.CancelWorkflow() })
		l.run()
		if !slices.Equal(codes, []fault.Code{fault.TaskNotFound}) || len(m.events) != 1 {
			t.Errorf("%s: %v, %+v", visibility, codes, m.events)
		}
	}
}
