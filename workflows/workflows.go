// Package workflows is the catalogue: one line per workload.
package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/task"
	"stagecoach/workflows/transaction"
)

// Settings configure the workflows that need it.
type Settings struct {
	Delivery    delivery.Settings
	Download    download.Settings
	Transaction transaction.Settings
}

// Register adds every workflow to a worker of the main queue, under the names that operators use.
func Register(w worker.Registry, s Settings) {
	w.RegisterWorkflowWithOptions((&delivery.Workflow{Settings: s.Delivery}).Run, workflow.RegisterOptions{Name: delivery.WorkflowType})
	w.RegisterWorkflowWithOptions(task.Run, workflow.RegisterOptions{Name: task.WorkflowType})
	w.RegisterWorkflowWithOptions((&download.Workflow{Settings: s.Download}).Run, workflow.RegisterOptions{Name: download.WorkflowType})
	w.RegisterWorkflowWithOptions(download.Sync, workflow.RegisterOptions{Name: download.SyncType})
	w.RegisterWorkflowWithOptions((&transaction.Workflow{Settings: s.Transaction}).Run, workflow.RegisterOptions{Name: transaction.WorkflowType})
	w.RegisterWorkflowWithOptions(transaction.Monitor, workflow.RegisterOptions{Name: transaction.MonitorType})
	w.RegisterWorkflowWithOptions(reconciler.Run, workflow.RegisterOptions{Name: reconciler.WorkflowType})
}
