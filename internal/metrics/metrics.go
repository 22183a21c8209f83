// Package metrics defines the program's own Prometheus metrics.
package metrics

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are what the process counts and times. Times are seconds, sizes bytes. A workload's metrics are in its own
// file, and join the registry when first requested.
type Metrics struct {
	Registry *prometheus.Registry

	NavigationLatency prometheus.Histogram     // one listing requested by a person
	YandexLatency     *prometheus.HistogramVec // by operation
	TelegramLatency   *prometheus.HistogramVec // by method

	EventsLag    prometheus.Gauge // how long events have been held back
	EventStreams prometheus.Gauge

	SearchAttributesWrong prometheus.Gauge // Temporal's: missing, or of another type

	RequestsRefused *prometheus.CounterVec // because of a limit, by limit

	Findings *prometheus.CounterVec // of the reconciler, by workload and finding
	Sweeps   *prometheus.CounterVec // of the reconciler, by result: "ok" or "failed"

	MediaSweeps *prometheus.CounterVec // by result: "ok", "stopped" or "failed"
}

// Buckets of histograms.
var (
	fast = prometheus.ExponentialBuckets(0.005, 2, 14) // 5 ms … 41 s
	long = prometheus.ExponentialBuckets(0.01, 3, 12)  // 10 ms … 30 min
)

// New makes the metrics in their own registry, with those of the Go runtime and the process.
func New() *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry()}
	m.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	m.NavigationLatency = m.histogram("navigation_latency_seconds", "Listing a folder for a person.")
	m.YandexLatency = m.histograms("yd_api_latency_seconds", "One call of the storage's API.", fast, "op")
	m.TelegramLatency = m.histograms(
		"telegram_send_latency_seconds", "One call of the Bot API, uploads included.", long, "method",
	)

	m.EventsLag = m.gauge(
		"events_lag_seconds", "For how long events have been held back by a transaction in PostgreSQL, or could not be read.",
	)

	m.EventStreams = m.gauge("event_streams_current", "Streams of events that are open.")

	m.SearchAttributesWrong = m.gauge(
		"search_attributes_wrong_current", "Search attributes of Temporal that are missing or have another type.",
	)

	m.RequestsRefused = m.counters(
		"requests_refused_total", "Requests over HTTP and to the bot that were refused for a limit, by the limit.", "limit",
	)

	m.Findings = m.counters(
		"reconciler_findings_total", "Incidents in which the record and Temporal differed.", "workload", "finding",
	)

	m.Sweeps = m.counters("reconciler_sweeps_total", "Sweeps of the reconciler, by result.", "result")

	m.MediaSweeps = m.counters(
		"media_sweeps_total", "Checks whether the files of all media are there, by result.", "result",
	)

	return m
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return registered(m, prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help}))
}

func (m *Metrics) counters(name, help string, by ...string) *prometheus.CounterVec {
	return registered(m, prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, by))
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return registered(m, prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help}))
}

func (m *Metrics) histogram(name, help string) prometheus.Histogram {
	return registered(m, prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: fast}))
}

func (m *Metrics) histograms(name, help string, buckets []float64, by string) *prometheus.HistogramVec {
	opts := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
	return registered(m, prometheus.NewHistogramVec(opts, []string{by}))
}

// registered returns the registry's collector with the same name, or else registers this one.
func registered[C prometheus.Collector](m *Metrics, c C) C {
	err := m.Registry.Register(c)
	if before, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return before.ExistingCollector.(C)
	}
	if err != nil {
		panic(err) // two metrics of ours have one name
	}
	return c
}

// Handler serves the registry, and the caller's own metrics, in Prometheus' text format.
func (m *Metrics) Handler(own ...prometheus.Collector) http.Handler {
	callers := prometheus.NewRegistry()
	callers.MustRegister(own...)
	return promhttp.HandlerFor(prometheus.Gatherers{m.Registry, callers}, promhttp.HandlerOpts{})
}
