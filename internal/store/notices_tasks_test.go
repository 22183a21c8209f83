package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

// TestTaskNotices plans who is notified of a task's steps: creator and assignee, and the assignee of a task whose last
// blocker is DONE.
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

// TestMutedNotifications plans no notification of what a user has muted: a task, or agents' actions on tasks.
func TestMutedNotifications(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{Ref: "first", AssigneeID: &o.bob.ID}, task.NewTask{BlockedBy: []string{"first"}, AssigneeID: &o.bob.ID})
	agent, err := o.Accounts.CreateAgent(t.Context(), o.ann.ID, "Robot", account.Token{Name: "robot", Scopes: account.Scopes}, account.NewToken())
	o.must(err)

	told := func(by int64) (people []int64) {
		t.Helper()
		from, err := o.Notices.Cursor(t.Context())
		o.must(err)
		o.must(o.Notices.Plan(t.Context(), from, o.after(from), 0)) // what happened before
		o.exec(`DELETE FROM news`)
		from, err = o.Notices.Cursor(t.Context())
		o.must(err)
		_, err = o.Tasks.Comment(t.Context(), made[0].ID, "a word", core.Request{UserID: by})
		o.must(err)
		o.must(o.Notices.Plan(t.Context(), from, o.after(from), 0))
		notices, err := o.Notices.Due(t.Context(), []string{lifecycle.WorkloadTask}, 100)
		o.must(err)
		for _, notice := range notices {
			people = append(people, notice.UserID)
		}
		slices.Sort(people)
		return people
	}
	check := func(what string, by int64, want ...int64) {
		t.Helper()
		if got := told(by); !slices.Equal(got, want) {
			t.Errorf("%s: %v are told, want %v", what, got, want)
		}
	}

	check("nobody has muted anything", o.stranger.ID, o.ann.ID, o.bob.ID)
	check("an agent", agent.ID, o.ann.ID, o.bob.ID, o.stranger.ID)
	muted := func(user int64, is bool) { o.must(o.Tasks.SetMuted(t.Context(), user, made[0].ID, is)) }
	for range 2 {
		muted(o.bob.ID, true)
		check("the task is muted, and muted again", o.stranger.ID, o.ann.ID)
	}
	for range 2 {
		muted(o.bob.ID, false)
		check("it is unmuted, and unmuted again", o.stranger.ID, o.ann.ID, o.bob.ID)
	}
	chat := int64(404)
	eve, err := o.Accounts.CreateUser(t.Context(), account.User{Status: account.UserActive, TelegramID: &chat}, "")
	o.must(err)
	muted(eve.ID, true)
	muted(eve.ID, false)
	check("somebody who never took part unmutes it", o.stranger.ID, o.ann.ID, o.bob.ID)
	check("and acts", eve.ID, o.ann.ID, o.bob.ID, o.stranger.ID)
	check("and is notified since", o.stranger.ID, o.ann.ID, o.bob.ID, eve.ID)

	o.must(o.Accounts.SetAgentsMuted(t.Context(), o.ann.ID, true))
	check("agents are muted", agent.ID, o.bob.ID, o.stranger.ID, eve.ID)
	check("people are not", o.bob.ID, o.ann.ID, o.stranger.ID, eve.ID)
	o.must(o.Accounts.SetAgentsMuted(t.Context(), o.ann.ID, false))
	check("agents are heard", agent.ID, o.ann.ID, o.bob.ID, o.stranger.ID, eve.ID)

	o.must(o.Tasks.SetMuted(t.Context(), o.bob.ID, made[1].ID, true))
	from, err := o.Notices.Cursor(t.Context())
	o.must(err)
	_, err = o.act(made[0], o.bob.ID, lifecycle.TaskActionStatus, lifecycle.TaskInput{To: lifecycle.TaskInProgress})
	o.must(err)
	o.move(made[0], lifecycle.TaskDone, &o.bob.ID)
	o.must(o.Notices.Plan(t.Context(), from, o.after(from), 0))
	if n := o.number(`SELECT count(*) FROM news WHERE user_id = $1 AND entity_id = $2`, o.bob.ID, fmt.Sprint(made[1].ID)); n != 0 {
		t.Error("the muted task that may begin is told")
	}
}

// TestTasksAreFoundByWords searches titles and descriptions, and counts a board's columns.
func TestTasksAreFoundByWords(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{Ref: "first", Description: "Ёлка и 100% света"}, task.NewTask{BlockedBy: []string{"first"}}, task.NewTask{})
	for words, want := range map[string]int{"": 3, "TEST": 3, "ёлка test": 1, "елка": 0, "100%": 1, "%": 1, "_": 0} {
		for _, viewer := range []int64{0, o.bob.ID} {
			got, err := o.Tasks.List(t.Context(), task.Filter{Viewer: viewer, Words: words, Limit: 10})
			if err != nil || len(got) != want {
				t.Errorf("%q for %d: %d, %v", words, viewer, len(got), err)
			}
		}
	}
	for viewer, want := range map[int64]int{0: 3, o.bob.ID: 3, o.stranger.ID: 0} {
		if counts, err := o.Tasks.CountsOf(t.Context(), viewer, o.Workspace.ID, 1000); err != nil || counts[lifecycle.TaskNew] != want || counts[lifecycle.TaskDone] != 0 {
			t.Errorf("%d sees %v, %v", viewer, counts, err)
		}
	}
	if counts, err := o.Tasks.CountsOf(t.Context(), 0, o.Workspace.ID, 2); err != nil || counts[lifecycle.TaskNew] != 2 {
		t.Errorf("two at most: %v, %v", counts, err)
	}
	board, err := o.Tasks.BoardOf(t.Context(), 0, o.Workspace.ID, 1) // the newest, and the newest claimable
	if err != nil || len(board) != 1 || board[0].ID != made[2].ID {
		t.Errorf("the board: %+v, %v", board, err)
	}
}

// TestCreatorIsNotifiedThatTaskIsHopeless cancels one of two blockers: the creators of the tasks that waited for it are
// notified, unless they did it themselves.
func TestCreatorIsNotifiedThatTaskIsHopeless(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(
		task.NewTask{Ref: "first"}, task.NewTask{Ref: "second"},
		task.NewTask{Ref: "third", BlockedBy: []string{"first", "second"}}, task.NewTask{BlockedBy: []string{"third"}},
	)
	bobs, _, err := o.Tasks.Create(t.Context(), o.Workspace.ID, []task.NewTask{{
		Title: "bob's", Priority: task.PriorityNormal, Visibility: task.Public, Labels: []string{},
		BlockedBy: []string{fmt.Sprint(made[0].ID), fmt.Sprint(made[1].ID)},
	}}, core.Event{Type: "created", To: "NEW"}, core.Request{UserID: o.bob.ID})
	o.must(err)

	hopeless := func(after string, want string) {
		t.Helper()
		from, err := o.Notices.Cursor(t.Context())
		o.must(err)
		o.must(o.Notices.Plan(t.Context(), from, o.after(from), 0))
		var told []string
		for {
			due, err := o.Notices.Due(t.Context(), []string{lifecycle.WorkloadTask}, 1)
			if o.must(err); len(due) == 0 {
				break
			}
			if due[0].Has(notice.NoticeHopeless) {
				told = append(told, fmt.Sprintf("%s to %d", due[0].EntityID, due[0].UserID))
			}
			_, err = o.Notices.Take(t.Context(), &due[0])
			o.must(err)
		}
		if got := strings.Join(told, ", "); got != want {
			t.Errorf("after %s: %q, want %q", after, got, want)
		}
	}
	hopeless("the creation", "")
	o.move(made[0], lifecycle.TaskCancelled, &o.ann.ID)
	hopeless("ann has cancelled the first", fmt.Sprintf("%d to %d", bobs[0].ID, o.bob.ID))
	_, err = o.Tasks.Act(t.Context(), task.Act{ // by an operator
		TaskID: made[1].ID, Action: lifecycle.TaskActionCancel, Input: lifecycle.TaskInput{Comment: "c"}, At: time.Now(),
	})
	o.must(err)
	hopeless("an operator has cancelled the second", fmt.Sprintf("%d to %d", made[2].ID, o.ann.ID)) // bob knows

	for id, cancelled := range map[int64][]int64{made[2].ID: {made[0].ID, made[1].ID}, made[3].ID: nil} {
		_, err := o.Tasks.Act(t.Context(), task.Act{
			TaskID: id, RequestID: fmt.Sprint("claim ", id), Action: lifecycle.TaskActionClaim, Input: lifecycle.TaskInput{Actor: o.bob.ID, Comment: "c"},
		})
		refusal := fault.As(err)
		if refusal == nil || refusal.Code != fault.UnresolvedBlockers {
			t.Errorf("claim of %d: %v", id, err)
			continue
		}
		if got, _ := refusal.Details["cancelled"].([]int64); !slices.Equal(got, cancelled) {
			t.Errorf("claim of %d: %+v", id, refusal)
		}
	}
}

// TestFirstFailureIsNews fails a person's order twice in a way that may pass: they are notified once.
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
