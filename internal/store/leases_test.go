package store_test

import (
	"crypto/rand"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// claim is a claim of a NEW task by ann, with a lease of a minute, as of a moment.
func (o *office) claim(t task.Task, at time.Time) task.Snapshot {
	o.t.Helper()
	return o.done(task.Act{
		TaskID: t.ID, RequestID: rand.Text(), Action: lifecycle.TaskActionClaim, At: at,
		Input: lifecycle.TaskInput{Actor: o.ann.ID, Comment: "c", LeaseSeconds: 60},
	})
}

func (o *office) done(a task.Act) task.Snapshot {
	o.t.Helper()
	acted, err := o.Tasks.Act(o.t.Context(), a)
	o.must(err)
	return acted.State
}

// TestLeaseInTheRecord renews a lease, and expires it only when it has passed.
func TestLeaseInTheRecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	wanted := o.made(task.NewTask{})[0]
	claimed := o.claim(wanted, time.Now())
	if claimed.LeaseExpiresAt == nil || claimed.FencingToken < time.Now().Add(-time.Hour).UnixMilli() {
		t.Fatalf("claimed %+v", claimed)
	}

	for name, c := range map[string]struct {
		user, token int64
		want        fault.Code
	}{
		"by its holder":          {o.ann.ID, 0, ""},
		"with the token":         {o.ann.ID, claimed.FencingToken, ""},
		"with another token":     {o.ann.ID, claimed.FencingToken - 1, fault.LeaseLost},
		"by somebody else":       {o.bob.ID, claimed.FencingToken, fault.LeaseLost},
		"by somebody else, bare": {o.bob.ID, 0, fault.LeaseLost},
	} {
		if _, err := o.Tasks.RenewLease(t.Context(), wanted.ID, c.user, c.token); fault.CodeOf(err) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}

	// It was renewed: the timer of the first lease finds that it goes on.
	kept := o.done(task.Act{TaskID: wanted.ID, Action: lifecycle.TaskActionExpire, At: *claimed.LeaseExpiresAt})
	if kept.State != lifecycle.TaskInProgress || kept.Version != claimed.Version || !kept.LeaseExpiresAt.After(*claimed.LeaseExpiresAt) {
		t.Errorf("after the first lease: %+v", kept)
	}

	ended := o.done(task.Act{TaskID: wanted.ID, Action: lifecycle.TaskActionExpire, At: *kept.LeaseExpiresAt})
	if ended.State != lifecycle.TaskStuck || ended.LeaseExpiresAt != nil || ended.FencingToken <= claimed.FencingToken {
		t.Errorf("after the lease: %+v", ended)
	}
	if _, err := o.Tasks.RenewLease(t.Context(), wanted.ID, o.ann.ID, 0); fault.CodeOf(err) != fault.LeaseLost {
		t.Errorf("a heartbeat after the end: %v", err)
	}

	events, err := o.Tasks.EventsOf(t.Context(), 0, wanted.ID, 0, 10)
	o.must(err)
	if len(events) != 3 || events[2].Reason != "lease" || events[1].Reason != "" {
		t.Errorf("events %+v", events)
	}
}

// TestTokensOfARestoredRecord gives no token a second time after the record was set back, and lets each lease begin anew.
func TestTokensOfARestoredRecord(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	wanted := o.made(task.NewTask{}, task.NewTask{})
	lost := o.claim(wanted[0], time.Now())
	old := o.claim(wanted[1], time.Now().Add(-time.Hour))
	o.exec(`UPDATE tasks SET status = 'NEW', assignee_id = NULL, fencing_token = 0, lease_seconds = NULL,
		lease_expires_at = NULL WHERE id = $1`, wanted[0].ID)
	o.must(o.Operations.AfterRestore(t.Context()))

	if again := o.claim(wanted[0], time.Now().Add(time.Second)); again.FencingToken <= lost.FencingToken {
		t.Errorf("the token %d again, after %d", again.FencingToken, lost.FencingToken)
	}
	if _, err := o.Tasks.RenewLease(t.Context(), wanted[1].ID, o.ann.ID, old.FencingToken); err != nil {
		t.Errorf("a lease from before the restore: %v", err)
	}
}
