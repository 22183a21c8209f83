package store_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"stagecoach/internal/store/task"
)

// TestLiveOf finds live rows by their entities, except ended and young ones.
func TestLiveOf(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{}, task.NewTask{}, task.NewTask{})
	id := func(i int) string { return strconv.FormatInt(made[i].ID, 10) }
	o.exec(`UPDATE tasks SET created_at = now() - interval '1 minute' WHERE id <> ` + id(2))
	o.exec(`UPDATE tasks SET status = 'DONE', assignee_id = creator_id, finished_at = now(), status_deadline_at = NULL WHERE id = ` + id(0))

	find := func(what string, ids []string, want ...int64) {
		t.Helper()
		rows, err := o.Tasks.LiveOf(t.Context(), 5*time.Second, ids)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, row := range rows {
			got = append(got, row.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}

	find("a live one", []string{id(1)}, made[1].ID)
	find("a young one", []string{id(2)})
	find("one that is DONE", []string{id(0)})
}

// TestUnstarted finds live rows whose workflow was never started, except ended and young ones.
func TestUnstarted(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(slices.Repeat([]task.NewTask{{}}, 4)...)
	o.exec(`UPDATE tasks SET created_at = now() - interval '1 minute' WHERE id <> ` + strconv.FormatInt(made[3].ID, 10))
	o.exec(`UPDATE tasks SET status = 'CANCELLED', finished_at = now(), status_deadline_at = NULL WHERE id = ` + strconv.FormatInt(made[0].ID, 10))
	o.must(o.Tasks.MarkStarted(t.Context(), made[1].ID))

	rows, err := o.Tasks.Unstarted(t.Context(), 5*time.Second, 0, 10)
	if err != nil || len(rows) != 1 || rows[0].ID != made[2].ID || !rows[0].NeverStarted {
		t.Errorf("%+v, %v, want %d", rows, err, made[2].ID)
	}
	if rows, err := o.Tasks.Unstarted(t.Context(), 5*time.Second, made[2].ID, 10); err != nil || len(rows) != 0 {
		t.Errorf("after it there are %+v, %v", rows, err)
	}
}
