package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
)

// TestLooks begins and ends looks: the first one goes back for a while, a later one to the newest mark that is old
// enough, and one after a long outage begins anew.
func TestLooks(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	begin := func() operations.Look {
		t.Helper()
		look, err := o.BeginLook(t.Context(), time.Minute, 2*time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return look
	}

	about := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want-time.Minute || got > want+time.Minute {
			t.Errorf("%s goes back for %v, want about %v", what, got, want)
		}
	}

	first := begin()
	about("the first look", first.Began.At.Sub(first.Since.At), time.Hour)
	if first.Since.XID != 0 {
		t.Errorf("it leaves out events before %d", first.Since.XID)
	}
	if again := begin(); !again.Since.At.Equal(first.Since.At) {
		t.Errorf("a look that failed is not repeated: %v, %v", again.Since, first.Since)
	}

	end := func(look operations.Look) {
		t.Helper()
		if err := o.EndLook(t.Context(), look); err != nil {
			t.Fatal(err)
		}
	}

	end(first)
	if next := begin(); !next.Since.At.Equal(first.Since.At) {
		t.Errorf("a mark of this minute was used: %v", next.Since)
	}

	o.exec(`UPDATE reconciler_marks SET at = at - interval '2 minutes'`)
	second := begin()
	about("the second look", second.Began.At.Sub(second.Since.At), 2*time.Minute)
	if second.Since.XID != first.Began.XID {
		t.Errorf("it begins at event %d, want %d", second.Since.XID, first.Began.XID)
	}
	end(second)

	o.exec(`UPDATE reconciler_marks SET at = at - interval '3 hours'`)
	late := begin()
	about("a look after an outage", late.Began.At.Sub(late.Since.At), time.Hour)
	end(late)
	if marks := o.count(`reconciler_marks WHERE at < now() - interval '2 hours'`); marks != 0 {
		t.Errorf("%d old marks are kept", marks)
	}

	if err := o.AfterRestore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if marks := o.count(`reconciler_marks`); marks != 0 {
		t.Errorf("%d marks of another server are kept", marks)
	}
}

// TestFirstLookGoesBackAThousandEvents bounds what the first look reads.
func TestFirstLookGoesBackAThousandEvents(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.made(slices.Repeat([]task.NewTask{{}}, 3)...)
	before := o.count(`events`)
	for i := range 11 {
		o.exec(fmt.Sprintf(`INSERT INTO events (workload, entity_id, seq, type, to_state)
			SELECT 'delivery', (n + %d)::text, 1, 't', 'S' FROM generate_series(1, 100) n`, 1000*i))
	}

	look, err := o.BeginLook(t.Context(), time.Minute, 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := o.ChangedEntities(t.Context(), core.Cursor{XID: look.Since.XID}, 10_000)
	if err != nil || len(changed) != 1100 {
		t.Errorf("%d of %d events are read, %v", len(changed), before+1100, err)
	}
}

// TestChangedEntities reads the changes since a mark, a page at a time, and none of what came before.
func TestChangedEntities(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.made(task.NewTask{})
	look, err := o.BeginLook(t.Context(), time.Minute, 2*time.Hour)
	if err != nil {
		t.Fatal(err)
	}

	made := o.made(slices.Repeat([]task.NewTask{{}}, 5)...)
	job := o.job(o.ann)
	var got []string
	for after := (core.Cursor{XID: look.Began.XID}); ; {
		page, err := o.ChangedEntities(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			got, after = append(got, e.Workload+" "+e.Entity), core.Cursor{XID: e.XID, ID: e.ID}
		}
		if len(page) < 2 {
			break
		}
	}

	var want []string
	for _, one := range made {
		want = append(want, lifecycle.WorkloadTask+" "+strconv.FormatInt(one.ID, 10))
	}
	want = append(want, lifecycle.WorkloadDelivery+" "+strconv.FormatInt(job.ID, 10))
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestUnsettled keeps what a try has left, and forgets what it has settled.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	note := func(tried, left []string, want ...string) {
		t.Helper()
		if err := o.NoteUnsettled(t.Context(), lifecycle.WorkloadTask, tried, left); err != nil {
			t.Fatal(err)
		}
		got, err := o.Unsettled(t.Context(), lifecycle.WorkloadTask, 10)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v", got, err, want)
		}
	}

	note(nil, []string{"1", "2", "3"}, "1", "2", "3")
	note([]string{"1", "2"}, []string{"1"}, "3", "1") // those first that wait longest
	note([]string{"3", "1"}, nil)
	if other, err := o.Unsettled(t.Context(), lifecycle.WorkloadDelivery, 10); err != nil || len(other) > 0 {
		t.Errorf("%v, %v", other, err)
	}
}

// TestLiveOf finds live rows by their entities: neither ended nor young ones. A task whose last blocker is one of them
// and DONE belongs to them.
func TestLiveOf(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{}, task.NewTask{}, task.NewTask{}, task.NewTask{})
	id := func(i int) string { return strconv.FormatInt(made[i].ID, 10) }
	o.exec(`UPDATE tasks SET created_at = now() - interval '1 minute' WHERE id <> ` + id(3))
	o.exec(`UPDATE tasks SET status = 'DONE', assignee_id = creator_id, finished_at = now(), status_deadline_at = NULL WHERE id = ` + id(0))
	o.exec(`INSERT INTO task_blockers (task_id, blocker_id) VALUES (` + id(2) + `, ` + id(0) + `)`)
	o.exec(`UPDATE tasks SET clock_waits = true, status_deadline_at = NULL WHERE id = ` + id(2))

	find := func(what string, ids []string, want ...int64) {
		t.Helper()
		rows, err := o.LiveTasksOf(t.Context(), 5*time.Second, ids)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, row := range rows {
			got = append(got, row.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	find("a live one", []string{id(1)}, made[1].ID)
	find("a young one", []string{id(3)})
	find("one that is DONE", []string{id(0)}, made[2].ID)
	o.exec(`INSERT INTO task_blockers (task_id, blocker_id) VALUES (` + id(2) + `, ` + id(1) + `)`)
	find("one that is DONE, of a task that waits for another", []string{id(0)})
}
