package store_test

import (
	"crypto/rand"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
)

// claim is Ann's claim of a NEW task, with a lease of a minute, as of a moment.
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

// TestLeaseInTheRecord renews a lease, and expires it only once it has passed.
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

	// It was renewed: the first lease's timer finds that it continues.
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
	if len(events) != 3 || events[2].Type != lifecycle.TaskLapsed {
		t.Errorf("events %+v", events)
	}
}

// TestTokensOfARestoredRecord issues no fencing token twice after the record was restored, and restarts each lease.
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

// TestLeaseAcrossAPIOutage extends the lease of a holder who could not renew it, once per outage.
func TestLeaseAcrossAPIOutage(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	wanted := o.made(task.NewTask{}, task.NewTask{}, task.NewTask{}, task.NewTask{}, task.NewTask{})
	expire := func(of task.Task, at time.Time) task.Snapshot {
		o.t.Helper()
		return o.done(task.Act{TaskID: of.ID, Action: lifecycle.TaskActionExpire, At: at})
	}
	heartbeat := func() {
		o.t.Helper()
		o.must(o.Operations.SaveHeartbeat(t.Context(), operations.Process{Identity: "1@a@api", Service: "api", StartedAt: time.Now()}, nil))
	}

	// The API restarts: that takes no longer than a lease.
	heartbeat()
	o.exec(`UPDATE api_presence SET beat_at = now() - interval '10 seconds'`)
	heartbeat()
	o.claim(wanted[0], time.Now().Add(-65*time.Second))
	if ended := expire(wanted[0], time.Now()); ended.State != lifecycle.TaskStuck {
		t.Errorf("after a restart of the API: %+v", ended)
	}

	for _, held := range wanted[1:4] {
		o.claim(held, time.Now().Add(-70*time.Second))
	}
	o.exec(`UPDATE api_presence SET beat_at = now() - interval '50 seconds'`)
	o.exec(`UPDATE tasks SET lease_expires_at = now(), lease_seconds = 0 WHERE id = $1`, wanted[3].ID) // its holder was blocked
	during := expire(wanted[1], time.Now())
	if during.State != lifecycle.TaskInProgress || time.Until(*during.LeaseExpiresAt) < 50*time.Second {
		t.Errorf("while the API is away: %+v", during)
	}
	if blocked := expire(wanted[3], time.Now().Add(time.Second)); blocked.State != lifecycle.TaskStuck {
		t.Errorf("held by a blocked user: %+v", blocked)
	}

	heartbeat()
	after := expire(wanted[1], *during.LeaseExpiresAt)
	if after.State != lifecycle.TaskInProgress || !after.LeaseExpiresAt.After(*during.LeaseExpiresAt) {
		t.Errorf("once the API is back: %+v", after)
	}
	if _, err := o.Tasks.RenewLease(t.Context(), wanted[2].ID, o.ann.ID, 0); err != nil {
		t.Errorf("the first heartbeat after the outage: %v", err)
	}

	claimed := o.claim(wanted[4], time.Now().Add(time.Second))
	for name, of := range map[string]struct {
		task.Task
		at time.Time
	}{
		"silent for a lease after the outage": {wanted[1], *after.LeaseExpiresAt},
		"claimed after the outage":            {wanted[4], *claimed.LeaseExpiresAt},
	} {
		if ended := expire(of.Task, of.at); ended.State != lifecycle.TaskStuck {
			t.Errorf("%s: %+v", name, ended)
		}
	}
}
