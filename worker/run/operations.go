package run

import (
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

func (a process) counts() *reconcile.Counts {
	for _, kind := range store.CountKinds() { // a counter that is not there yet cannot be seen to grow
		a.Metrics.CountCorrections.WithLabelValues(kind)
	}
	return &reconcile.Counts{
		Store: a.Store, Log: a.Log, OnCorrected: func(kind string) { a.Metrics.CountCorrections.WithLabelValues(kind).Inc() },
	}
}

func (a process) mediaSweep() *reconcile.MediaSweep {
	for _, result := range []string{reconcile.MediaSwept, reconcile.MediaStopped, reconcile.MediaSweepFailed} {
		a.Metrics.MediaSweeps.WithLabelValues(result)
	}
	return &reconcile.MediaSweep{
		Store: a.Store, Log: a.Log, Root: a.Config.Media.Root, SavePath: a.Config.QBittorrent.SavePath,
		Every: a.Config.Media.SweepEvery, MaxPercent: a.Config.Media.MaxPercent,
		OnSwept: func(result string) { a.Metrics.MediaSweeps.WithLabelValues(result).Inc() },
	}
}

// reconciler makes what keeps the record and Temporal agreeing.
func (a process) reconciler(workloads []service.Workload) *reconcile.Reconciler {
	for _, workload := range lifecycle.Workloads { // a counter that is not there yet cannot be seen to grow
		for _, finding := range store.FindingKinds {
			a.Metrics.Findings.WithLabelValues(workload, finding)
		}
	}

	return &reconcile.Reconciler{
		Temporal: a.Temporal, Store: a.Store, Workloads: workloads, Log: a.Log, Every: 15 * time.Second,
		Counts: a.counts(), Media: a.mediaSweep(), Watch: a.Reporter().Watch,
		OnFinding: func(workload, finding string) { a.Metrics.Findings.WithLabelValues(workload, finding).Inc() },
		OnSweep: func(err error) {
			result := "ok"
			if err != nil {
				result = "failed"
			}
			a.Metrics.Sweeps.WithLabelValues(result).Inc()
		},
	}
}
