package metrics

import "github.com/prometheus/client_golang/prometheus"

// Download are the metrics of downloads.
type Download struct {
	Started *prometheus.CounterVec // by media_type
	Ended   *prometheus.CounterVec // by result: the final status
	Watched prometheus.Gauge

	Poll       prometheus.Histogram     // one poll of qBittorrent including its processing
	PollErrors prometheus.Counter       // polls without an answer
	Latency    *prometheus.HistogramVec // of qBittorrent, by operation
}

func (m *Metrics) Download() Download {
	return Download{
		Started:    m.counters("downloads_started_total", "Requested downloads, by medium.", "media_type"),
		Ended:      m.counters("downloads_ended_total", "Downloads that ended, by final status.", "result"),
		Watched:    m.gauge("downloads_watched_current", "Downloads that qBittorrent is polled for."),
		Poll:       m.histogram("download_poll_seconds", "One poll of qBittorrent, rows and signals included."),
		PollErrors: m.counter("download_poll_errors_total", "Polls that qBittorrent did not answer."),
		Latency:    m.histograms("qbittorrent_latency_seconds", "One call of qBittorrent's API.", fast, "op"),
	}
}
