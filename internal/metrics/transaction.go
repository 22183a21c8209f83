package metrics

import "github.com/prometheus/client_golang/prometheus"

// Transaction are the metrics of transactions.
type Transaction struct {
	Started prometheus.Counter
	Ended   *prometheus.CounterVec // by result: the final status

	ToncenterLatency *prometheus.HistogramVec // by operation
	FragmentLatency  *prometheus.HistogramVec // by method
}

func (m *Metrics) Transaction() Transaction {
	return Transaction{
		Started: m.counter("transactions_started_total", "Orders for Stars that came in."),
		Ended: m.counters(
			"transactions_ended_total", "Ends of tries to carry out an order, by status: a failed one may be tried again.",
			"result",
		),
		ToncenterLatency: m.histograms("toncenter_latency_seconds", "One call of toncenter's API.", fast, "op"),
		FragmentLatency:  m.histograms("fragment_latency_seconds", "One call of Fragment's API.", fast, "method"),
	}
}
