package metrics

import "github.com/prometheus/client_golang/prometheus"

// Delivery are the metrics of deliveries.
type Delivery struct {
	JobsEnqueued    *prometheus.CounterVec // by source
	JobsCompleted   *prometheus.CounterVec // by result: the final state
	JobAttempts     *prometheus.CounterVec // by result: "ok" or a fault code
	DownloadLatency prometheus.Histogram   // request to first byte at the storage
	SpoolUsage      prometheus.Gauge
}

func (m *Metrics) Delivery() Delivery {
	return Delivery{
		JobsEnqueued:    m.counters("jobs_enqueued_total", "Requested delivery jobs, by source.", "source"),
		JobsCompleted:   m.counters("jobs_completed_total", "Delivery jobs that ended, by final state.", "result"),
		JobAttempts:     m.counters("job_attempts_total", "Tries to deliver, by result: ok or an error code.", "result"),
		DownloadLatency: m.histogram("download_latency_seconds", "Opening a file at the storage, to its first byte."),
		SpoolUsage:      m.gauge("spool_usage_bytes_current", "Bytes in temporary files."),
	}
}
