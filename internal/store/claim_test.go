package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

// begins is the walk of a first attempt.
func begins(walk *delivery.JobWalk) error {
	steps := deliveries.Steps{JobWalk: walk}
	return errors.Join(steps.Claim(0), steps.Do(lifecycle.DeliveryActionStartDownload, ""))
}

// streams is the walk of an attempt whose first bytes are the last ones.
func streams(walk *delivery.JobWalk) error {
	walk.Row.AckPendingAt = &walk.Row.Now
	return deliveries.Steps{JobWalk: walk}.Do(lifecycle.DeliveryActionStream, "")
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

// TestClaim takes a job through a first attempt: its times are the database's clock, and its version the number of the
// last event.
func TestClaim(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	job := w.job(w.user(1))

	claimed, sent, err := w.Deliveries.Claim(t.Context(), job.ID, begins)
	w.must(err)
	if sent.SHA256 != w.file.SHA256 || sent.Size != w.file.Size || sent.FileID != "" {
		t.Errorf("Telegram has %+v", sent)
	}
	if *claimed.ClaimedAt != claimed.Now || *claimed.HeartbeatAt != claimed.Now || claimed.Claim != job.Claim+1 {
		t.Errorf("%+v was not claimed now", claimed)
	}

	streaming, err := w.Deliveries.Change(t.Context(), job.ID, streams)
	w.must(err)
	if *streaming.AckPendingAt != streaming.Now || *streaming.ClaimedAt != *claimed.ClaimedAt {
		t.Errorf("%+v: the claim's time has changed, or the last bytes are not sent now", streaming)
	}

	after, err := w.Deliveries.ByID(t.Context(), job.ID)
	w.must(err)
	after.Now = streaming.Now
	if !reflect.DeepEqual(after, streaming) {
		t.Errorf("recorded %+v\nreturned %+v", after, streaming)
	}
	if events := w.eventsOf(job); after.State != lifecycle.DeliveryStreaming || int64(len(events)) != after.RowVersion {
		t.Errorf("version %d of a %s job after %v", after.RowVersion, after.State, events)
	}

	w.must(w.Deliveries.SaveSentFile(t.Context(), delivery.SentFile{SHA256: w.file.SHA256, Size: w.file.Size, FileID: "file-1", Name: "a"}))
	_, sent, err = w.Deliveries.Claim(t.Context(), w.job(w.user(2)).ID, begins)
	if err != nil || sent.FileID != "file-1" || sent.Name != "a" {
		t.Errorf("Telegram has %+v: %v", sent, err)
	}
}

// TestRefusedClaimWritesNothing claims jobs that the table does not allow to be claimed, and one that does not exist.
func TestRefusedClaimWritesNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t)

	for i, test := range []struct {
		name   string
		before func(delivery.Job)
		want   fault.Code
	}{
		{"claimed", func(j delivery.Job) { _, err := w.Deliveries.Change(t.Context(), j.ID, begins); w.must(err) }, fault.InvalidTransition},
		{"its user is blocked", func(j delivery.Job) {
			_, err := w.Accounts.ChangeUser(t.Context(), j.UserID, account.UserChange{Status: account.UserBlocked})
			w.must(err)
		}, fault.UserNotActive},
	} {
		job := w.job(w.user(int64(i + 1)))
		test.before(job)
		before := fmt.Sprint(w.eventsOf(job))
		_, _, err := w.Deliveries.Claim(t.Context(), job.ID, begins)
		if fault.CodeOf(err) != test.want || fmt.Sprint(w.eventsOf(job)) != before {
			t.Errorf("%s: %v", test.name, err)
		}
	}

	if _, _, err := w.Deliveries.Claim(t.Context(), 1<<40, begins); fault.CodeOf(err) != fault.DeliveryNotFound {
		t.Errorf("no such job: %v", err)
	}
}

// TestOneClaims lets many claim one job concurrently: one of them gets it.
func TestOneClaims(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	job := w.job(w.user(1))

	var won atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			switch _, _, err := w.Deliveries.Claim(t.Context(), job.ID, begins); {
			case err == nil:
				won.Add(1)
			case fault.CodeOf(err) != fault.InvalidTransition:
				t.Error(err)
			}
		})
	}

	all.Wait()
	if events := w.eventsOf(job); won.Load() != 1 || len(events) != 3 {
		t.Errorf("%d have the job: %v", won.Load(), events)
	}
}
