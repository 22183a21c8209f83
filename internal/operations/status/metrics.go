package status

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stagecoach/internal/lifecycle"
)

// collectTime is how long a scrape waits for the record.
const collectTime = 5 * time.Second

var (
	jobsInState = prometheus.NewDesc("jobs_in_state_current", "Delivery jobs now, by state.", []string{"state"}, nil)
	queueDepth  = prometheus.NewDesc("queue_depth_current", "Deliveries that wait for a worker.", nil, nil)
	heartbeat   = prometheus.NewDesc(
		"worker_heartbeat_age_seconds", "Since a worker was last heard of; absent when there is none.", nil, nil,
	)
	inStatus  = prometheus.NewDesc("downloads_in_status_current", "Downloads now, by status.", []string{"status"}, nil)
	tokenLeft = prometheus.NewDesc(
		"oauth_token_expires_in_seconds", "Until the storage's access token ends; absent when unknown or endless.", nil, nil,
	)
)

// Describe implements prometheus.Collector.
func (r *Reporter) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{jobsInState, queueDepth, heartbeat, inStatus, tokenLeft} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. Without the record these metrics are absent; the others are still served.
func (r *Reporter) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()

	s, err := r.Now(ctx)
	if err != nil {
		r.o.Log.Warn("the status cannot be made for the metrics", "error", err)
		return
	}

	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}

	for _, state := range lifecycle.DeliveryStates {
		gauge(jobsInState, float64(s.InState[lifecycle.WorkloadDelivery][string(state)]), string(state))
	}

	for _, status := range lifecycle.DownloadStates {
		gauge(inStatus, float64(s.InState[lifecycle.WorkloadDownload][string(status)]), string(status))
	}

	gauge(queueDepth, float64(s.QueueDepth))
	if s.WorkerHeartbeatAge != nil {
		gauge(heartbeat, *s.WorkerHeartbeatAge)
	}

	if s.TokenExpiresIn != nil {
		gauge(tokenLeft, *s.TokenExpiresIn)
	}
}
