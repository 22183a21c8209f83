// Package metrics holds the program's own Prometheus metrics.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what the process counts and times. Times are seconds, sizes bytes.
type Metrics struct {
	Registry *prometheus.Registry

	JobsEnqueued      *prometheus.CounterVec   // by source
	JobsCompleted     *prometheus.CounterVec   // by result: the final state
	JobAttempts       *prometheus.CounterVec   // by result: "ok" or a fault code
	NavigationLatency prometheus.Histogram     // one listing asked for by a person
	DownloadLatency   prometheus.Histogram     // request to first byte at the storage
	YandexLatency     *prometheus.HistogramVec // by operation
	TelegramLatency   *prometheus.HistogramVec // by method
	SpoolUsage        prometheus.Gauge

	DownloadsStarted   *prometheus.CounterVec // by media_type
	DownloadsEnded     *prometheus.CounterVec // by result: the final status
	DownloadsWatched   prometheus.Gauge
	DownloadPoll       prometheus.Histogram     // one poll of qBittorrent with all that follows from it
	DownloadPollErrors prometheus.Counter       // polls without an answer
	QBittorrentLatency *prometheus.HistogramVec // by operation

	TasksCreated    prometheus.Counter
	TaskTransitions *prometheus.CounterVec // by action
	TasksEnded      *prometheus.CounterVec // by state

	TransactionsStarted prometheus.Counter
	TransactionsEnded   *prometheus.CounterVec   // by result: the final status
	ToncenterLatency    *prometheus.HistogramVec // by operation
	FragmentLatency     *prometheus.HistogramVec // by method

	EventsLag    prometheus.Gauge // for how long events have been held back
	EventStreams prometheus.Gauge

	RequestsRefused *prometheus.CounterVec // for a limit, by limit

	Findings *prometheus.CounterVec // of the reconciler, by workload and finding
	Sweeps   *prometheus.CounterVec // of the reconciler, by result: "ok" or "failed"

	CountCorrections *prometheus.CounterVec // by kind
	MediaSweeps      *prometheus.CounterVec // by result: "ok", "stopped" or "failed"
}

// New makes the metrics in a registry of their own, with those of the Go runtime and the process.
func New() *Metrics {
	fast := prometheus.ExponentialBuckets(0.005, 2, 14) // 5 ms … 41 s
	long := prometheus.ExponentialBuckets(0.01, 3, 12)  // 10 ms … 30 min
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		JobsEnqueued: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "jobs_enqueued_total", Help: "Delivery jobs asked for, by door."}, []string{"source"},
		),
		JobsCompleted: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "jobs_completed_total", Help: "Delivery jobs that ended, by final state."},
			[]string{"result"},
		),
		JobAttempts: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "job_attempts_total", Help: "Tries to deliver, by result: ok or an error code."},
			[]string{"result"},
		),
		NavigationLatency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "navigation_latency_seconds", Help: "Listing a folder for a person.", Buckets: fast,
		}),
		DownloadLatency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "download_latency_seconds", Help: "Opening a file at the storage, to its first byte.", Buckets: fast,
		}),
		YandexLatency: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "yd_api_latency_seconds", Help: "One call of the storage's API.", Buckets: fast},
			[]string{"op"},
		),
		TelegramLatency: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{
				Name: "telegram_send_latency_seconds", Help: "One call of the Bot API, uploads included.", Buckets: long,
			},
			[]string{"method"},
		),
		SpoolUsage: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "spool_usage_bytes_current", Help: "Bytes in temporary files.",
		}),

		DownloadsStarted: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "downloads_started_total", Help: "Downloads asked for, by medium."},
			[]string{"media_type"},
		),
		DownloadsEnded: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "downloads_ended_total", Help: "Downloads that ended, by final status."},
			[]string{"result"},
		),
		DownloadsWatched: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "downloads_watched_current", Help: "Downloads that qBittorrent is polled for.",
		}),
		DownloadPoll: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "download_poll_seconds", Help: "One poll of qBittorrent, rows and signals included.", Buckets: fast,
		}),
		DownloadPollErrors: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "download_poll_errors_total", Help: "Polls that qBittorrent did not answer.",
		}),
		QBittorrentLatency: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "qbittorrent_latency_seconds", Help: "One call of qBittorrent's API.", Buckets: fast},
			[]string{"op"},
		),

		TasksCreated: prometheus.NewCounter(prometheus.CounterOpts{Name: "tasks_created_total", Help: "Tasks made."}),
		TaskTransitions: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "task_transitions_total", Help: "Transitions of tasks, by action."}, []string{"action"},
		),
		TasksEnded: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "tasks_ended_total", Help: "Tasks that ended, by final state."}, []string{"state"},
		),

		TransactionsStarted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "transactions_started_total", Help: "Orders for Stars that came in.",
		}),
		TransactionsEnded: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "transactions_ended_total",
				Help: "Ends of tries to carry out an order, by status: a failed one may be tried again.",
			},
			[]string{"result"},
		),
		ToncenterLatency: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "toncenter_latency_seconds", Help: "One call of toncenter's API.", Buckets: fast},
			[]string{"op"},
		),
		FragmentLatency: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "fragment_latency_seconds", Help: "One call of Fragment's API.", Buckets: fast},
			[]string{"method"},
		),

		EventsLag: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "events_lag_seconds",
			Help: "For how long events have been held back by a transaction in PostgreSQL, or could not be read.",
		}),
		EventStreams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "event_streams_current", Help: "Streams of events that are open.",
		}),

		RequestsRefused: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "requests_refused_total",
				Help: "Requests over HTTP and to the bot that were refused for a limit, by the limit.",
			},
			[]string{"limit"},
		),

		Findings: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "reconciler_findings_total", Help: "Incidents in which the record and Temporal differed.",
			},
			[]string{"workload", "finding"},
		),
		Sweeps: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "reconciler_sweeps_total", Help: "Looks at the whole record and Temporal, by result."},
			[]string{"result"},
		),

		CountCorrections: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "count_corrections_total", Help: "Kept counts that differed from the rows when they were compared.",
			},
			[]string{"kind"},
		),
		MediaSweeps: prometheus.NewCounterVec(
			prometheus.CounterOpts{
				Name: "media_sweeps_total", Help: "Looks whether the files of all media are there, by result.",
			},
			[]string{"result"},
		),
	}

	m.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.JobsEnqueued, m.JobsCompleted, m.JobAttempts, m.NavigationLatency, m.DownloadLatency, m.YandexLatency, m.TelegramLatency, m.SpoolUsage,
		m.DownloadsStarted, m.DownloadsEnded, m.DownloadsWatched, m.DownloadPoll, m.DownloadPollErrors, m.QBittorrentLatency,
		m.TasksCreated, m.TaskTransitions, m.TasksEnded, m.TransactionsStarted, m.TransactionsEnded, m.ToncenterLatency, m.FragmentLatency, m.EventsLag, m.EventStreams, m.RequestsRefused, m.Findings, m.Sweeps,
		m.CountCorrections, m.MediaSweeps)

	return m
}

// Handler serves the registry in Prometheus' text format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{})
}
