package workflows

import (
	"slices"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
)

// workloads are all services, connected to nothing.
var workloads = service.Services{
	Deliveries: &service.Deliveries{}, Tasks: &service.Tasks{}, Downloads: &service.Downloads{},
	Transactions: &service.Transactions{},
}

// TestWorkloadsAgree compares the three lists of workloads: names, what the operations loop over, and the workflows of
// workers.
func TestWorkloadsAgree(t *testing.T) {
	t.Parallel()
	known := registered{}
	Register(known, Settings{})

	var names []string
	for _, workload := range workloads.Workloads() {
		names = append(names, workload.Name())
		if !known[workload.WorkflowType()] {
			t.Errorf("%s: its workflow %s is not registered", workload.Name(), workload.WorkflowType())
		}
	}

	if !slices.Equal(names, lifecycle.Names()) {
		t.Errorf("the operations loop over %v, named are %v", names, lifecycle.Names())
	}
}
