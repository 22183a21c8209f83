package transaction

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
)

// notifyLost asks a person to review transactions that may belong to a payment which the record does not know: the
// record was set back, or another person has the wallet's key.
func (m *Monitor) notifyLost(ctx context.Context, lost []string) error {
	if len(lost) == 0 {
		return nil
	}

	err := m.Alerts.RaiseAlert(ctx, notice.AlertTransactionReview)
	for _, hash := range lost {
		err = errors.Join(err, m.signal(ctx, hash, lifecycle.TransactionSettledSignal))
	}
	return err
}

// notify starts workflows that were never started and signals those that wait, until the record has each as notified.
// more says that not all could be started this time.
func (m *Monitor) notify(ctx context.Context) (more bool, err error) {
	pending, err := m.Store.PendingSignalsOf(ctx, m.Wallet.Raw(), pendingPage)
	if err != nil {
		return false, err
	}

	for _, turn := range pending.Turns {
		signalErr := m.signal(ctx, turn.TransactionHash, lifecycle.TransactionTurnSignal)
		if signalErr == nil {
			signalErr = m.Store.MarkTurnNotified(ctx, turn)
		}
		err = errors.Join(err, signalErr)
	}

	for _, payment := range pending.Settled {
		signalErr := m.signal(ctx, payment.TransactionHash, lifecycle.TransactionSettledSignal)
		if signalErr == nil {
			signalErr = m.Store.MarkSettledNotified(ctx, payment.PaymentID)
		}
		err = errors.Join(err, signalErr)
	}

	starts, startCtx := errgroup.WithContext(ctx)
	starts.SetLimit(startsAtOnce)
	for _, hash := range pending.Starts {
		starts.Go(func() error {
			return temporalio.LoopStep(startCtx, func(ctx context.Context) error { return m.Start(ctx, hash) })
		})
	}

	err = errors.Join(err, starts.Wait())
	return err == nil && len(pending.Starts) == pendingPage, err
}

// signal makes a workflow read the record.
func (m *Monitor) signal(ctx context.Context, hash, name string) error {
	return temporalio.LoopStep(ctx, func(ctx context.Context) error {
		return temporalio.SignalRunning(ctx, m.Temporal, lifecycle.TransactionID(hash), name, nil)
	})
}

// settleAbandoned finds out the outcome of purchases that no workflow follows any more: an operator who decides without
// the Stars cannot see otherwise that the money is on its way back.
func (m *Monitor) settleAbandoned(ctx context.Context) error {
	abandoned, err := m.Store.AbandonedPurchases(ctx, m.Wallet.Raw(), abandonedPage)
	for _, payment := range abandoned {
		_, settleErr := settleDestination(ctx, m.Chain, m.Store, payment, m.Settings.Refund)
		err = errors.Join(err, settleErr)
		temporalio.Progressed(ctx)
	}
	return err
}
