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
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// TestWholeLife claims a task, blocks it, continues and finishes it; its dependents are notified, once.
func TestWholeLife(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{waits: true, waitedOn: true})
	l.at(time.Minute, func() { l.must("claim", byAssignee("")) })
	l.at(2*time.Minute, func() { l.must("status", byAssignee("BLOCKED")) })
	l.at(3*time.Minute, func() { l.must("status", byAssignee("IN_PROGRESS")) })
	l.at(4*time.Minute, func() { l.must("status", byAssignee("DONE")) })
	l.run()
	var end lifecycle.TaskView
	if err := l.GetWorkflowResult(&end); err != nil || end.State != "DONE" || end.Version != 5 || end.DeadlineAt != nil {
		t.Errorf("got %+v, %v", end, err)
	}
	if got := l.types(); got != "[claimed status_changed status_changed status_changed]" || l.told != 1 {
		t.Errorf("events %s, told %d times", got, l.told)
	}
}

// later is more than an activity takes. The SDK's clock is the real one while an activity runs.
const later = 30 * time.Second

// TestDeadlines lets each status time out: exactly then, with exactly this comment, once.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for status, minutes := range map[lifecycle.TaskState]int{lifecycle.TaskNew: 120, lifecycle.TaskInProgress: 60, lifecycle.TaskBlocked: 30} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			l := o.rig(t, settings{state: status})
			before := l.row().Version
			due := time.Duration(minutes) * time.Minute
			l.at(due-time.Second, func() {
				if got := l.state(); got.State != string(status) || !got.DeadlineAt.Equal(l.begin.Add(due)) {
					t.Errorf("a second before: %+v", got)
				}
			})

			l.at(due+later, func() {
				if got := l.state(); got.State != "STUCK" || got.DeadlineAt != nil || !got.Since.Equal(l.begin.Add(due)) {
					t.Errorf("%s after: %+v", later, got)
				}
			})

			l.at(30*24*time.Hour, func() { l.CancelWorkflow() })
			l.run()
			comment := fmt.Sprintf("Status deadline expired. Was in %s for %d minutes.", status, minutes)
			events := l.events(before)
			if got := events[0]; len(events) != 2 || got.Type != "deadline_expired" || got.From != string(status) || got.To != "STUCK" || got.Comment != comment {
				t.Errorf("events %+v", events)
			}
		})
	}
}

// TestOldDeadlineIsForgotten leaves a status shortly before its deadline and comes back: only the new deadline counts,
// and the minutes are those since the return.
func TestOldDeadlineIsForgotten(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
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
	if events := l.events(1); len(events) != 5 || events[3].Comment != "Status deadline expired. Was in IN_PROGRESS for 60 minutes." {
		t.Errorf("events %+v", events)
	}
}

// TestStuckRelease releases a STUCK task automatically, only if the workspace is set so, and only if no user acts.
func TestStuckRelease(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{
		release: 10 * time.Minute, deadlines: map[lifecycle.TaskState]time.Duration{lifecycle.TaskInProgress: time.Hour},
	})
	// expires after 60 minutes
	l.at(0, func() { l.must("claim", byAssignee("")) })
	// in time, expires after 129
	l.at(69*time.Minute, func() { l.must("takeover", lifecycle.TaskInput{Actor: memberID, Comment: "c"}) })
	// released after 139
	l.at(140*time.Minute, func() { l.must("claim", lifecycle.TaskInput{Actor: assigneeID, Comment: "free again"}) })
	l.at(141*time.Minute, func() { l.must("status", byAssignee("DONE")) })
	l.run()
	want := "[claimed deadline_expired taken_over deadline_expired status_changed claimed status_changed]"
	events := l.events(1)
	if got := l.types(); got != want || events[4].Comment != "Released by itself. Was in STUCK for 10 minutes." || events[4].ActorID != nil {
		t.Errorf("events %s, %+v", got, events)
	}
}

// TestSettingsApplyFromTheNextTransition changes the workspace while a deadline runs.
func TestSettingsApplyFromTheNextTransition(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
	l.at(time.Minute, func() {
		l.exec(`UPDATE workspaces SET status_deadlines = '{"NEW": 1, "IN_PROGRESS": 0}'`)
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

// TestClockWaitsForBlockers starts a NEW task's deadline at the end of its last blocker, however that becomes known.
func TestClockWaitsForBlockers(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, known := range map[string]func(*envRig){
		"by a signal": func(l *envRig) {
			l.at(2*time.Hour, func() { l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) }) // too early: one is still open
			l.at(3*time.Hour, func() { l.unblock(); l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) })
			l.at(3*time.Hour+time.Second, func() { l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) }) // twice
		},
		"by a refresh": func(l *envRig) {
			l.at(3*time.Hour, func() { l.unblock(); l.SignalWorkflow(lifecycle.TaskRefreshSignal, nil) })
		},
		"at the start": func(l *envRig) { l.unblock() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := o.rig(t, settings{waits: true, blockers: 1})
			known(l)
			l.at(24*time.Hour, func() { l.CancelWorkflow() })
			l.run()
			spent := 300
			if name == "at the start" {
				spent = 120
			}

			want := fmt.Sprintf("Status deadline expired. Was in NEW for %d minutes.", spent)
			if events := l.events(1); len(events) != 2 || events[0].Comment != want {
				t.Errorf("events %+v", events)
			}
		})
	}
}

// TestBlockersAreLookedAt refuses to begin while a blocker is open.
func TestBlockersAreLookedAt(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{blockers: 2})
	l.at(0, func() {
		l.ask("claim", byAssignee(""), func(_ lifecycle.TaskView, err error) {
			refusal := temporalio.RefusalIn(err)
			if refusal == nil || refusal.Code != fault.UnresolvedBlockers || fmt.Sprint(refusal.Details["blockers"]) != fmt.Sprint(l.blockers) {
				t.Errorf("got %v %v", err, refusal)
			}
		})
	})

	l.at(time.Minute, func() { l.unblock(); l.must("claim", byAssignee("")) })
	l.at(2*time.Minute, func() { l.must("status", byAssignee("DONE")) })
	l.run()
	if got := l.types(); got != "[claimed status_changed]" {
		t.Errorf("events %s", got)
	}
}

// TestOneOfManyWins sends many claims in one workflow task, so that all of them pass the validator.
func TestOneOfManyWins(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
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
	// One agent wins; its other claims succeed and change nothing.
	if won != 5 || lost != 15 || l.types() != "[claimed status_changed]" || len(l.acts) != 21 {
		t.Errorf("%d won, %d lost, events %s, %d acts", won, lost, l.types(), len(l.acts))
	}
}

// TestForgottenAct has a record that is ahead: a worker wrote a transition and died before reporting it. The next
// caller is judged by it; the first caller repeats the request and learns that it was done.
func TestForgottenAct(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
	claim := lifecycle.TaskInput{Actor: memberID, Comment: "c"}
	l.at(time.Minute, func() {
		_, err := l.office.Tasks.Act(t.Context(), task.Act{
			TaskID: l.id, RequestID: "forgotten", Action: lifecycle.TaskActionClaim, Input: claim, At: l.Now(),
		})
		l.ok(err)
		l.ask("claim", byAssignee(""), func(_ lifecycle.TaskView, err error) {
			if refusal := temporalio.RefusalIn(err); refusal == nil || refusal.Code != fault.TaskAlreadyClaimed {
				t.Errorf("the second claim: %v", err)
			}
		})
	})

	l.at(2*time.Minute, func() {
		l.askAs("forgotten", "claim", claim, func(view lifecycle.TaskView, err error) {
			if err != nil || view.Version != 2 || *view.AssigneeID != memberID {
				t.Errorf("the first claim: %+v, %v", view, err)
			}
		})
	})

	l.at(62*time.Minute, func() { l.CancelWorkflow() })
	l.run()
	if got := l.types(); got != "[claimed deadline_expired status_changed]" || l.row().State != lifecycle.TaskCancelled {
		t.Errorf("events %s, %s", got, l.row().State)
	}
}

// TestContinueAsNew hands over the state and the running deadline. A request of the previous run has no second effect.
func TestContinueAsNew(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
	l.at(time.Minute, func() { l.must("claim", byAssignee("")) })
	l.at(2*time.Minute, func() {
		l.askAs("before", "escalate", lifecycle.TaskInput{Actor: memberID, Comment: "c"}, func(lifecycle.TaskView, error) {})
	})
	l.at(3*time.Minute, func() { l.SetContinueAsNewSuggested(true); l.SignalWorkflow(lifecycle.TaskUnblockedSignal, nil) })
	l.run()

	id, known := l.continued()
	l.environment(l.begin.Add(3 * time.Minute))
	l.at(time.Minute, func() { l.must("status", byAssignee(lifecycle.TaskInProgress)) })
	l.at(2*time.Minute, func() {
		l.askAs("before", "escalate", lifecycle.TaskInput{Actor: memberID, Comment: "c"}, func(view lifecycle.TaskView, err error) {
			if err != nil || view.State != "IN_PROGRESS" {
				t.Errorf("a request of the run before: %+v, %v", view, err)
			}
		})
	})
	l.at(3*time.Minute, func() { l.must("status", byAssignee(lifecycle.TaskBlocked)) })

	l.at(time.Hour, func() { l.CancelWorkflow() })
	l.ExecuteWorkflow(lifecycle.TaskType, id, known)
	if events := l.events(1); len(events) != 6 || events[4].Comment != "Status deadline expired. Was in BLOCKED for 30 minutes." {
		t.Errorf("events %+v", events)
	}
}

// continued returns what a run handed over to the next.
func (l *envRig) continued() (id int64, known *task.Snapshot) {
	l.t.Helper()
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		l.t.Fatalf("ended with %v", l.GetWorkflowError())
	}
	l.ok(converter.GetDefaultDataConverter().FromPayloads(next.Input, &id, &known))
	return id, known
}

// TestRecordUnavailable makes a transition although the record is unavailable for a long time, and no other one
// meanwhile.
func TestRecordUnavailable(t *testing.T) {
	t.Parallel()
	l := newOffice(t).rig(t, settings{})
	l.failures = 10
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
	if !claimed || l.types() != "[claimed status_changed]" {
		t.Errorf("claimed %v, events %s", claimed, l.types())
	}
}

// TestOperatorCancels ends the task by the temporal CLI, from every non-terminal status.
func TestOperatorCancels(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, status := range append(slices.Clone(lifecycle.TaskTimed), lifecycle.TaskStuck) {
		l := o.rig(t, settings{state: status})
		before := l.row().Version
		l.at(time.Minute, func() { l.CancelWorkflow() })
		l.run()
		events := l.events(before)
		if err := l.GetWorkflowError(); err != nil || l.row().State != lifecycle.TaskCancelled || len(events) != 1 || events[0].ActorID != nil {
			t.Errorf("%s: ended %v, %+v", status, err, events)
		}
	}
}

// TestOutsidersAreRefusedByTheHandler sends strangers' updates with an operator's tool, bypassing the API and the bot.
func TestOutsidersAreRefusedByTheHandler(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, private := range []bool{false, true} {
		l := o.rig(t, settings{private: private})
		var codes []fault.Code
		l.at(0, func() {
			l.ask(
				"claim", lifecycle.TaskInput{Actor: outsiderID, Comment: "c"},
				func(_ lifecycle.TaskView, err error) { codes = append(codes, temporalio.RefusalIn(err).Code) },
			)
		})

		l.at(time.Minute, func() { l.CancelWorkflow() })
		l.run()
		if !slices.Equal(codes, []fault.Code{fault.TaskNotFound}) || l.types() != "[status_changed]" {
			t.Errorf("private %t: %v, %s", private, codes, l.types())
		}
	}
}
