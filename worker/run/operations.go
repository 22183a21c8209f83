package run

import (
	"context"

	"golang.org/x/time/rate"

	"stagecoach/internal/app"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store/operations"
	"stagecoach/workflows/reconciler"
	"stagecoach/workflows/retention"
)

// operationsPart gives what keeps the record and Temporal in order.
func (p process) operationsPart(services service.Services) (part, error) {
	all := part{main: register(p.reconciler(services.Workloads()), p.mediaSweep(), &cleanup.OldRows{Store: p.Store, Log: p.Log})}
	if serves(p.Config, lifecycle.MainQueue) {
		all.start = p.startOperations
	}
	return all, nil
}

// startOperations creates the schedules of the reconciler and of retention.
func (p process) startOperations(ctx context.Context) error {
	// A server that has just started serves no schedules until its own worker, on which they run, polls.
	return app.RetryWhileUnavailable(ctx, p.Log, "Temporal's schedules", func() error {
		if err := reconciler.EnsureSchedules(ctx, p.Temporal); err != nil {
			return err
		}
		return retention.EnsureSchedule(ctx, p.Temporal, app.Retention(p.Config.Retention))
	})
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
