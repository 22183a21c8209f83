package transaction

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/temporalio"
)

// tend starts workflows that were never started, and settles purchases that no workflow follows. It returns the delay
// before the next read of the chain.
func (m *Monitor) tend(ctx context.Context) time.Duration {
	loose, err := m.Store.Loose(ctx, m.Wallet.Raw(), pendingPage, abandonedPage)
	err = errors.Join(err, m.start(ctx, loose.Unstarted))

	// Otherwise an operator who decides without the Stars could not see that the money is on its way back.
	for _, payment := range loose.Abandoned {
		_, settleErr := settleDestination(ctx, m.Chain, m.Store, payment, m.Settings.Refund)
		err = errors.Join(err, settleErr)
		temporalio.Progressed(ctx)
	}
	if err != nil && ctx.Err() == nil {
		m.Log.Warn("some orders not started or payments not settled", "error", err) // the next round tries again
	}

	switch {
	case err == nil && len(loose.Unstarted) == pendingPage: // there may be more
		return 0
	case loose.Signed:
		return min(m.Settings.PollInterval, pollUnderWay)
	default:
		return m.Settings.PollInterval
	}
}

func (m *Monitor) start(ctx context.Context, hashes []string) error {
	starts, startCtx := errgroup.WithContext(ctx)
	starts.SetLimit(startsAtOnce)
	for _, hash := range hashes {
		starts.Go(func() error {
			return temporalio.LoopStep(startCtx, func(ctx context.Context) error { return m.Start(ctx, hash) })
		})
	}
	return starts.Wait()
}
