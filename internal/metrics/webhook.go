package metrics

import "github.com/prometheus/client_golang/prometheus"

// Webhook are the metrics of webhooks.
type Webhook struct {
	Sent   *prometheus.CounterVec // by result: "ok" or a fault code
	Paused *prometheus.CounterVec // by reason
}

func (m *Metrics) Webhook() Webhook {
	return Webhook{
		Sent:   m.counters("webhook_requests_total", "Requests to webhooks, by result: ok or an error code.", "result"),
		Paused: m.counters("webhooks_paused_total", "Webhooks that were paused, not by their owners, by reason.", "reason"),
	}
}
