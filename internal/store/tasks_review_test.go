package store_test

import (
	"crypto/rand"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
)

// underReview is a task of Bob's in an office that requires reviews.
func underReview(t *testing.T) (*office, task.Task) {
	t.Helper()
	o := newOffice(t, func(w *task.Workspace) { w.ReviewRequired = true })
	row := o.made(task.NewTask{})[0]
	o.move(row, lifecycle.TaskInProgress, &o.bob.ID)
	return o, row
}

// change performs a member's action that leaves the status unchanged.
func (o *office) change(
	row task.Task, who account.User, action lifecycle.TaskAction, submission int64, edit task.Edit,
) (task.Task, error) {
	id := rand.Text()
	o.must(o.Answers.KeepContent(o.t.Context(), who.ID, id, task.Content{Result: []byte(`{"a":1}`), Edit: edit}))
	if _, err := o.actAs(id, row, who.ID, action, lifecycle.TaskInput{Submission: submission}); err != nil {
		return task.Task{}, err
	}
	return o.Tasks.ByID(o.t.Context(), 0, row.ID)
}

// TestUnreviewedIsNotDone finishes a task that needs a review without one, and with one.
func TestUnreviewedIsNotDone(t *testing.T) {
	t.Parallel()
	o, row := underReview(t)
	done := lifecycle.TaskInput{To: lifecycle.TaskDone}
	if _, err := o.act(row, o.bob.ID, lifecycle.TaskActionStatus, done); fault.CodeOf(err) != fault.ReviewRequired {
		t.Errorf("without a review: %v", err)
	}

	submitted, err := o.change(row, o.bob, lifecycle.TaskActionSubmit, 0, task.Edit{})
	o.must(err)
	approved, err := o.change(row, o.ann, lifecycle.TaskActionApprove, *submitted.Submission, task.Edit{})
	o.must(err)
	if !approved.Approved || approved.ReviewMissing {
		t.Errorf("approved: %+v", approved)
	}
	if state := o.move(row, lifecycle.TaskDone, &o.bob.ID); state.State != lifecycle.TaskDone || state.ReviewMissing {
		t.Errorf("with a review: %+v", state)
	}
}

// TestSubmissionEndsWithItsAssignee returns the task, and expects neither result nor approval. The result stays in the
// list.
func TestSubmissionEndsWithItsAssignee(t *testing.T) {
	t.Parallel()
	o, row := underReview(t)
	submitted, err := o.change(row, o.bob, lifecycle.TaskActionSubmit, 0, task.Edit{})
	o.must(err)
	_, err = o.change(row, o.ann, lifecycle.TaskActionApprove, *submitted.Submission, task.Edit{})
	o.must(err)

	o.move(row, lifecycle.TaskNew, &o.bob.ID)
	back, err := o.Tasks.ByID(t.Context(), 0, row.ID)
	o.must(err)
	if back.Submission != nil || back.Approved || !back.ReviewMissing {
		t.Errorf("given back: %+v", back)
	}

	if _, err = o.change(row, o.ann, lifecycle.TaskActionApprove, *submitted.Submission, task.Edit{}); fault.CodeOf(err) != fault.InvalidTransition {
		t.Errorf("approved: %v", err)
	}
	kept, err := o.Tasks.Submissions(t.Context(), o.ann.ID, row.ID, 0, 10)
	o.must(err)
	if len(kept) != 1 || kept[0].AuthorID != o.bob.ID || string(kept[0].Result) != `{"a":1}` || kept[0].Comment != "c" {
		t.Errorf("kept: %+v", kept)
	}

	hidden, err := o.Tasks.Submissions(t.Context(), o.stranger.ID, row.ID, 0, 10)
	o.must(err)
	if len(hidden) != 0 {
		t.Errorf("a stranger sees %+v", hidden)
	}
}

// TestEditInTheRecord changes a field, and makes no event if nothing changes.
func TestEditInTheRecord(t *testing.T) {
	t.Parallel()
	o, row := underReview(t)
	title, none := "another title", ""
	for range 2 {
		edited, err := o.change(row, o.ann, lifecycle.TaskActionEdit, 0, task.Edit{Title: &title, Description: &none})
		o.must(err)
		if edited.Title != title {
			t.Errorf("edited: %+v", edited)
		}
	}

	events, err := o.Tasks.EventsOf(t.Context(), 0, row.ID, 0, 10)
	o.must(err)
	if len(events) != 3 || events[2].Type != "edited" || events[2].Comment != "title: c" {
		t.Errorf("events %+v", events)
	}
}

// TestResultsGoWithTheirTask lets retention delete an ended task, with its results.
func TestResultsGoWithTheirTask(t *testing.T) {
	t.Parallel()
	o, row := underReview(t)
	_, err := o.change(row, o.bob, lifecycle.TaskActionSubmit, 0, task.Edit{})
	o.must(err)
	o.move(row, lifecycle.TaskCancelled, &o.bob.ID)
	o.aged(400, "tasks", "true", "created_at", "finished_at", "updated_at")
	o.wantDeleted(o.deleteOld(operations.Retention{"tasks": 365}), map[string]int64{"tasks": 1})
	if n := o.count("task_submissions"); n != 0 {
		t.Errorf("%d results are left", n)
	}
}
