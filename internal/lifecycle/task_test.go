package lifecycle

import (
	"fmt"
	"testing"

	"stagecoach/internal/fault"
)

// The people around a task, by their ids.
const (
	creatorID int64 = iota + 1
	holderID
	memberID
)

func heldTask(state TaskState) TaskFacts {
	holder := holderID
	return TaskFacts{State: state, CreatorID: creatorID, AssigneeID: &holder, Public: true, OpenBlockers: []int64{7}}
}

func freeTask() TaskFacts { return TaskFacts{State: TaskNew, CreatorID: creatorID, Public: true} }

// TestDecideTask follows one claim through the refusals in their order: each case mends what the one before was refused for.
func TestDecideTask(t *testing.T) {
	t.Parallel()
	member := TaskCaller{ID: memberID, Member: true}
	claim := TaskAsk{Action: TaskActionClaim, Caller: member, Comment: " \n"}
	asAssignee := claim
	asAssignee.Caller.ID = holderID
	commented := claim
	commented.Comment = "because"

	foreign := claim
	foreign.Caller.Member = false
	waiting := freeTask()
	waiting.OpenBlockers = []int64{7}
	private := freeTask()
	private.Public = false
	asAdmin := claim
	asAdmin.Caller = TaskCaller{ID: memberID, Admin: true}

	for _, c := range []struct {
		name  string
		facts TaskFacts
		ask   TaskAsk
		code  fault.Code
		held  bool
	}{
		{"an outsider", heldTask(TaskNew), foreign, fault.TaskNotFound, false},
		{"somebody else's", heldTask(TaskNew), claim, fault.TaskAlreadyClaimed, false},
		{"somebody else's, done", heldTask(TaskDone), claim, fault.TaskAlreadyClaimed, false},
		{"one's own, done", heldTask(TaskDone), asAssignee, fault.InvalidTransition, false},
		{"a private one", private, asAdmin, fault.InsufficientAccess, false},
		{"without a comment", waiting, claim, fault.CommentRequired, false},
		{"blocked", waiting, commented, fault.UnresolvedBlockers, false},
		{"free", freeTask(), commented, "", false},
		{"one's own, in work", heldTask(TaskInProgress), asAssignee, "", true},
	} {
		step, held, err := DecideTask(c.facts, c.ask)
		if fault.CodeOf(err) != c.code || held != c.held || err == nil && step.To != TaskInProgress {
			t.Errorf("%s: %s, held %t, %v; want %q", c.name, step.To, held, err, c.code)
		}
	}
}

// TestTaskRefusals looks at what machines are told.
func TestTaskRefusals(t *testing.T) {
	t.Parallel()
	refusal := func(facts TaskFacts, ask TaskAsk) map[string]any {
		_, _, err := DecideTask(facts, ask)
		if err == nil {
			t.Fatalf("%+v passes", ask)
		}
		return fault.As(err).Details
	}
	member, holder := TaskCaller{ID: memberID, Member: true}, TaskCaller{ID: holderID, Member: true}

	if got := refusal(heldTask(TaskNew), TaskAsk{Action: TaskActionClaim, Caller: member}); got["holder"] != holderID {
		t.Errorf("a lost claim: %v", got)
	}
	if got := refusal(heldTask(TaskNew), TaskAsk{Action: TaskActionClaim, Caller: holder, Comment: "x"}); fmt.Sprint(got["blockers"]) != "[7]" {
		t.Errorf("a blocked one: %v", got)
	}
	// A comment will come with what is asked for next: what is allowed does not depend on it.
	if got := refusal(heldTask(TaskInProgress), TaskAsk{Action: TaskActionStatus, To: TaskStuck, Caller: holder}); fmt.Sprint(got["allowed"]) != "[DONE BLOCKED NEW CANCELLED]" {
		t.Errorf("an impossible one: %v", got)
	}
}

func TestTaskVisibility(t *testing.T) {
	t.Parallel()
	private := heldTask(TaskNew)
	private.Public = false
	for name, c := range map[string]struct {
		caller          TaskCaller
		public, private bool
	}{
		"the creator":  {TaskCaller{ID: creatorID}, true, true},
		"the assignee": {TaskCaller{ID: holderID}, true, true},
		"a member":     {TaskCaller{ID: memberID, Member: true}, true, false},
		"an outsider":  {TaskCaller{ID: memberID}, false, false},
		"an admin":     {TaskCaller{ID: memberID, Admin: true}, true, true},
		"the system":   {TaskCaller{System: true}, true, true},
	} {
		if got := heldTask(TaskNew).VisibleTo(c.caller); got != c.public {
			t.Errorf("%s sees a public task: %t", name, got)
		}
		if got := private.VisibleTo(c.caller); got != c.private {
			t.Errorf("%s sees a private task: %t", name, got)
		}
	}
}

func TestTaskRoles(t *testing.T) {
	t.Parallel()
	own := heldTask(TaskNew)
	own.CreatorID = holderID
	for _, c := range []struct {
		facts  TaskFacts
		caller TaskCaller
		want   string
	}{
		{heldTask(TaskNew), TaskCaller{System: true}, "[system]"},
		{heldTask(TaskNew), TaskCaller{ID: creatorID}, fmt.Sprint([]Role{Anyone, Creator, Others})},
		{heldTask(TaskNew), TaskCaller{ID: holderID}, fmt.Sprint([]Role{Anyone, Assignee})},
		{heldTask(TaskNew), TaskCaller{ID: memberID}, fmt.Sprint([]Role{Anyone, Others})},
		{own, TaskCaller{ID: holderID}, fmt.Sprint([]Role{Anyone, Creator, Assignee})},
		{freeTask(), TaskCaller{ID: memberID}, fmt.Sprint([]Role{Anyone, Others})},
	} {
		if got := fmt.Sprint(c.facts.RolesOf(c.caller)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.caller, got, c.want)
		}
	}
}

// TestTaskOffers lists what a caller may do; the comment that each action needs comes with it.
func TestTaskOffers(t *testing.T) {
	t.Parallel()
	waiting := freeTask()
	waiting.OpenBlockers = []int64{7}
	ready := heldTask(TaskNew)
	ready.OpenBlockers = nil
	for name, c := range map[string]struct {
		facts TaskFacts
		who   int64
		want  string
	}{
		"the assignee":         {heldTask(TaskInProgress), holderID, "[status] [DONE BLOCKED NEW CANCELLED]"},
		"the creator":          {heldTask(TaskInProgress), creatorID, "[escalate status] [CANCELLED]"},
		"a member":             {heldTask(TaskInProgress), memberID, "[escalate] []"},
		"a member, free":       {freeTask(), memberID, "[claim] []"},
		"a member, blocked":    {waiting, memberID, "[] []"},
		"the creator, blocked": {waiting, creatorID, "[status] [CANCELLED]"},
		"the assignee, new":    {ready, holderID, "[claim status] [IN_PROGRESS]"},
		"a member, taken":      {ready, memberID, "[] []"},
	} {
		caller := TaskCaller{ID: c.who, Member: true}
		if got := fmt.Sprint(c.facts.AllowedActions(caller), c.facts.AllowedTargets(caller)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAssigneeAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step TaskRule
		want int64 // 0: nobody
	}{
		{TaskRule{Action: TaskActionClaim, To: TaskInProgress}, memberID},
		{TaskRule{Action: TaskActionTakeover, To: TaskInProgress}, memberID},
		{TaskRule{Action: TaskActionStatus, To: TaskNew}, 0},
		{TaskRule{Action: TaskActionStatus, To: TaskDone}, holderID},
		{TaskRule{Action: TaskActionExpire, To: TaskStuck}, holderID},
	} {
		got := heldTask(TaskInProgress).AssigneeAfter(c.step, memberID)
		if got == nil && c.want != 0 || got != nil && *got != c.want {
			t.Errorf("%s to %s: %v, want %d", c.step.Action, c.step.To, got, c.want)
		}
	}
}
