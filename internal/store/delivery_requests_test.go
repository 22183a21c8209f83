package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
)

// TestDeliveryRequestIsDecidedOnce repeats granted and refused requests: nothing is decided anew, whatever the row's
// later state.
func TestDeliveryRequestIsDecidedOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	job := w.job(w.user(1))
	decided := 0
	change := func(asked core.Asked, action lifecycle.DeliveryAction) (delivery.Job, error) {
		return w.Deliveries.ChangeFor(t.Context(), job.ID, asked, func(walk *delivery.JobWalk) error {
			decided++
			walk.Row.LastError = string(fault.CancelledByUser)
			return walk.Take(delivery.JobStep{Action: action})
		})
	}
	wants := func(what string, err error, code fault.Code, decisions int) {
		t.Helper()
		if fault.CodeOf(err) != code || decided != decisions {
			t.Errorf("%s: %v after %d decisions, want %q after %d", what, err, decided, code, decisions)
		}
	}

	early := core.Asked{ID: "early", Content: "stream"}
	_, err := change(early, lifecycle.DeliveryActionStream)
	wants("refused", err, fault.InvalidTransition, 1)
	_, err = change(early, lifecycle.DeliveryActionCancel)
	wants("the same", err, fault.InvalidTransition, 1)

	end := core.Asked{ID: "end", Content: "cancel"}
	ended, err := change(end, lifecycle.DeliveryActionCancel)
	wants("granted", err, "", 2)
	again, err := change(end, lifecycle.DeliveryActionCancel)
	wants("the same", err, "", 2)
	if again.State != lifecycle.DeliveryCancelled || !again.UpdatedAt.Equal(ended.UpdatedAt) {
		t.Errorf("first %+v, then %+v", ended, again)
	}
	end.Content = "something else"
	_, err = change(end, lifecycle.DeliveryActionCancel)
	wants("another request", err, fault.Validation, 2)
	_, err = change(core.Asked{ID: "late"}, lifecycle.DeliveryActionCancel)
	wants("late", err, fault.InvalidTransition, 3)
}

// TestReadAdmin recognizes active administrators.
func TestReadAdmin(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	owner, boss := w.user(1), w.user(2)
	_, err := w.Accounts.ChangeUser(t.Context(), boss.ID, account.UserChange{Role: account.RoleAdmin})
	w.must(err)
	job := w.job(owner)
	for id, want := range map[int64]bool{owner.ID: false, boss.ID: true, 0: false} {
		admin := !want
		_, err := w.Deliveries.ChangeFor(t.Context(), job.ID, core.Asked{More: core.ReadAdmin(id, &admin)}, func(*delivery.JobWalk) error { return nil })
		if w.must(err); admin != want {
			t.Errorf("user %d is an administrator: %t", id, admin)
		}
	}
}
