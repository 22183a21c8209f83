package transaction

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// MonitorStore is the part of the record that the monitor uses.
type MonitorStore interface {
	DestinationStore
	WalletByAddress(ctx context.Context, address string) (transaction.Wallet, error)
	OpenWallet(ctx context.Context, address string, start transaction.WalletStart) (transaction.Wallet, error)
	IngestChain(
		ctx context.Context, wallet string, page []transaction.ChainTransaction, head time.Time,
	) (transaction.Ingested, error)
	SignedUntil(ctx context.Context, wallet string) (*time.Time, error)
	AbandonedPurchases(ctx context.Context, wallet string, limit int) ([]transaction.Payment, error)

	PaymentWakes(ctx context.Context, wallet string) <-chan struct{}
	UnstartedOf(ctx context.Context, wallet string, limit int) ([]string, error)
}

// Monitor follows the wallet's history on the chain and starts the workflows of transactions.
type Monitor struct {
	Store     MonitorStore
	Alerts    Alerts
	Wallet    ton.Address
	Chain     *toncenter.Client
	TopUpFrom []ton.Address // transfers from these are not orders
	Settings  Settings
	Decided   func() // tells who waits in this process that the chain has decided a payment
	Metrics   metrics.Transaction
	Log       *slog.Logger
	// Start starts a transaction's workflow and records that it did.
	Start func(ctx context.Context, hash string) error
}

const (
	historyPage   = 100
	pendingPage   = 100
	abandonedPage = 10
	startsAtOnce  = 10              // workflows that are started concurrently
	awayFor       = 5 * time.Minute // an alert after so long without a complete read of the chain
	pollUnderWay  = time.Second     // the longest pause between two reads while a payment is in flight
	lastRead      = time.Minute     // the last read of the chain begins so long before the activity's time ends
)

// WatchWallet reads the chain repeatedly, until the activity's time is nearly over; the workflow then starts it anew.
// Everything that it finds is written in one database transaction with the place where it was found, so nothing is
// missed or taken twice, whatever process dies.
func (m *Monitor) WatchWallet(ctx context.Context, wallet string) error {
	if wallet != m.Wallet.Raw() {
		return temporal.NewNonRetryableApplicationError("this worker has another wallet", string(fault.NotConfigured), nil)
	}

	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	over := time.NewTimer(time.Until(activity.GetInfo(ctx).Deadline) - lastRead)
	defer over.Stop()

	next := time.NewTimer(m.Settings.PollInterval)
	defer next.Stop()

	pause := monitorPause{over: over.C, next: next.C, wakes: m.Store.PaymentWakes(ctx, wallet)}
	complete := time.Now() // the end of the last read that was complete
	for due, goesOn := true, true; goesOn; due, goesOn = pause.wait(ctx) {
		if due {
			complete = m.read(ctx, complete)
			next.Reset(m.pause(ctx))
		}

		temporalio.Progressed(ctx)
		more, err := m.start(ctx)
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("workflows were not started", "error", err) // the next read starts them
		}

		if more {
			next.Reset(0)
		}
	}

	return temporalio.LoopOutcome(ctx)
}

// read reads the chain once. It returns the end of the last complete read, which is this one or the one at complete.
func (m *Monitor) read(ctx context.Context, complete time.Time) time.Time {
	unread, err := m.follow(ctx)
	if err == nil {
		complete = time.Now()
	}
	m.report(ctx, err, unread, time.Since(complete))

	if err := m.settleAbandoned(ctx); err != nil && ctx.Err() == nil {
		m.Log.Warn("a purchase that nobody asks for was not settled", "error", err) // the next read tries again
	}
	return complete
}

// monitorPause holds what ends a monitor's wait between two rounds.
type monitorPause struct {
	over, next <-chan time.Time // the activity's time, and the poll interval
	wakes      <-chan struct{}
}

// wait waits for the next round, and says whether it begins with a read of the chain. It does not go on when the
// attempt or the worker ends, or the activity's time is over.
func (p monitorPause) wait(ctx context.Context) (due, goesOn bool) {
	alive := temporalio.WhileWaiting(ctx)
	defer alive.Stop()

	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-activity.GetWorkerStopChannel(ctx): // the next worker continues at once
			return false, false
		case <-p.over:
			return false, false
		case <-alive.C:
			temporalio.Progressed(ctx)
		case <-p.wakes:
			return true, true
		case <-p.next:
			return true, true
		}
	}
}

// pause is how long to wait before the next read.
func (m *Monitor) pause(ctx context.Context) time.Duration {
	until, err := m.Store.SignedUntil(ctx, m.Wallet.Raw())
	if err == nil && until != nil {
		return min(m.Settings.PollInterval, pollUnderWay)
	}
	return m.Settings.PollInterval
}

// report raises an alert when the chain cannot be followed: at once when a part of its history is missing. It closes the
// alert about messages that cannot be read when there was none in a complete read.
func (m *Monitor) report(ctx context.Context, err error, unread bool, since time.Duration) {
	switch {
	case ctx.Err() != nil:
	case err == nil:
		over := []string{notice.AlertChain, notice.AlertChainClock}
		if !unread {
			over = append(over, notice.AlertChainMessage)
		}
		err = m.Alerts.SetAlerts(ctx, nil, over)
	case isRefusal(err, fault.ChainClock):
		m.Log.Error("the chain's clock is far from ours", "for", since.Round(time.Second))
		err = m.Alerts.RaiseAlert(ctx, notice.AlertChainClock)
	default:
		m.Log.Warn("the chain was not followed", "error", err, "cause", errors.Unwrap(err), "for", since.Round(time.Second))
		if !isRefusal(err, fault.ChainGap) && since < awayFor {
			return
		}
		err = m.Alerts.RaiseAlert(ctx, notice.AlertChain)
	}

	if err != nil {
		m.Log.Warn("alert not changed", "error", err)
	}
}
