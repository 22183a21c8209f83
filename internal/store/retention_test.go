package store_test

import (
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
)

// aged makes rows of a table as old as they would be after some days.
func (w *rig) aged(days int, table, where string, columns ...string) {
	w.t.Helper()
	for _, column := range columns {
		w.exec("UPDATE "+table+" SET "+column+" = "+column+" - $1::interval WHERE "+where, time.Duration(days)*24*time.Hour)
	}
}

// deleteOld deletes everything old, a few rows at a time, and returns how many of each kind.
func (w *rig) deleteOld(r operations.Retention) map[string]int64 {
	w.t.Helper()
	total := map[string]int64{}
	for _, old := range w.Operations.OldKinds(r) {
		for next, rounds := int64(0), 0; ; rounds++ {
			deleted, after, err := w.Operations.DeleteOld(w.t.Context(), old, next, 2)
			w.must(err)
			total[old.Kind] += deleted
			if next = after; next == 0 {
				break
			}
			if rounds > 1000 {
				w.t.Fatalf("%s: no end", old.Kind)
			}
		}
	}

	return total
}

func (w *rig) wantDeleted(got map[string]int64, want map[string]int64) {
	w.t.Helper()
	for kind, n := range got {
		if n != want[kind] {
			w.t.Errorf("%s: %d rows deleted, want %d", kind, n, want[kind])
		}
	}
}

// end gives a job its end.
func (w *rig) end(job delivery.Job) {
	w.t.Helper()
	_, err := w.Deliveries.Change(w.t.Context(), job.ID, func(walk *delivery.JobWalk) error {
		walk.Row.LastError = "FILE_NOT_FOUND"
		return walk.Take(delivery.JobStep{Action: lifecycle.DeliveryActionFail})
	})
	w.must(err)
}

// TestOldDeliveries keeps young rows, and those that have not ended, however old.
func TestOldDeliveries(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := w.user(1)
	var old []delivery.Job
	for range 5 {
		old = append(old, w.job(user))
	}

	live := w.job(user) // among those to be deleted
	late := w.job(user) // made long ago, ended now
	for range 3 {
		old = append(old, w.job(user))
	}

	for _, job := range old {
		w.end(job)
	}

	w.aged(100, "jobs", "true", "created_at", "updated_at")
	w.aged(100, "events", "workload = 'delivery'", "created_at")
	w.end(late)
	young := w.job(user)
	w.end(young)

	policy := operations.Retention{"deliveries": 90, "events": 50}
	w.wantDeleted(w.deleteOld(operations.Retention{}), nil) // everything is kept forever
	w.wantDeleted(w.deleteOld(operations.Retention{"deliveries": 101, "events": 101}), nil)
	// The late one's first event is old, but its job has ended.
	w.wantDeleted(w.deleteOld(policy), map[string]int64{"deliveries": 8, "delivery_events": 1})
	w.wantDeleted(w.deleteOld(policy), nil) // again: nothing

	for _, job := range []delivery.Job{live, late, young} {
		if _, err := w.Deliveries.ByID(t.Context(), job.ID); err != nil {
			t.Errorf("job %d: %v", job.ID, err)
		}
	}

	if n := w.count("boards"); n != 3 {
		t.Errorf("%d boards are left, want those of 3 jobs", n)
	}
	if n := w.count("events WHERE workload = 'delivery'"); n != 1+1+2 {
		t.Errorf("%d events are left, want 1 of the live job, 1 of the late one, 2 of the young one", n)
	}

	again, created, err := w.Deliveries.Create(
		t.Context(), old[0], core.Event{Type: "enqueued", To: string(lifecycle.DeliveryQueued)},
	)
	if err != nil || !created || again.ID <= young.ID {
		t.Errorf("the key of a job that was deleted gives job %d, %v, %v; want a new one", again.ID, created, err)
	}
}

// TestOldTasks keeps tasks that are still needed.
func TestOldTasks(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	graph := o.made(
		task.NewTask{Ref: "ground", AssigneeID: &o.ann.ID}, task.NewTask{
			Ref: "wall", BlockedBy: []string{"ground"}, AssigneeID: &o.ann.ID,
		},
		task.NewTask{Ref: "door", AssigneeID: &o.ann.ID}, task.NewTask{
			Ref: "lock", BlockedBy: []string{"door"}, AssigneeID: &o.ann.ID,
		},
		task.NewTask{Ref: "alone", AssigneeID: &o.ann.ID})

	for i, task := range graph {
		if i != 3 { // the lock is not done
			o.move(task, lifecycle.TaskInProgress, &o.ann.ID)
			o.move(task, lifecycle.TaskDone, &o.ann.ID)
		}
	}

	o.aged(400, "tasks", "true", "created_at", "finished_at", "updated_at")
	o.aged(400, "events", "workload = 'task'", "created_at")
	o.wantDeleted(o.deleteOld(operations.Retention{"tasks": 365, "events": 365}), map[string]int64{"tasks": 3, "task_events": 3})
	for i, kept := range []bool{false, false, true, true, false} {
		if _, err := o.Tasks.ByID(t.Context(), 0, graph[i].ID); (err == nil) != kept {
			t.Errorf("task %d: %v, want it kept: %v", i, err, kept)
		}
	}

	if n := o.count("task_blockers"); n != 1 {
		t.Errorf("%d blockers are left, want the door", n)
	}

	state := o.move(graph[3], lifecycle.TaskInProgress, &o.ann.ID) // its events continue where they were
	if state.Version != 2 {
		t.Errorf("the lock is at version %d, want 2", state.Version)
	}
}

// TestOldDownloads deletes jobs, but neither books nor library files.
func TestOldDownloads(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	gone := s.download(s.ann)
	s.move(gone, lifecycle.DownloadFailed)
	live := s.download(s.ann)
	s.aged(100, "download_jobs", "true", "created_at_utc", "updated_at_utc")
	s.wantDeleted(s.deleteOld(operations.Retention{"downloads": 99, "events": 99}), map[string]int64{"downloads": 1})
	if _, err := s.Downloads.ByID(t.Context(), live.ID); err != nil {
		t.Error(err)
	}
	if n := s.count("books"); n != 1 {
		t.Errorf("%d books", n)
	}
}

// TestOldNotes deletes answers, notifications, alerts and, on request, the audit log; never records of money.
func TestOldNotes(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.bought(b.ordered("sender", 3*coin))
	user := b.user(1)
	events := b.count("events WHERE workload = 'transaction'")

	for i := range 5 {
		_, err := core.KeepAnswer(
			t.Context(), b.Answers, core.Request{UserID: user.ID, Key: string(rune('a' + i)), Asked: "x"}, i,
		)

		b.must(err)
		b.must(b.Notices.RaiseAlert(t.Context(), notice.AlertChain))
		b.must(b.Notices.ResolveAlert(t.Context(), notice.AlertChain))
		_, err = b.Notices.TakeUnsentAlerts(t.Context(), 0) // its end is sent: the next one is another incident
		b.must(err)
		b.must(b.Accounts.Audit(t.Context(), account.AuditEntry{ActorID: &user.ID, Action: "look", Outcome: "done", Door: "cli"}))
		b.exec(
			`INSERT INTO news (user_id, workload, entity_id, seq, state, due_at) VALUES ($1, 'task', '1', $2, 'sent', now())`,
			user.ID, i,
		)
	}

	b.must(b.Notices.RaiseAlert(t.Context(), notice.AlertChain)) // open
	b.exec(`INSERT INTO news (user_id, workload, entity_id, seq, due_at) VALUES ($1, 'task', '1', 9, now())`, user.ID)
	b.aged(40, "answers", "key <> 'a'", "created_at")
	b.aged(40, "alerts", "true", "opened_at", "resolved_at")
	b.aged(40, "news", "true", "due_at")
	b.aged(40, "audit_log", "true", "created_at")
	b.aged(40, "events", "true", "created_at")
	b.aged(40, "transactions", "true", "created_at", "updated_at")

	policy := operations.Retention{"deliveries": 30, "downloads": 30, "tasks": 30, "events": 30, "answers": 30, "news": 30, "alerts": 30}
	b.wantDeleted(b.deleteOld(policy), map[string]int64{"answers": 4, "news": 5, "alerts": 5})
	if n := b.count("audit_log"); n != 5 {
		t.Errorf("%d entries of the audit log are left, want all", n)
	}

	b.wantDeleted(b.deleteOld(operations.Retention{"audit": 30}), map[string]int64{"audit": 5})
	if n := b.count("events WHERE workload = 'transaction'"); n != events {
		t.Errorf("%d events of transactions are left, want %d", n, events)
	}

	differences, err := b.Transactions.LedgerCheck(t.Context(), b.wallet)
	if err != nil || len(differences) > 0 {
		t.Errorf("%+v, %v", differences, err)
	}
}

// TestOldFindings deletes what was settled long ago, not what is open or was recently found again.
func TestOldFindings(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	note := func(entity string, settled bool) {
		f, fresh, err := w.Operations.NoteFinding(t.Context(), operations.Finding{
			Workload: lifecycle.WorkloadTask, Entity: entity, WorkflowID: "task/" + entity, RunID: "run",
			Finding: operations.FindingStale,
		})
		w.must(err)
		if settled && fresh {
			w.must(w.Operations.SettleFinding(t.Context(), f.ID, operations.DoneRefreshed))
		}
	}

	for _, entity := range []string{"1", "2", "3", "met again", "settled late"} {
		note(entity, true)
	}

	note("open", false)
	w.aged(100, "reconciler_findings", "true", "found_at", "seen_at")
	w.aged(100, "reconciler_findings", "entity <> 'settled late'", "done_at")
	note("met again", true)
	note("young", true)

	w.wantDeleted(w.deleteOld(operations.Retention{}), nil)
	w.wantDeleted(w.deleteOld(operations.Retention{"findings": 101}), nil)
	w.wantDeleted(w.deleteOld(operations.Retention{"findings": 90}), map[string]int64{"findings": 3})
	w.wantDeleted(w.deleteOld(operations.Retention{"findings": 90}), nil)
	left, err := w.Operations.Findings(t.Context(), operations.FindingFilter{Limit: 10})
	w.must(err)
	if len(left) != 4 || left[0].Entity != "young" {
		t.Errorf("%+v are left", left)
	}
}
