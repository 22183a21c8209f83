package store_test

import (
	"slices"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

// TestTaskNotices plans who hears of a task's steps: creator and assignee, and the assignee of a task whose
// last blocker is DONE.
func TestTaskNotices(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	from, err := o.Notices.Cursor(t.Context())
	o.must(err)
	made := o.made(
		task.NewTask{Ref: "first", AssigneeID: &o.bob.ID},
		task.NewTask{BlockedBy: []string{"first"}, AssigneeID: &o.stranger.ID},
	)

	_, err = o.act(made[0], o.bob.ID, lifecycle.TaskActionStatus, lifecycle.TaskInput{To: lifecycle.TaskInProgress})
	o.must(err)
	o.move(made[0], lifecycle.TaskDone, &o.bob.ID)

	events := o.after(from)
	o.must(o.Notices.Plan(t.Context(), from, events, 0))
	notices, err := o.Notices.Due(t.Context(), []string{lifecycle.WorkloadTask}, 100)
	o.must(err)
	var told []int64
	for _, notice := range notices {
		told = append(told, notice.UserID)
	}

	slices.Sort(told)
	if !slices.Equal(told, []int64{o.ann.ID, o.bob.ID, o.stranger.ID}) {
		t.Errorf("%+v after %+v", notices, events)
	}
}

// TestFirstFailureIsNews fails a person's order twice in a way that may pass: they are told once.
func TestFirstFailureIsNews(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	user := b.user(7)
	b.must(b.Accounts.SaveUsername(t.Context(), user.ID, "@Durov"))
	hash := b.deposit("ann", 3*coin)
	b.quoted(hash, 2*coin)
	for attempt := 1; attempt <= 2; attempt++ {
		b.fail(hash, "FRAGMENT_UNAVAILABLE", lifecycle.Retryable, false)
		b.ok(b.Transactions.Retry(t.Context(), transaction.Request{Hash: hash, Attempt: attempt}))
	}

	if told := b.count("news"); told != 1 {
		t.Errorf("told %d times", told)
	}
}
