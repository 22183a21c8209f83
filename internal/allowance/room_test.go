package allowance_test

import (
	"context"
	"errors"
	"testing"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// TestRoomIsSharedByAPersonAndAgents takes slots for a person, an agent and others: one too many is refused with its
// limit, per person at once, in total after a while.
func TestRoomIsSharedByAPersonAndAgents(t *testing.T) {
	t.Parallel()
	const limit = "seats"
	agent := account.User{ID: 11, Role: account.RoleUser, Status: account.UserActive, OwnerID: &anna.ID}
	room := allowance.NewRoom(limit, 2, 3, 1)
	take := func(user account.User) *allowance.Held {
		t.Helper()
		held := room.Hold(user)
		if err := held.Take(t.Context(), 1); err != nil {
			t.Fatalf("user %d: %v", user.ID, err)
		}
		return held
	}
	refused := func(user account.User) {
		t.Helper()
		held := room.Hold(user)
		err := held.Take(t.Context(), 1)
		if refusal := fault.As(err); refusal == nil || refusal.RetryAfter <= 0 || allowance.LimitOf(err) != limit {
			t.Errorf("user %d: %v", user.ID, err)
		}
		held.Release() // nothing
	}

	first := take(anna)
	take(agent)
	refused(anna)
	refused(agent)
	take(bob)
	refused(bob) // three users' slots are taken
	take(boss)

	first.Release()
	take(agent)
	refused(anna)
}

// TestRoomGoesToTheWaiter takes a slot that becomes free meanwhile, and gives up when the caller has left.
func TestRoomGoesToTheWaiter(t *testing.T) {
	t.Parallel()
	room := allowance.NewRoom("seats", 1, 1, 1)
	first, second := room.Hold(anna), room.Hold(bob)
	if err := first.Take(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	go first.Release()
	if err := second.Take(t.Context(), 1); err != nil {
		t.Errorf("whoever waits gets nothing: %v", err)
	}

	left, leave := context.WithCancel(t.Context())
	leave()
	if err := room.Hold(anna).Take(left, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has left: %v", err)
	}
}
