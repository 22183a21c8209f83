package transaction

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/temporalio"
)

// start starts workflows that were never started. more says that not all could be started this time.
func (m *Monitor) start(ctx context.Context) (more bool, err error) {
	pending, err := m.Store.UnstartedOf(ctx, m.Wallet.Raw(), pendingPage)
	if err != nil {
		return false, err
	}

	starts, startCtx := errgroup.WithContext(ctx)
	starts.SetLimit(startsAtOnce)
	for _, hash := range pending {
		starts.Go(func() error {
			return temporalio.LoopStep(startCtx, func(ctx context.Context) error { return m.Start(ctx, hash) })
		})
	}

	err = starts.Wait()
	return err == nil && len(pending) == pendingPage, err
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
