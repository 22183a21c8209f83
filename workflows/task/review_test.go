package task_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"stagecoach/dev/night"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// newReviewRig is a workspace that requires reviews.
func newReviewRig(t *testing.T, minutes float64) *rig {
	t.Helper()
	asks := true
	return newRig(t, tasks.WorkspaceChange{
		ReviewRequired: &asks, StatusDeadlines: map[lifecycle.TaskState]float64{lifecycle.TaskInProgress: minutes},
	})
}

func because(comment string) tasks.Said { return tasks.Said{Comment: comment} }

// submit submits a user's result and returns the submission's number.
func (w *rig) submit(by account.User, t task.Task, result string) int64 {
	w.Helper()
	changed, err := w.tasks.Submit(w.Context(), by, t.ID, json.RawMessage(result), because("done"))
	w.must(err)
	return *changed.Submission
}

func (w *rig) approve(by account.User, t task.Task, submission int64) error {
	_, err := w.tasks.Review(w.Context(), by, t.ID, lifecycle.TaskActionApprove, submission, because("good"))
	return err
}

func (w *rig) status(by account.User, t task.Task, to lifecycle.TaskState) error {
	_, err := w.tasks.Status(w.Context(), by, t.ID, to, "c", "")
	return err
}

// TestReview covers each way in which an approval comes and ends. No history contains the results.
func TestReview(t *testing.T) {
	t.Parallel()
	w := newReviewRig(t, 0)
	ctx, ann, bob := t.Context(), w.member(), w.member()
	one := w.task(nil)
	want := func(submission int64, approved bool) {
		t.Helper()
		got := w.reload(one)
		if fmt.Sprint(got.Facts().Submission, got.Approved) != fmt.Sprint(submission, approved) {
			t.Errorf("submission %d, approved %t; want %d %t", got.Facts().Submission, got.Approved, submission, approved)
		}
	}

	_, err := w.tasks.Claim(ctx, ann, one.ID, "mine", "")
	w.must(err)
	w.wantCode(w.status(ann, one, lifecycle.TaskDone), fault.ReviewRequired)
	first := w.submit(ann, one, `{"secret-of-the-result": 1}`)
	w.wantCode(w.status(ann, one, lifecycle.TaskDone), fault.ReviewRequired)
	w.wantCode(w.approve(ann, one, first), fault.InsufficientAccess)
	w.must(w.approve(bob, one, first))
	want(first, true)

	second := w.submit(ann, one, `["secret-of-the-result"]`) // voids the approval
	want(second, false)
	w.wantCode(w.approve(bob, one, first), fault.SubmissionNotCurrent)
	w.must(w.approve(bob, one, second))
	_, err = w.tasks.Review(ctx, w.creator, one.ID, lifecycle.TaskActionReject, second, because("no")) // voids it, too
	w.must(err)
	want(second, false)
	w.wantCode(w.status(ann, one, lifecycle.TaskDone), fault.ReviewRequired)

	w.must(w.approve(bob, one, second))
	w.must(w.status(ann, one, lifecycle.TaskNew)) // so does returning the task
	want(0, false)
	_, err = w.tasks.Claim(ctx, bob, one.ID, "mine", "")
	w.must(err)
	w.wantCode(w.status(bob, one, lifecycle.TaskDone), fault.ReviewRequired)
	third := w.submit(bob, one, `"secret-of-the-result"`)
	w.must(w.approve(ann, one, third))
	_, err = w.tasks.Escalate(ctx, ann, one.ID, "wait", "") // but not this
	w.must(err)
	w.must(w.status(bob, one, lifecycle.TaskInProgress))
	want(third, true)
	w.must(w.status(bob, one, lifecycle.TaskDone))

	w.must(w.client.GetWorkflow(ctx, one.WorkflowID(), "").Get(ctx, nil))
	for _, event := range w.history(one) {
		if text, err := protojson.Marshal(event); err != nil || strings.Contains(string(text), "secret-of") {
			t.Errorf("%v in the history: %s", err, text)
		}
	}
}

// TestReviewIsAskedForLater sets the review while a task is in progress: its workflow does not know, but the record
// does.
func TestReviewIsAskedForLater(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ann, asks := w.member(), true
	one := w.task(nil)
	_, err := w.tasks.Claim(t.Context(), ann, one.ID, "mine", "")
	w.must(err)
	_, err = w.tasks.ChangeWorkspace(t.Context(), w.creator, w.workspace.ID, tasks.WorkspaceChange{ReviewRequired: &asks}, "")
	w.must(err)
	w.wantCode(w.status(ann, one, lifecycle.TaskDone), fault.ReviewRequired)
	w.must(w.approve(w.creator, one, w.submit(ann, one, "1")))
	w.must(w.status(ann, one, lifecycle.TaskDone))
}

// TestNightReviewRace lets people submit, review, take over, return and finish at once, in any order. Whatever happens,
// a task is DONE only if its assignee's newest submission was approved by someone else, who named it.
func TestNightReviewRace(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const agents, contested, steps = 4, 6, 25
	w := newReviewRig(t, 1.5/60)
	people := []account.User{w.creator}
	for range agents - 1 {
		people = append(people, w.member())
	}

	var all sync.WaitGroup
	var made []task.Task
	for range contested {
		one := w.task(nil)
		made = append(made, one)
		for _, who := range people {
			all.Go(func() {
				for range steps {
					w.anything(who, one)
				}
			})
		}
	}

	all.Wait()
	done := 0
	for _, one := range made {
		if w.checkReviewed(one) {
			done++
		}
	}
	t.Logf("%d of %d tasks are DONE", done, contested)
}

// anything performs a step that may be refused. A person approves what they saw a moment before.
func (w *rig) anything(who account.User, t task.Task) {
	seen, err := w.store.Tasks.ByID(w.Context(), 0, t.ID)
	if err != nil {
		w.Errorf("%v", err)
		return
	}

	ctx := w.Context()
	submission := max(1, seen.Facts().Submission)
	switch n := rand.IntN(10); {
	case seen.State == lifecycle.TaskNew:
		_, err = w.tasks.Claim(ctx, who, t.ID, "c", "")
	case seen.State == lifecycle.TaskStuck && n < 5:
		_, err = w.tasks.Takeover(ctx, who, t.ID, "c", "")
	case n < 3:
		_, err = w.tasks.Submit(ctx, who, t.ID, json.RawMessage(`{}`), because("c"))
	case n < 6:
		_, err = w.tasks.Review(ctx, who, t.ID, lifecycle.TaskActionApprove, submission, because(fmt.Sprint(submission)))
	case n < 7:
		_, err = w.tasks.Review(ctx, who, t.ID, lifecycle.TaskActionReject, submission, because("c"))
	case n < 8:
		err = w.status(who, t, lifecycle.TaskNew)
	default:
		err = w.status(who, t, lifecycle.TaskDone)
	}

	if code := fault.CodeOf(err); err != nil && (code == "" || code == fault.Internal) {
		w.Errorf("%v %v", err, cause(err))
	}
}

// checkReviewed follows a task's events and reports whether it is DONE.
func (w *rig) checkReviewed(t task.Task) (done bool) {
	w.Helper()
	events, err := w.store.Tasks.EventsOf(w.Context(), 0, t.ID, 0, 10000)
	w.must(err)

	var holder, submission, approver int64
	for _, e := range events {
		switch {
		case e.Type == "claimed" || e.Type == "taken_over":
			holder, submission, approver = *e.ActorID, 0, 0
		case e.To == string(lifecycle.TaskNew):
			holder, submission, approver = 0, 0, 0
		case e.Type == "submitted":
			submission, approver = e.Seq, 0
		case e.Type == "rejected":
			approver = 0
		case e.Type == "approved" && e.Comment == fmt.Sprint(submission):
			approver = *e.ActorID
		case e.Type == "approved":
			w.Errorf("task %d: the submission is %d, and %s was approved", t.ID, submission, e.Comment)
		case e.To == string(lifecycle.TaskDone):
			done = true
			if submission == 0 || approver == 0 || approver == holder || *e.ActorID != holder {
				w.Errorf("task %d is DONE: submission %d of %d, approved by %d", t.ID, submission, holder, approver)
			}
		}
	}

	return done
}
