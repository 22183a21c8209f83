package store_test

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// fillReady writes tasks of a busy workspace: all may be claimed, except the newest thousand of each priority, which
// wait for others. User 2 is also a member of many workspaces without tasks.
const fillReady = `
	SET session_replication_role = replica;
	INSERT INTO users (name, telegram_id, status) SELECT 'u', n, 'ACTIVE' FROM generate_series(1, 3) n;
	INSERT INTO workspaces (name, owner_id, status_deadlines) SELECT 'w', 1, '{}' FROM generate_series(1, 200);
	INSERT INTO workspace_members (workspace_id, user_id) SELECT n, u FROM generate_series(1, 200) n, generate_series(1, 2) u;
	INSERT INTO tasks (workspace_id, title, creator_id, assignee_id, status, priority, labels, finished_at)
		SELECT 1, 'a title', 1, CASE WHEN n % 2 = 0 THEN 1 END, CASE n % 2 WHEN 0 THEN 'DONE' ELSE 'NEW' END,
			(ARRAY ['low', 'normal', 'high', 'critical'])[n / 2 % 4 + 1], '{some}', CASE n % 2 WHEN 0 THEN now() END
		FROM generate_series(1, 40000) n;
	INSERT INTO task_blockers SELECT id, 1 FROM tasks WHERE status = 'NEW' AND id > 32000;
	SET session_replication_role = DEFAULT;
	ANALYZE`

// TestNightNextReadsFewRows chooses tasks among many, repeatedly, and requires PostgreSQL to find them by an index.
func TestNightNextReadsFewRows(t *testing.T) {
	night.Only(t)
	t.Parallel()
	url := testdb.URL(t)
	fillWith(t, url, fillReady)
	for name, c := range map[string]struct {
		wish  task.Wish
		first int64
	}{
		"of a workspace":            {task.Wish{MemberID: 2, WorkspaceID: 1}, 7},
		"for an administrator":      {task.Wish{WorkspaceID: 1}, 7},
		"of all workspaces":         {task.Wish{MemberID: 2}, 7},
		"that is urgent":            {task.Wish{MemberID: 2, Priority: task.PriorityHigh}, 7},
		"with a label":              {task.Wish{MemberID: 2, Labels: []string{"some"}}, 7},
		"of an empty workspace":     {task.Wish{MemberID: 2, WorkspaceID: 2}, 0},
		"for somebody else":         {task.Wish{MemberID: 3}, 0},
		"of a workspace of another": {task.Wish{MemberID: 3, WorkspaceID: 1}, 0},
	} {
		s, err := store.OpenPool(t.Context(), url, core.Pool{Connections: 2}, testdb.Key)
		if err != nil {
			t.Fatal(err)
		}

		before := testdb.RowsRead(t, url)
		for range listRuns {
			found, err := s.Tasks.Next(t.Context(), c.wish, nil, 1)
			if err != nil || c.first == 0 && len(found) > 0 || c.first != 0 && !slices.Equal(found, []int64{c.first}) {
				t.Fatalf("%s: %v, %v; want %d", name, found, err, c.first)
			}
		}

		s.Close() // PostgreSQL gets a session's statistics when it ends
		if read := (testdb.RowsRead(t, url) - before) / listRuns; read > lying/20 {
			t.Errorf("%s: %d rows are read each time", name, read)
		}
	}
}

// TestChoices replaces a request's choice, until it is done.
func TestChoices(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	ctx := t.Context()
	r := core.Request{UserID: o.ann.ID, Key: "k", Asked: "next"}
	choose := func(r core.Request, was, now core.Choice, want bool) {
		t.Helper()
		if kept, err := o.Answers.Choose(ctx, r, was, now); err != nil || kept != want {
			t.Errorf("%+v after %+v: kept %v, %v", now, was, kept, err)
		}
	}

	is := func(r core.Request, want core.Choice, wantDone bool) {
		t.Helper()
		var answer task.Answer
		if choice, done, err := o.Answers.ChoiceOf(ctx, r, &answer); err != nil || choice != want || done != wantDone {
			t.Errorf("the choice is %+v, done %v, %v; want %+v, %v", choice, done, err, want, wantDone)
		}
	}

	first, second, third := core.Choice{ID: 7, Try: 1}, core.Choice{ID: 8, Try: 2}, core.Choice{ID: 9, Try: 3}
	is(r, core.Choice{}, false)
	choose(r, core.Choice{}, first, true)
	choose(r, core.Choice{}, second, false)
	is(r, first, false)
	choose(r, first, second, true)
	choose(r, first, third, false)
	is(r, second, false)

	// the stored claim is for another choice than the current one
	row := o.made(task.NewTask{})[0]
	_, err := core.KeepAnswer(ctx, o.Answers, r.Attempt(first), task.TaskAnswerOf(&row, nil))
	o.must(err)
	is(r, second, false)
	_, err = core.KeepAnswer(ctx, o.Answers, r.Attempt(second), task.TaskAnswerOf(&row, nil))
	o.must(err)
	is(r, second, true)
	choose(r, second, third, false)

	var answer task.Answer
	for _, key := range []core.Request{{UserID: o.ann.ID, Key: "k", Asked: "other"}, {UserID: o.ann.ID, Key: "used", Asked: "next"}} {
		if key.Key == "used" {
			_, err := core.KeepAnswer(ctx, o.Answers, core.Request{UserID: o.ann.ID, Key: "used", Asked: "claim 1"}, task.TaskAnswerOf(&row, nil))
			o.must(err)
		}
		choose(key, core.Choice{}, first, false)
		if _, _, err := o.Answers.ChoiceOf(ctx, key, &answer); fault.CodeOf(err) != fault.Validation {
			t.Errorf("key %s for %s: %v", key.Key, key.Asked, err)
		}
	}

	is(core.Request{UserID: o.bob.ID, Key: "k", Asked: "next"}, core.Choice{}, false)
	if id, other := r.Attempt(first).ID(), r.Attempt(second).ID(); id == other {
		t.Errorf("two attempts have the id %s", id)
	}
	user, key, keyed := core.KeyIn(r.Attempt(first).ID())
	if want := fmt.Sprintf("%d %s", o.ann.ID, r.Attempt(first).Key); !keyed || fmt.Sprintf("%d %s", user, key) != want {
		t.Errorf("the id has %d %s %v, want %s", user, key, keyed, want)
	}
}
