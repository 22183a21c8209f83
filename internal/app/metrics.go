package app

import (
	"slices"

	"stagecoach/internal/allowance"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/workflows/delivery"
	"stagecoach/workflows/download"
	"stagecoach/workflows/task"
)

// startAtZero makes the counters of ends exist before the first end: Prometheus sees no rise in what comes up as a one.
func startAtZero(m *metrics.Metrics) {
	for _, state := range store.JobStates {
		if delivery.Rules.Terminal(state) {
			m.JobsCompleted.WithLabelValues(string(state))
		}
	}
	for _, status := range store.DownloadStatuses {
		if download.Rules.Terminal(status) {
			m.DownloadsEnded.WithLabelValues(string(status))
		}
	}
	for _, status := range store.TaskStatuses {
		if task.Rules.Terminal(status) {
			m.TasksEnded.WithLabelValues(string(status))
		}
	}
	for _, status := range []store.TransactionStatus{store.TransactionProcessed, store.TransactionFailed} {
		m.TransactionsEnded.WithLabelValues(string(status))
	}
}

// countRefused gives what counts requests that are refused for a limit.
func (a *common) countRefused() func(limit string) {
	for _, limit := range slices.Concat(store.QuotaNames(), allowance.Limits) { // a counter that is not there yet cannot be seen to grow
		a.metrics.RequestsRefused.WithLabelValues(limit)
	}
	return func(limit string) { a.metrics.RequestsRefused.WithLabelValues(limit).Inc() }
}
