package reconcile

import (
	"fmt"
	"testing"

	"stagecoach/internal/service"
)

// listedRow is a live row of which only the workflow's id matters.
type listedRow struct {
	service.LiveRow
	id string
}

func (r listedRow) About() service.Row { return service.Row{WorkflowID: r.id} }

// TestLiveRows remembers many rows, sees some of their workflows, and then returns those not seen.
func TestLiveRows(t *testing.T) {
	t.Parallel()
	const n = 100_000
	id := func(i int) string { return fmt.Sprint("task/", i) }
	states := []string{"NEW", "IN_PROGRESS", "BLOCKED", "STUCK"}
	rows := newLiveRows()
	for i := range n {
		rows.add(service.Row{WorkflowID: id(i), State: states[i%len(states)]})
	}
	rows.sort()

	for i := range n {
		if i%3 == 0 {
			continue
		}
		known, same := rows.meet(id(i), states[i%len(states)])
		if !known || !same {
			t.Fatalf("row %d is known: %v, in its state: %v", i, known, same)
		}
		if _, same := rows.meet(id(i), states[(i+1)%len(states)]); same {
			t.Fatalf("row %d is in another state", i)
		}
		if _, same := rows.meet(id(i), "a state of a later release"); same {
			t.Fatalf("row %d is in an unknown state", i)
		}
	}

	if known, _ := rows.meet(id(n), "NEW"); known {
		t.Error("a row that was never added is known")
	}

	var page []service.LiveRow
	for i := range n + 10 { // ten came later
		page = append(page, listedRow{id: id(i)})
	}
	lost := rows.lost(page)
	if len(lost) != (n+2)/3 {
		t.Errorf("%d were not met", len(lost))
	}
	for i, row := range lost {
		if row.About().WorkflowID != id(3*i) {
			t.Fatalf("%s was met", row.About().WorkflowID)
		}
	}
}

// TestNoLiveRows sees a workflow although there are no rows.
func TestNoLiveRows(t *testing.T) {
	t.Parallel()
	rows := newLiveRows()
	rows.sort()
	if known, _ := rows.meet("task/1", "NEW"); known {
		t.Error("it is known")
	}
}
