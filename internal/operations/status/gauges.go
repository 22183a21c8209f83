package status

import (
	"context"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"stagecoach/internal/money"
	"stagecoach/internal/store"
	"stagecoach/internal/store/notice"
)

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
)

// Gauges are the metrics of payments and alerts that only the record knows. They are what the Reporter has counted:
// one scrape costs one look at the record.
type Gauges struct{ reporter *Reporter }

// NewGauges makes the metrics; it reads nothing yet.
func NewGauges(r *Reporter) *Gauges { return &Gauges{r} }

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{needReview, paymentQueue, walletBalance, chainLag, alertsOpen} {
		descs <- desc
	}
}

// Collect implements prometheus.Collector. Without the record these metrics are absent; the others are still served.
func (g *Gauges) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()

	now, err := g.reporter.Now(ctx)
	if err != nil {
		return // the Reporter, which is collected beside, tells the log
	}

	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}

	gauge(needReview, float64(now.NeedsReview))
	gauge(paymentQueue, float64(now.PaymentQueue))
	if now.Wallet.BalanceNano != nil {
		gauge(walletBalance, float64(*now.Wallet.BalanceNano)/float64(money.TON))
	}

	if now.Wallet.ChainLag != nil {
		gauge(chainLag, *now.Wallet.ChainLag)
	}

	for _, kind := range store.Parts.AlertKinds() {
		open := slices.ContainsFunc(now.Alerts, func(alert notice.OpenAlert) bool { return alert.Kind == kind })
		gauge(alertsOpen, map[bool]float64{true: 1}[open], kind)
	}
}
