package status

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stagecoach/internal/lifecycle"
)

// collectTime is how long a scrape waits for the record.
const collectTime = 5 * time.Second

var (
	queueDepth = prometheus.NewDesc("queue_depth_current", "Deliveries that wait for a worker.", nil, nil)
	heartbeat  = prometheus.NewDesc(
		"worker_heartbeat_age_seconds", "Since a worker was last heard of; absent when there is none.", nil, nil,
	)
	tokenLeft = prometheus.NewDesc(
		"oauth_token_expires_in_seconds", "Until the storage's access token ends; absent when unknown or endless.", nil, nil,
	)
)

// inState has a metric of each workload: its rows by state.
var inState = func() map[string]*prometheus.Desc {
	all := map[string]*prometheus.Desc{}
	for _, workload := range lifecycle.Workloads {
		rows, by, _ := strings.Cut(workload.Counted, "_in_")
		all[workload.Name] = prometheus.NewDesc(
			workload.Counted+"_current", "Number of "+rows+" now, by "+by+".", []string{by}, nil,
		)
	}
	return all
}()

// Describe implements prometheus.Collector.
func (r *Reporter) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{queueDepth, heartbeat, tokenLeft} {
		descs <- desc
	}
	for _, desc := range inState {
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

	for workload, counts := range s.InState {
		for state, n := range counts {
			gauge(inState[workload], float64(n), state)
		}
	}

	gauge(queueDepth, float64(s.QueueDepth))
	if s.WorkerHeartbeatAge != nil {
		gauge(heartbeat, *s.WorkerHeartbeatAge)
	}

	if s.TokenExpiresIn != nil {
		gauge(tokenLeft, *s.TokenExpiresIn)
	}
}
