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
	Loose(ctx context.Context, wallet string, unstarted, abandoned int) (transaction.Loose, error)
	PaymentWakes(ctx context.Context, wallet string) <-chan struct{}
}

// Monitor follows the wallet's history on the chain and starts the workflows of transactions.
type Monitor struct {
	Store     MonitorStore
	Alerts    Alerts
	Wallet    ton.Address
	Chain     *toncenter.Client
	TopUpFrom []ton.Address // transfers from these are not orders
	Settings  Settings
	Decided   func() // notifies those waiting in this process that the chain has decided a payment
	Metrics   metrics.Transaction
	Log       *slog.Logger
	// Start starts a transaction's workflow and records that it did.
	Start func(ctx context.Context, hash string) error
}

const (
	historyPage   = 100
	pendingPage   = 100
	abandonedPage = 10
	startsAtOnce  = 10              // workflows started concurrently
	awayFor       = 5 * time.Minute // an alert after this time without a complete read of the chain
	pollUnderWay  = time.Second     // the longest interval between two reads while a payment is in flight
	lastRead      = time.Minute     // the last read of the chain begins this long before the activity's time ends
)

// WatchWallet reads the chain repeatedly, until the activity's time is nearly over; the workflow then starts it anew.
// Everything it finds is written in one database transaction with the position where it was found, so that nothing is
// missed or handled twice, whichever process dies.
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

	wakes := m.Store.PaymentWakes(ctx, wallet)
	complete := time.Now() // the end of the last complete read
	for goesOn := true; goesOn; goesOn = waitForRound(ctx, over.C, next.C, wakes) {
		complete = m.read(ctx, complete)
		temporalio.Progressed(ctx)
		next.Reset(m.tend(ctx))
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
	return complete
}

// waitForRound waits for the poll interval or a wake-up. There is no next round once the attempt or the worker ends, or
// the activity's time is over.
func waitForRound(ctx context.Context, over, next <-chan time.Time, wakes <-chan struct{}) (goesOn bool) {
	alive := temporalio.WhileWaiting(ctx)
	defer alive.Stop()

	for {
		select {
		case <-ctx.Done():
			return false
		case <-activity.GetWorkerStopChannel(ctx): // the next worker continues at once
			return false
		case <-over:
			return false
		case <-alive.C:
			temporalio.Progressed(ctx)
		case <-wakes:
			return true
		case <-next:
			return true
		}
	}
}

// report raises an alert if the chain cannot be followed: at once if a part of its history is missing, or if nothing
// has become final for minutes. It closes the alert about unreadable messages after a complete read without any.
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
		m.Log.Error("chain clock differs from ours", "for", since.Round(time.Second))
		err = m.Alerts.RaiseAlert(ctx, notice.AlertChainClock)
	default:
		m.Log.Warn("following the chain failed", "error", err, "cause", errors.Unwrap(err), "for", since.Round(time.Second))
		if !isRefusal(err, fault.ChainGap) && !errors.Is(err, errStalled) && since < awayFor {
			return
		}
		err = m.Alerts.RaiseAlert(ctx, notice.AlertChain)
	}

	if err != nil {
		m.Log.Warn("alert not updated", "error", err)
	}
}
