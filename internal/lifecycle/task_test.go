package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

// steps is the lifecycle written out by hand, one line per step: status, action and target, then who may, the resulting
// status and its event. Everything else is refused. "others" are all who can see the task except its assignee.
var steps = map[string]struct {
	who    string
	to     string
	event  string
	begins bool // every blocker must be DONE
}{
	"NEW claim":                {"anyone", "IN_PROGRESS", "claimed", true},
	"IN_PROGRESS claim":        {"assignee", "IN_PROGRESS", "", false}, // changes nothing
	"NEW status IN_PROGRESS":   {"assignee", "IN_PROGRESS", "status_changed", true},
	"NEW status CANCELLED":     {"creator", "CANCELLED", "status_changed", false},
	"NEW expire":               {"system", "STUCK", "deadline_expired", false},
	"NEW cancel":               {"system", "CANCELLED", "status_changed", false},
	"IN_PROGRESS status DONE":  {"assignee", "DONE", "status_changed", false},
	"IN_PROGRESS status NEW":   {"assignee", "NEW", "status_changed", false},
	"IN_PROGRESS escalate":     {"others", "BLOCKED", "escalated", false},
	"IN_PROGRESS expire":       {"system", "STUCK", "deadline_expired", false},
	"IN_PROGRESS lapse":        {"system", "STUCK", "lease_expired", false},
	"BLOCKED lapse":            {"system", "STUCK", "lease_expired", false},
	"IN_PROGRESS cancel":       {"system", "CANCELLED", "status_changed", false},
	"BLOCKED status NEW":       {"creator assignee", "NEW", "status_changed", false},
	"BLOCKED status CANCELLED": {"creator", "CANCELLED", "status_changed", false},
	"BLOCKED expire":           {"system", "STUCK", "deadline_expired", false},
	"BLOCKED cancel":           {"system", "CANCELLED", "status_changed", false},
	"STUCK takeover":           {"others", "IN_PROGRESS", "taken_over", true},
	"STUCK status NEW":         {"creator system", "NEW", "status_changed", false},
	"STUCK status CANCELLED":   {"creator", "CANCELLED", "status_changed", false},
	"STUCK status IN_PROGRESS": {"assignee", "IN_PROGRESS", "status_changed", true},
	"STUCK cancel":             {"system", "CANCELLED", "status_changed", false},

	"IN_PROGRESS status BLOCKED":   {"assignee", "BLOCKED", "status_changed", false},
	"IN_PROGRESS status CANCELLED": {"creator assignee", "CANCELLED", "status_changed", false},
	"BLOCKED status IN_PROGRESS":   {"assignee", "IN_PROGRESS", "status_changed", true},

	// The following leave the status unchanged.
	"IN_PROGRESS submit":  {"assignee", "IN_PROGRESS", "submitted", false},
	"IN_PROGRESS approve": {"others", "IN_PROGRESS", "approved", false},
	"BLOCKED approve":     {"others", "BLOCKED", "approved", false},
	"STUCK approve":       {"others", "STUCK", "approved", false},
	"IN_PROGRESS reject":  {"others", "IN_PROGRESS", "rejected", false},
	"BLOCKED reject":      {"others", "BLOCKED", "rejected", false},
	"STUCK reject":        {"others", "STUCK", "rejected", false},
	"NEW edit":            {"creator", "NEW", "edited", false},
	"IN_PROGRESS edit":    {"creator", "IN_PROGRESS", "edited", false},
	"BLOCKED edit":        {"creator", "BLOCKED", "edited", false},
	"STUCK edit":          {"creator", "STUCK", "edited", false},
}

// denied is the refusal of a caller who may not perform a possible step.
var denied = map[string]fault.Code{
	"IN_PROGRESS escalate": "CANNOT_ESCALATE_OWN",
	"STUCK takeover":       "CANNOT_TAKEOVER",
}

// The callers, by their ids. The creator of a task without another assignee may be its assignee, too.
const creatorID, assigneeID, memberID, outsiderID, adminID = 1, 2, 3, 4, 5

var people = map[string]TaskCaller{
	"creator":  {ID: creatorID, Member: true},
	"assignee": {ID: assigneeID, Member: true},
	"member":   {ID: memberID, Member: true},
	"outsider": {ID: outsiderID},
	"admin":    {ID: adminID, Admin: true},
	"system":   {System: true},
}

// question is one combination of everything on which an answer may depend.
type question struct {
	status    string
	holder    string // "", "assignee" or "creator"
	public    bool
	blocked   bool
	who       string
	action    string
	target    string
	commented bool
	named     bool // the current submission; otherwise there is none
	missing   bool // the review
}

// TestTaskEveryCase checks 6 states × every action and target × every role × who holds the task × blockers open or done
// × public or private × with and without a comment × with and without a submission × reviewed or not.
func TestTaskEveryCase(t *testing.T) {
	t.Parallel()
	asks := [][2]string{{"claim", ""}, {"escalate", ""}, {"takeover", ""}, {"expire", ""}, {"lapse", ""}, {"cancel", ""}, {"create", ""}, {"submit", ""}, {"approve", ""}, {"reject", ""}, {"edit", ""}}
	statuses := []string{"NEW", "IN_PROGRESS", "BLOCKED", "STUCK", "DONE", "CANCELLED"}
	for _, target := range statuses {
		asks = append(asks, [2]string{"status", target})
	}

	cases, allowed := 0, 0
	for _, status := range statuses {
		for _, holder := range []string{"", "assignee", "creator"} {
			for who := range people {
				for _, ask := range asks {
					for bits := range 32 {
						q := question{
							status, holder, bits&1 > 0, bits&2 > 0, who, ask[0], ask[1], bits&4 > 0, bits&8 > 0, bits&16 > 0,
						}
						cases++
						if q.check(t) {
							allowed++
						}
					}
				}
			}
		}
	}

	t.Logf("%d cases, %d allowed", cases, allowed)
}

// TestTaskCreate lets every member of the workspace create a task, and no other user.
func TestTaskCreate(t *testing.T) {
	t.Parallel()
	for _, role := range []Role{Anyone, Creator, Assignee, Others, System} {
		rule, err := Task.Decide("", TaskRequest{Action: TaskActionCreate, Roles: []Role{role}}, TaskFacts{})
		if role == Anyone && (err != nil || rule.To != TaskNew || rule.Event != "created") || role != Anyone && fault.CodeOf(err) != fault.InsufficientAccess {
			t.Errorf("%s: %+v, %v", role, rule, err)
		}
	}
}

func (q question) check(t *testing.T) (allowed bool) {
	t.Helper()
	facts := TaskFacts{State: TaskState(q.status), CreatorID: creatorID, Public: q.public, ReviewMissing: q.missing}
	if q.holder != "" {
		id := people[q.holder].ID
		facts.AssigneeID = &id
	}

	if q.blocked {
		facts.OpenBlockers = []int64{7}
	}

	ask := TaskAsk{Action: TaskAction(q.action), To: TaskState(q.target), Caller: people[q.who], Comment: " \n"}
	if q.commented {
		ask.Comment = "because"
	}
	if q.named {
		facts.Submission, ask.Submission = 9, 9
	}

	wantTo, wantEvent, wantHeld, wantCode := q.expected()
	step, held, err := DecideTask(facts, ask)
	if string(step.To) != wantTo || step.Event != wantEvent || held != wantHeld || fault.CodeOf(err) != wantCode {
		t.Errorf(
			"%+v: got %q %q held=%v %v; want %q %q held=%v %q", q, step.To, step.Event, held, err, wantTo, wantEvent, wantHeld,
			wantCode,
		)
	}
	if err != nil {
		q.checkDetails(t, fault.As(err))
		return false
	}

	if !held {
		q.checkAssignee(t, facts.AssigneeAfter(step, ask.Caller.ID))
	}
	return true
}

// expected answers from the lists above, in the order of refusals.
func (q question) expected() (to, event string, held bool, code fault.Code) {
	sees := q.public && (q.who == "member" || q.who == "creator" || q.who == "assignee") ||
		q.who == "creator" || q.who == "admin" || q.who == "system" || q.who == q.holder
	step, possible := steps[q.key()]
	switch {
	case !sees:
		return "", "", false, "TASK_NOT_FOUND"
	case q.action == "claim" && q.holder != "" && q.who != q.holder:
		return "", "", false, "TASK_ALREADY_CLAIMED"
	case !possible:
		return "", "", false, "INVALID_TRANSITION"
	case !q.mayTake(step.who):
		if code, special := denied[q.key()]; special {
			return "", "", false, code
		}
		return "", "", false, "INSUFFICIENT_ACCESS"
	case q.action == "claim" && q.who != q.holder && !q.public:
		return "", "", false, "INSUFFICIENT_ACCESS"
	case step.event == "":
		return step.to, "", true, ""
	case !q.commented && q.action != "edit":
		return "", "", false, "COMMENT_REQUIRED"
	case (q.action == "approve" || q.action == "reject") && !q.named:
		return "", "", false, "SUBMISSION_NOT_CURRENT"
	case q.target == "DONE" && q.missing:
		return "", "", false, "REVIEW_REQUIRED"
	case step.begins && q.blocked:
		return "", "", false, "UNRESOLVED_BLOCKERS"
	}

	return step.to, step.event, false, ""
}

func (q question) key() string {
	if q.target == "" {
		return q.status + " " + q.action
	}
	return fmt.Sprintf("%s %s %s", q.status, q.action, q.target)
}

func (q question) mayTake(who string) bool {
	isAssignee := q.holder != "" && q.who == q.holder
	switch who {
	case "anyone":
		return q.who != "system"
	case "others":
		return q.who != "system" && !isAssignee
	case "system":
		return q.who == "system"
	case "assignee":
		return isAssignee
	case "creator":
		return q.who == "creator"
	case "creator assignee":
		return q.who == "creator" || isAssignee
	case "creator system":
		return q.who == "creator" || q.who == "system"
	}

	panic("nobody knows " + who)
}

// checkDetails checks the machine-readable details of a refusal.
func (q question) checkDetails(t *testing.T, refusal *fault.Error) {
	t.Helper()
	switch refusal.Code {
	case fault.TaskAlreadyClaimed:
		if refusal.Details["holder"] != people[q.holder].ID {
			t.Errorf("%+v: holder %v", q, refusal.Details)
		}
	case fault.UnresolvedBlockers:
		if !slices.Equal(refusal.Details["blockers"].([]int64), []int64{7}) {
			t.Errorf("%+v: blockers %v", q, refusal.Details)
		}
	case fault.InvalidTransition:
		requested := q.target
		if requested == "" {
			requested = q.action
		}
		if fmt.Sprint(refusal.Details["current"]) != q.status || refusal.Details["requested"] != requested || refusal.Details["allowed"] == nil {
			t.Errorf("%+v: %v", q, refusal.Details)
		}
	default: // no further details
	}
}

// checkAssignee knows the assignee after an allowed step.
func (q question) checkAssignee(t *testing.T, got *int64) {
	t.Helper()
	want := people[q.holder].ID
	switch {
	case q.action == "claim" || q.action == "takeover":
		want = people[q.who].ID
	case q.target == "NEW":
		want = 0
	}

	if got == nil && want != 0 || got != nil && *got != want {
		t.Errorf("%+v: the assignee is %v, want %d", q, got, want)
	}
}

// TestTaskInvalidTransitionTellsWhatIsAllowed requests an impossible status, and without a comment.
func TestTaskInvalidTransitionTellsWhatIsAllowed(t *testing.T) {
	t.Parallel()
	_, _, err := DecideTask(heldTask(TaskInProgress), TaskAsk{Action: "status", To: TaskStuck, Caller: people["assignee"]})
	if got := fmt.Sprint(fault.As(err).Details["allowed"]); got != "[DONE BLOCKED NEW CANCELLED]" {
		t.Errorf("allowed: %s", got)
	}
}

// TestTaskLostLease refuses a caller who names a lease other than the current one, for any action; a caller who names
// none is unaffected.
func TestTaskLostLease(t *testing.T) {
	t.Parallel()
	facts := heldTask(TaskInProgress)
	facts.FencingToken = 7
	for token, want := range map[int64]fault.Code{0: "", 7: "", 6: fault.LeaseLost, 8: fault.LeaseLost} {
		ask := TaskAsk{Action: TaskActionStatus, To: TaskDone, Comment: "done", Caller: people["assignee"], FencingToken: token}
		if _, _, err := DecideTask(facts, ask); fault.CodeOf(err) != want {
			t.Errorf("%d: %v", token, err)
		}
	}
}

// heldTask is public and held by the assignee.
func heldTask(state TaskState) TaskFacts {
	holder := int64(assigneeID)
	return TaskFacts{State: state, CreatorID: creatorID, AssigneeID: &holder, Public: true}
}

// underReview is a task held by the assignee that needs a review; submission 0: there is nothing to review.
func underReview(submission int64) TaskFacts {
	facts := heldTask(TaskInProgress)
	facts.ReviewMissing, facts.Submission = true, submission
	return facts
}

// TestTaskReviewNamesTheCurrentSubmission refuses the approval of a replaced result, and names the current one.
func TestTaskReviewNamesTheCurrentSubmission(t *testing.T) {
	t.Parallel()
	ask := TaskAsk{Action: TaskActionApprove, Comment: "good", Caller: people["member"], Submission: 8}
	_, _, err := DecideTask(underReview(9), ask)
	if refusal := fault.As(err); refusal.Code != fault.SubmissionNotCurrent || *refusal.Details["submission"].(*int64) != 9 {
		t.Errorf("a replaced one: %+v", refusal)
	}
	_, _, err = DecideTask(underReview(0), ask)
	if refusal := fault.As(err); refusal.Code != fault.SubmissionNotCurrent || refusal.Details["submission"].(*int64) != nil {
		t.Errorf("none: %+v", refusal)
	}
}

// TestTaskOffers lists what a caller may do; the comment that an action needs comes with it.
func TestTaskOffers(t *testing.T) {
	t.Parallel()
	free := TaskFacts{State: TaskNew, CreatorID: creatorID, Public: true}
	waiting := free
	waiting.OpenBlockers = []int64{7}

	for name, c := range map[string]struct {
		facts TaskFacts
		who   int64
		want  string
	}{
		"the assignee":         {heldTask(TaskInProgress), assigneeID, "[status submit] [DONE BLOCKED NEW CANCELLED]"},
		"under review":         {underReview(9), assigneeID, "[status submit] [BLOCKED NEW CANCELLED]"},
		"a reviewer":           {underReview(9), memberID, "[escalate approve reject] []"},
		"nothing to review":    {underReview(0), memberID, "[escalate] []"},
		"the creator":          {heldTask(TaskInProgress), creatorID, "[escalate status edit] [CANCELLED]"},
		"a member":             {heldTask(TaskInProgress), memberID, "[escalate] []"},
		"a member, free":       {free, memberID, "[claim] []"},
		"a member, blocked":    {waiting, memberID, "[] []"},
		"the creator, blocked": {waiting, creatorID, "[status edit] [CANCELLED]"},
		"the assignee, new":    {heldTask(TaskNew), assigneeID, "[claim status] [IN_PROGRESS]"},
		"a member, taken":      {heldTask(TaskNew), memberID, "[] []"},
	} {
		caller := TaskCaller{ID: c.who, Member: true}
		if got := fmt.Sprint(c.facts.AllowedActions(caller), c.facts.AllowedTargets(caller)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestVisibleTo has each reason for seeing a task alone, and what comes close to one.
func TestVisibleTo(t *testing.T) {
	t.Parallel()
	holder := int64(2)
	private := TaskFacts{CreatorID: 1, AssigneeID: &holder}
	public := private
	public.Public = true
	for name, c := range map[string]struct {
		facts  TaskFacts
		caller TaskCaller
		want   bool
	}{
		"the system":             {private, TaskCaller{System: true}, true},
		"an administrator":       {private, TaskCaller{ID: 3, Admin: true}, true},
		"the creator":            {private, TaskCaller{ID: 1}, true},
		"the assignee":           {private, TaskCaller{ID: 2}, true},
		"a member":               {public, TaskCaller{ID: 3, Member: true}, true},
		"a member, private":      {private, TaskCaller{ID: 3, Member: true}, false},
		"somebody else, public":  {public, TaskCaller{ID: 3}, false},
		"somebody else, private": {private, TaskCaller{ID: 3}, false},
	} {
		if got := c.facts.VisibleTo(c.caller); got != c.want {
			t.Errorf("%s: visible %t", name, got)
		}
	}
}
