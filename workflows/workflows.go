// Package workflows lists all workflows.
package workflows

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
	"stagecoach/workflows/task"
	"stagecoach/workflows/transaction"
	"stagecoach/workflows/webhook"
)

// Settings configure the workflows that need it.
type Settings struct {
	Delivery    delivery.Settings
	Download    download.Settings
	Transaction transaction.Settings
}

// Registry is a worker or a replayer.
type Registry interface {
	RegisterWorkflowWithOptions(run any, options workflow.RegisterOptions)
}

// Register adds every workflow to a worker of the main queue, under the names that operators use. Where workers are
// versioned, a delivery stays with the version that began it, because it ends soon. All other workflows may take weeks
// and move on to the current version, so that no old worker has to be kept for them.
func Register(w Registry, s Settings) {
	register := func(run any, name string, behavior workflow.VersioningBehavior) {
		w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name, VersioningBehavior: behavior})
	}

	register((&delivery.Workflow{Settings: s.Delivery}).Run, lifecycle.DeliveryType, workflow.VersioningBehaviorPinned)
	register(task.Run, lifecycle.TaskType, workflow.VersioningBehaviorAutoUpgrade)
	register(
		(&download.Workflow{Settings: s.Download}).Run, lifecycle.DownloadType, workflow.VersioningBehaviorAutoUpgrade,
	)
	register(download.Sync, lifecycle.DownloadSyncType, workflow.VersioningBehaviorAutoUpgrade)
	register(
		(&transaction.Workflow{Settings: s.Transaction}).Run, lifecycle.TransactionType,
		workflow.VersioningBehaviorAutoUpgrade,
	)
	register(transaction.Monitor, lifecycle.TonMonitorType, workflow.VersioningBehaviorAutoUpgrade)
	register(reconciler.Run, reconciler.WorkflowType, workflow.VersioningBehaviorAutoUpgrade)
	register(reconciler.SweepMedia, reconciler.MediaType, workflow.VersioningBehaviorAutoUpgrade)
	register(reconciler.Compare, reconciler.ComparisonType, workflow.VersioningBehaviorAutoUpgrade)
	register(retention.Run, retention.WorkflowType, workflow.VersioningBehaviorAutoUpgrade)
	register(webhook.Run, lifecycle.WebhookType, workflow.VersioningBehaviorAutoUpgrade)
}
