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
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
)

// collectTime is how long a scrape waits for the record.
const collectTime = 5 * time.Second

var (
	needReview = prometheus.NewDesc(
		"transactions_need_review_current", "Transactions that a person has to decide on.", nil, nil,
	)
	paymentQueue = prometheus.NewDesc(
		"payment_queue_length_current", "Payments that wait for the wallet, or have it.", nil, nil,
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
		[]string{"kind", "severity"}, nil,
	)
	databaseAnswers = prometheus.NewDesc("database_answers_current", "1 while the record can be read, else 0.", nil, nil)
	temporalAnswers = prometheus.NewDesc("temporal_answers_current", "1 while Temporal describes a task queue, else 0.", nil, nil)
	waiting         = ofQueue("task_queue_backlog_current", "Tasks that wait in a task queue.")
	waitingSince    = ofQueue("task_queue_oldest_seconds", "How long the oldest of them has waited.")
	pollersOf       = ofQueue("task_queue_pollers_current", "Processes that have polled a task queue within five minutes.")
	queueDepth      = prometheus.NewDesc("queue_depth_current", "Deliveries that wait for a worker.", nil, nil)
	heartbeat       = prometheus.NewDesc(
		"worker_heartbeat_age_seconds", "Since a worker was last heard of; absent when there is none.", nil, nil,
	)
	backupAge = prometheus.NewDesc(
		"backup_age_seconds", "Since the moment of the last backup that is complete; absent when there is none.", nil, nil,
	)
	tokenLeft = prometheus.NewDesc(
		"oauth_token_expires_in_seconds", "Until the storage's access token ends; absent when unknown or endless.", nil, nil,
	)
)

// ofQueue describes a metric by task queue, with the labels of the SDK's worker metrics, so that both can be compared.
func ofQueue(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help+" Absent while Temporal does not answer.", []string{"task_queue", "worker_type"}, nil)
}

// workerTypes are the SDK's names for the kinds of queues.
var workerTypes = map[string]string{"workflow": "WorkflowWorker", "activity": "ActivityWorker"}

// inState has a metric for each workload: its rows by state.
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
		queueDepth, heartbeat, backupAge, tokenLeft, needReview, paymentQueue, walletBalance, chainLag, alertsOpen,
		databaseAnswers, temporalAnswers, waiting, waitingSince, pollersOf,
	} {
		descs <- desc
	}
	for _, desc := range inState {
		descs <- desc
	}
}

// Collect implements prometheus.Collector: one scrape costs one read of the record. Without the record these metrics
// are absent except the one that says so; the others are still served.
func (r *Reporter) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()

	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gaugeIf := func(desc *prometheus.Desc, is bool, labels ...string) {
		gauge(desc, map[bool]float64{true: 1}[is], labels...)
	}

	_ = r.o.Store.Notices.SetAlerts(core.Reserved(ctx), nil, nil) // those that could not be written; they are shown anyway
	s, err := r.Now(ctx)
	gaugeIf(databaseAnswers, err == nil)
	if err != nil {
		r.o.Log.Warn("reading the status for metrics failed", "error", err)
		return
	}
	gaugeIf(temporalAnswers, s.TemporalAnswers)

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

	if !r.takesWrites(ctx) {
		s.Alerts = append(slices.Clip(s.Alerts), notice.OpenAlert{Kind: notice.AlertNoWrites})
	}
	for _, kind := range store.Parts.AlertKinds() {
		open := slices.ContainsFunc(s.Alerts, func(alert notice.OpenAlert) bool { return alert.Kind == kind.Name })
		gaugeIf(alertsOpen, open, kind.Name, kind.Severity)
	}

	for _, q := range s.Queues {
		gauge(waiting, float64(q.Depth), q.Name, workerTypes[q.Kind])
		gauge(waitingSince, q.OldestAge, q.Name, workerTypes[q.Kind])
		gauge(pollersOf, float64(q.Workers), q.Name, workerTypes[q.Kind])
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
	for _, o := range s.Outside {
		if o.Name == operations.Backup {
			gaugeIfKnown(backupAge, o.SuccessAge)
		}
	}
}

// Unwritten is the collector of a process that reports no status: it shows the incidents that this process could not
// record, because no other process knows of them.
type Unwritten struct{ Notices *notice.Store }

// Describe implements prometheus.Collector.
func (u Unwritten) Describe(descs chan<- *prometheus.Desc) { descs <- alertsOpen }

// Collect implements prometheus.Collector, and retries writing them.
func (u Unwritten) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()

	_ = u.Notices.SetAlerts(core.Reserved(ctx), nil, nil)
	for _, alert := range u.Notices.Unwritten() {
		for _, kind := range store.Parts.AlertKinds() {
			if kind.Name == alert.Kind {
				metrics <- prometheus.MustNewConstMetric(alertsOpen, prometheus.GaugeValue, 1, kind.Name, kind.Severity)
			}
		}
	}
}
