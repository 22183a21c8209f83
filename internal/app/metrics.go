package app

import (
	"slices"

	"stagecoach/internal/allowance"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store/operations"
)

// startAtZero makes the counters of ends exist before the first end: Prometheus sees no rise in what comes up as a one.
func startAtZero(m *metrics.Metrics) {
	for _, state := range lifecycle.DeliveryStates {
		if lifecycle.Delivery.Terminal(state) {
			m.JobsCompleted.WithLabelValues(string(state))
		}
	}

	for _, status := range lifecycle.DownloadStates {
		if lifecycle.Download.Terminal(status) {
			m.DownloadsEnded.WithLabelValues(string(status))
		}
	}

	for _, status := range lifecycle.TaskStates {
		if lifecycle.Task.Terminal(status) {
			m.TasksEnded.WithLabelValues(string(status))
		}
	}

	for _, status := range []lifecycle.TransactionState{lifecycle.TransactionProcessed, lifecycle.TransactionFailed} {
		m.TransactionsEnded.WithLabelValues(string(status))
	}
}

// CountRefused gives what counts requests that are refused for a limit.
func (a *Connections) CountRefused() func(limit string) {
	// a counter that is not there yet cannot be seen to grow
	for _, limit := range slices.Concat(operations.QuotaNames(), allowance.Limits) {
		a.Metrics.RequestsRefused.WithLabelValues(limit)
	}
	return func(limit string) { a.Metrics.RequestsRefused.WithLabelValues(limit).Inc() }
}
