package run

import (
	"context"

	"golang.org/x/time/rate"

	"stagecoach/internal/app"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/service/all"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
)

// operationsPart returns the part that keeps the record and Temporal consistent.
func (p process) operationsPart(services all.Services) (part, error) {
	all := part{main: register(p.reconciler(services.Workloads()), p.mediaSweep(), &cleanup.OldRows{Store: p.Store, Log: p.Log})}
	if p.Config.Worker.Serves(lifecycle.MainQueue) {
		all.start = p.ensureSchedules
	}
	return all, nil
}

// ensureSchedules creates or updates the schedules of the reconciler and of retention. A fresh Temporal server serves
// none until its own worker, which runs them, polls.
func (p process) ensureSchedules(ctx context.Context) error {
	schedules := temporalio.Schedules{Temporal: p.Temporal, Namespace: p.Namespace, Payloads: p.Payloads}
	if err := reconciler.EnsureSchedules(ctx, schedules); err != nil {
		return err
	}
	return retention.EnsureSchedule(ctx, schedules, app.Retention(p.Config.Retention))
}

func (p process) mediaSweep() *reconcile.MediaSweep {
	for _, result := range []string{reconcile.MediaSwept, reconcile.MediaStopped, reconcile.MediaSweepFailed} {
		p.Metrics.MediaSweeps.WithLabelValues(result)
	}
	return &reconcile.MediaSweep{
		Store: p.Store.Downloads, Alerts: p.Store.Notices, Log: p.Log,
		Root: p.Config.Media.Root, SavePath: p.Config.QBittorrent.SavePath, Library: p.Config.Library.Dir,
		MaxPercent: p.Config.Media.MaxPercent,
		OnSwept:    func(result string) { p.Metrics.MediaSweeps.WithLabelValues(result).Inc() },
	}
}

// reconciler creates the reconciler of the record and Temporal.
func (p process) reconciler(workloads []service.Workload) *reconcile.Reconciler {
	for _, workload := range lifecycle.Names() { // Prometheus sees no increase in a counter that begins at one
		for _, finding := range operations.FindingKinds {
			p.Metrics.Findings.WithLabelValues(workload, finding)
		}
	}

	lists := rate.NewLimiter(reconcile.ListsPerSecond, 1)
	return &reconcile.Reconciler{
		Temporal: p.Temporal, Namespace: p.Namespace, Store: p.Store.Operations,
		Workloads: workloads, Log: p.Log, Lists: lists,
		Webhooks: &reconcile.Webhooks{
			Temporal: p.Temporal, Store: p.Store.Webhooks, Log: p.Log, Lists: lists, Signal: p.Webhooks().Signal,
		},
		Trigger:   func(ctx context.Context) error { return reconciler.Trigger(ctx, p.Temporal) },
		OnFinding: func(workload, finding string) { p.Metrics.Findings.WithLabelValues(workload, finding).Inc() },
		OnSweep: func(err error) {
			result := "ok"
			if err != nil {
				result = "failed"
			}
			p.Metrics.Sweeps.WithLabelValues(result).Inc()
		},
	}
}
