package reconcile

import (
	"strconv"
	"testing"
	"time"

	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/time/rate"
)

// TestUnsettledIsBounded leaves more rows than a sweep hands to the next one: the next one goes back as far as this
// one.
func TestUnsettledIsBounded(t *testing.T) {
	t.Parallel()
	before, now := time.Now().Add(-time.Minute), time.Now()
	left := func(n int) (all []string) {
		for i := range n {
			all = append(all, strconv.Itoa(i))
		}
		return all
	}

	for n, want := range map[int]time.Time{mostUnsettled / 2: now, mostUnsettled/2 + 1: before, 2 * mostUnsettled: before} {
		s := &sweeper{sweep: Sweep{Since: now, Unsettled: map[string][]string{"delivery": left(n), "task": left(n)}}}
		s.boundUnsettled(before)
		kept := len(s.sweep.Unsettled["delivery"]) + len(s.sweep.Unsettled["task"])
		if kept != min(2*n, mostUnsettled) || !s.sweep.Since.Equal(want) {
			t.Errorf("of %d rows %d are kept, since %v, want %v", 2*n, kept, s.sweep.Since, want)
		}
	}
}

// TestListsAreLimited requests a list when the limit allows none.
func TestListsAreLimited(t *testing.T) {
	t.Parallel()
	var never struct{ client.Client } // a request would panic
	s := newSweeper(&Reconciler{Temporal: never, Lists: rate.NewLimiter(1, 0)})
	err := s.eachPage(t.Context(), "", func([]*workflowpb.WorkflowExecutionInfo) error { return nil })
	if err == nil {
		t.Error("the limit is ignored")
	}
}
