package workflows

import (
	"slices"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
)

// workloads are all services, without connections.
var workloads = all.Services{
	Deliveries: &deliveries.Service{}, Tasks: &tasks.Service{}, Downloads: &downloads.Service{},
	Transactions: &transactions.Service{},
}

// TestWorkloadsAgree compares the three lists of workloads: names, the operations' list, and the workers' workflows.
func TestWorkloadsAgree(t *testing.T) {
	t.Parallel()
	known := registered{}
	Register(known, Settings{})

	var names []string
	for i, workload := range workloads.Workloads() {
		names = append(names, workload.Name())
		if !known[workload.WorkflowType()] {
			t.Errorf("%s: its workflow %s is not registered", workload.Name(), workload.WorkflowType())
		}
		if named := lifecycle.Workloads[i].Type; named != workload.WorkflowType() {
			t.Errorf("%s: its workflow is %s, named is %s", workload.Name(), workload.WorkflowType(), named)
		}
	}

	if !slices.Equal(names, lifecycle.Names()) {
		t.Errorf("the operations loop over %v, named are %v", names, lifecycle.Names())
	}
}
