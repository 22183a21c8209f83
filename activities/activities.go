// Package activities touches the world on behalf of workflows: one struct per task, its dependencies as fields; every
// exported method is an activity, registered under its bare name.
package activities

import "go.temporal.io/sdk/worker"

// RegisterDelivery adds the streaming activity to the worker of the delivery queue.
func RegisterDelivery(w worker.Registry, courier *Courier) { w.RegisterActivity(courier) }

// RegisterMain adds the short activities to the worker of the main queue.
func RegisterMain(w worker.Registry, records *Records, tasks *Tasks, downloads *Downloads, downloadSync *DownloadSync, reconciler *Reconciler) {
	w.RegisterActivity(records)
	w.RegisterActivity(tasks)
	w.RegisterActivity(downloads)
	w.RegisterActivity(downloadSync)
	w.RegisterActivity(reconciler)
}
