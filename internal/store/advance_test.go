package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

// begins is the walk of a first attempt.
func begins(walk *delivery.JobWalk) error {
	steps := service.DeliverySteps{JobWalk: walk}
	return errors.Join(steps.Claim(0), steps.Do(lifecycle.DeliveryActionStartDownload, ""))
}

// streams is the walk of an attempt whose first bytes are the last ones.
func streams(walk *delivery.JobWalk) error {
	walk.Row.AckPendingAt = &walk.Row.Now
	return service.DeliverySteps{JobWalk: walk}.Do(lifecycle.DeliveryActionStream, "")
}

// eventsOf lists the types of a job's events; their numbers have no gaps.
func (w *rig) eventsOf(job delivery.Job) (types []string) {
	w.t.Helper()
	events, err := w.Notices.EventsOf(w.t.Context(), lifecycle.WorkloadDelivery, fmt.Sprint(job.ID))
	w.must(err)
	for i, event := range events {
		if event.Seq != int64(i+1) || *event.OwnerID != job.UserID {
			w.t.Errorf("event %d: %+v", i, event)
		}
		types = append(types, event.Type)
	}
	return types
}

// TestAdvanceIsChange takes a job through its table with and without a lock: the rows are the same, by the database's
// clock.
func TestAdvanceIsChange(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	user := w.user(1)
	locked, free := w.job(user), w.job(user)

	locked, err := w.Deliveries.Change(t.Context(), locked.ID, begins)
	w.must(err)
	claimed, sent, err := w.Deliveries.Claim(t.Context(), free.ID, time.Minute, begins)
	w.must(err)
	w.sameJob(locked, claimed)
	if sent.Size != w.file.Size || sent.FileID != "" {
		t.Errorf("Telegram has %+v", sent)
	}
	if *claimed.ClaimedAt != claimed.Now || *claimed.HeartbeatAt != claimed.Now {
		t.Errorf("%+v was not claimed now", claimed)
	}

	locked, err = w.Deliveries.Change(t.Context(), locked.ID, streams)
	w.must(err)
	streaming, err := w.Deliveries.Advance(t.Context(), *claimed, streams)
	w.must(err)
	w.sameJob(locked, streaming)
	if *streaming.AckPendingAt != streaming.Now || *streaming.ClaimedAt != *claimed.ClaimedAt {
		t.Errorf("%+v: the claim's time has changed, or the last bytes are not sent now", streaming)
	}
}

// sameJob compares what two walks have made of two jobs, and their events.
func (w *rig) sameJob(locked delivery.Job, free *delivery.Job) {
	w.t.Helper()
	if free == nil {
		w.t.Fatal("nothing was written")
	}
	seen := func(j delivery.Job) string {
		return fmt.Sprint(j.State, j.Claim, j.Attempt, j.RowVersion, j.ClaimedAt != nil, j.AckPendingAt != nil, *j.ChatID, j.FilePath, w.eventsOf(j))
	}
	if seen(locked) != seen(*free) {
		w.t.Errorf("%s\nwithout a lock %s", seen(locked), seen(*free))
	}
}

// TestAdvanceWritesNothing advances jobs that are not as they are taken for.
func TestAdvanceWritesNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t)

	for i, test := range []struct {
		name   string
		before func(delivery.Job)
		ttl    time.Duration
	}{
		{"it is claimed", func(j delivery.Job) { _, err := w.Deliveries.Change(t.Context(), j.ID, begins); w.must(err) }, time.Minute},
		{"its user is blocked", func(j delivery.Job) {
			_, err := w.Accounts.ChangeUser(t.Context(), j.UserID, account.UserChange{Status: account.UserBlocked})
			w.must(err)
		}, time.Minute},
		{"it is too old", func(delivery.Job) { time.Sleep(time.Millisecond) }, time.Microsecond},
	} {
		job := w.job(w.user(int64(i + 1)))
		test.before(job)
		before := fmt.Sprint(w.eventsOf(job))
		claimed, _, err := w.Deliveries.Claim(t.Context(), job.ID, test.ttl, begins)
		if claimed != nil || err != nil || fmt.Sprint(w.eventsOf(job)) != before {
			t.Errorf("%s: claimed %+v, %v", test.name, claimed, err)
		}
	}

	if none, _, err := w.Deliveries.Claim(t.Context(), 1<<40, time.Minute, begins); none != nil || err != nil {
		t.Errorf("no such job: %+v, %v", none, err)
	}

	wrong := func(walk *delivery.JobWalk) error {
		return walk.Take(delivery.JobStep{Action: lifecycle.DeliveryActionHandOver})
	}
	if job, err := w.Deliveries.Advance(t.Context(), w.job(w.user(9)), wrong); job != nil || err == nil {
		t.Errorf("what the table forbids was written: %+v", job)
	}
}

// TestOneAdvances lets many claim one job at once, with a lock and without: one of them has it.
func TestOneAdvances(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	job := w.job(w.user(1))

	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if i%2 == 0 {
				if _, err := w.Deliveries.Change(t.Context(), job.ID, begins); err == nil {
					won.Add(1)
				}
				return
			}
			claimed, _, err := w.Deliveries.Claim(t.Context(), job.ID, time.Minute, begins)
			if err != nil {
				t.Error(err)
			}
			if claimed != nil {
				won.Add(1)
			}
		})
	}

	all.Wait()
	if events := w.eventsOf(job); won.Load() != 1 || len(events) != 3 {
		t.Errorf("%d have the job: %v", won.Load(), events)
	}
}
