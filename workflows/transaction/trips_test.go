package transaction_test

import (
	"fmt"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// mostTrips is for everything together: the monitor reads the chain twice for a purchase.
const mostTrips = 40

// ended waits for the end of a transaction's workflow, without querying PostgreSQL.
func (w *rig) ended(hash string) error {
	for {
		err := w.server.Client.GetWorkflow(w.Context(), lifecycle.TransactionID(hash), "").Get(w.Context(), nil)
		if !temporalio.IsNotFound(err) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
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
		w.must(w.store.Transactions.WakeForPayment(t.Context(), w.wallet.Address().Raw()))
		w.must(w.ended(hash))
		least = min(least, trips.Count()-before)
	}
	t.Logf("%d round trips", least)
	if least > mostTrips {
		t.Errorf("want %d at most", mostTrips)
	}
}
