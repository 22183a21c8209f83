package allowance_test

import (
	"testing"
	"testing/synctest"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// TestSearchesAtATime lets each user, with their agents, run two searches at a time, and all users eight. A caller
// without a slot waits briefly.
func TestSearchesAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		searches := allowance.NewSearches()
		begin := func(user account.User) func() {
			t.Helper()
			end, err := searches.Begin(t.Context(), user)
			if err != nil {
				t.Fatalf("user %d: %v", user.ID, err)
			}
			return end
		}
		refused := func(user account.User) {
			t.Helper()
			_, err := searches.Begin(t.Context(), user)
			if refusal := fault.As(err); refusal == nil || refusal.Code != fault.RateLimited || refusal.RetryAfter <= 0 || allowance.LimitOf(err) != allowance.LimitSearches {
				t.Errorf("user %d: %v", user.ID, err)
			}
		}

		first := begin(account.User{ID: 1})
		begin(account.User{ID: 101, OwnerID: new(int64(1))})
		refused(account.User{ID: 1})
		first()
		first = begin(account.User{ID: 102, OwnerID: new(int64(1))})
		for id := range int64(3) {
			begin(account.User{ID: id + 2})
			begin(account.User{ID: id + 2})
		}
		refused(account.User{ID: 5}) // after a pause

		waits := make(chan func())
		go func() { waits <- begin(account.User{ID: 5}) }()
		synctest.Wait()
		first()
		(<-waits)()
		begin(account.User{ID: 1})
	})
}
