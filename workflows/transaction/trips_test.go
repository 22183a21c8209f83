package transaction_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
)

// mostTrips is for everything together: the monitor reads the chain twice for a purchase.
const mostTrips = 40

// bought makes the monitor read the chain, and waits for the end of a transaction's workflow without further queries: a
// wake-up may be lost, so it is repeated.
func (w *rig) bought(hash string) {
	w.Helper()
	var woken time.Time
	wait.Eventually(w, "its workflow has started", func() bool {
		if time.Since(woken) > 2*time.Second {
			woken = time.Now()
			w.must(w.store.Transactions.WakeForPayment(w.Context(), w.wallet.Address().Raw()))
		}
		_, err := w.server.Client.DescribeWorkflowExecution(w.Context(), lifecycle.TransactionID(hash), "")
		return err == nil
	})
	ctx, cancel := context.WithTimeout(w.Context(), wait.Patience)
	defer cancel()
	w.must(w.server.Client.GetWorkflow(ctx, lifecycle.TransactionID(hash), "").Get(ctx, nil))
}

// TestTripsOfAPurchase counts the round trips to PostgreSQL of a purchase, from the detected deposit to its end: by the
// workflow, the activity and the monitor together.
func TestTripsOfAPurchase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs PostgreSQL and Temporal")
	}

	trips := testdb.CountTrips(t, testdb.URL(t))
	w := newRig(t, func(s *setup) {
		s.database = trips.URL
		s.settings.PollInterval, s.settings.LookEvery = time.Hour, time.Minute
	})

	least := 1000 // on a busy machine some purchases make additional queries, so the cheapest counts
	for i := 0; i < 30 && (i < 3 || least > mostTrips); i++ {
		before := trips.Count()
		hash := w.deposit(1, fmt.Sprintf("durov %d", 50+i))
		w.bought(hash)
		least = min(least, trips.Count()-before)
	}
	t.Logf("%d round trips", least)
	if least > mostTrips {
		t.Errorf("want %d at most", mostTrips)
	}
}
