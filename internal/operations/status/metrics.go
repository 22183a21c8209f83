package status

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
)

// collectTime is how long a scrape waits for the record.
const collectTime = 5 * time.Second

var (
	needReview = prometheus.NewDesc(
		"transactions_need_review_current", "Transactions that a person has to decide on.", nil, nil,
	)
	paymentQueue = prometheus.NewDesc(
		"payment_queue_length_current", "Payments that wait for the wallet's turn, or have it.", nil, nil,
	)
	walletBalance = prometheus.NewDesc(
		"wallet_balance_ton", "What the wallet holds, as the ledger has it; absent without a wallet.", nil, nil,
	)
	chainLag = prometheus.NewDesc(
		"chain_lag_seconds",
		"Age of the chain's time up to which the wallet's history is complete; absent when it was never looked at.", nil, nil,
	)
	alertsOpen = prometheus.NewDesc(
		"alerts_open_current",
		"1 for each kind of incident that administrators were told of and that is not over, 0 for the others.",
		[]string{"kind"}, nil,
	)
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
	for _, desc := range []*prometheus.Desc{
		queueDepth, heartbeat, tokenLeft, needReview, paymentQueue, walletBalance, chainLag, alertsOpen,
	} {
		descs <- desc
	}
	for _, desc := range inState {
		descs <- desc
	}
}

// Collect implements prometheus.Collector: one scrape costs one read of the record. Without the record these metrics
// are absent; the others are still served.
func (r *Reporter) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()

	s, err := r.Now(ctx)
	if err != nil {
		r.o.Log.Warn("the status cannot be read for the metrics", "error", err)
		return
	}

	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}

	gaugeIfKnown := func(desc *prometheus.Desc, value *float64) {
		if value != nil {
			gauge(desc, *value)
		}
	}

	for workload, counts := range s.InState {
		for state, n := range counts {
			gauge(inState[workload], float64(n), state)
		}
	}

	for _, kind := range store.Parts.AlertKinds() {
		open := slices.ContainsFunc(s.Alerts, func(alert notice.OpenAlert) bool { return alert.Kind == kind })
		gauge(alertsOpen, map[bool]float64{true: 1}[open], kind)
	}

	gauge(queueDepth, float64(s.QueueDepth))
	gauge(needReview, float64(s.NeedsReview))
	gauge(paymentQueue, float64(s.PaymentQueue))
	if balance := s.Wallet.BalanceNano; balance != nil {
		gauge(walletBalance, float64(*balance)/float64(money.TON))
	}

	gaugeIfKnown(heartbeat, s.WorkerHeartbeatAge)
	gaugeIfKnown(tokenLeft, s.TokenExpiresIn)
	gaugeIfKnown(chainLag, s.Wallet.ChainLag)
}
