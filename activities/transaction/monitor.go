package transaction

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"golang.org/x/sync/errgroup"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// MonitorStore is what the monitor needs of the record.
type MonitorStore interface {
	DestinationStore
	WalletByAddress(ctx context.Context, address string) (transaction.Wallet, error)
	OpenWallet(ctx context.Context, address string, start transaction.WalletStart) (transaction.Wallet, error)
	IngestChain(
		ctx context.Context, wallet string, page []transaction.ChainTransaction, head time.Time,
	) (transaction.Ingested, error)
	SignedUntil(ctx context.Context, wallet string) (*time.Time, error)
	AbandonedPurchases(ctx context.Context, wallet string, limit int) ([]transaction.Payment, error)

	WakesOf(ctx context.Context, wallet string) transaction.Wakes
	UntoldOf(ctx context.Context, wallet string, limit int) (transaction.Untold, error)
	MarkTurnTold(ctx context.Context, turn transaction.QueueEntry) error
	MarkSettledTold(ctx context.Context, paymentID int64) error

	RaiseAlert(ctx context.Context, kind string) error
	SetAlerts(ctx context.Context, raise, resolve []string) error
}

// Monitor follows the wallet's history on the chain and tells the workflows of transactions what it means to them.
type Monitor struct {
	Store     MonitorStore
	Wallet    ton.Address
	Chain     *toncenter.Client
	TopUpFrom []ton.Address // whose transfers are no orders
	Settings  Settings
	Temporal  temporalio.Signaler
	Metrics   *metrics.Metrics
	Log       *slog.Logger
	// Start starts a transaction's workflow and remembers that it did.
	Start func(ctx context.Context, hash string) error
}

const (
	historyPage   = 100
	untoldPage    = 100 // of each kind
	abandonedPage = 10
	startsAtAll   = 10              // workflows that are started at a time
	awayFor       = 5 * time.Minute // without a complete look at the chain: an alert
	underWay      = time.Second     // between two looks while a payment is on its way, at most
	// room for one look before the activity's time is over, however long the poll interval is
	lastLook = time.Minute
)

// WatchWallet looks at the chain again and again, until the activity's time is nearly over; the workflow then starts it
// anew. Everything that it finds is written in one database transaction with the place where it was found, so nothing
// is missed or taken twice, whatever dies.
func (m *Monitor) WatchWallet(ctx context.Context, wallet string) error {
	if m.Chain == nil {
		return refuseHere(ctx)
	}
	if wallet != m.Wallet.Raw() {
		return temporal.NewNonRetryableApplicationError("this worker has another wallet", string(fault.NotConfigured), nil)
	}

	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	over := time.NewTimer(time.Until(activity.GetInfo(ctx).Deadline) - lastLook)
	defer over.Stop()

	next := time.NewTimer(m.Settings.PollInterval)
	defer next.Stop()

	pause := monitorPause{over: over.C, next: next.C, wakes: m.Store.WakesOf(ctx, wallet)}
	complete := time.Now()
	for look, goesOn := true, true; goesOn; look, goesOn = pause.wait(ctx) {
		if look {
			err := m.follow(ctx)
			if err == nil {
				complete = time.Now()
			}
			m.report(ctx, err, time.Since(complete))
			if err := m.settleAbandoned(ctx); err != nil && ctx.Err() == nil {
				m.Log.Warn("a purchase that nobody asks for was not settled", "error", err) // the next look tries again
			}
			next.Reset(m.pause(ctx))
		}

		temporalio.Progressed(ctx)
		more, err := m.tell(ctx)
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("workflows were not told", "error", err) // the next look tells them
		}

		if more {
			next.Reset(0)
		}
	}

	return temporalio.LoopOutcome(ctx)
}

// monitorPause is what ends a monitor's wait between two rounds.
type monitorPause struct {
	over, next <-chan time.Time // the activity's time, and the poll interval
	wakes      transaction.Wakes
}

// wait waits for the next round, and says whether it begins with a look at the chain. It does not go on when the
// attempt ends, the worker does, or the activity's time is over.
func (p monitorPause) wait(ctx context.Context) (look, goesOn bool) {
	alive := temporalio.WhileWaiting(ctx)
	defer alive.Stop()

	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-activity.GetWorkerStopChannel(ctx): // the next worker goes on at once
			return false, false
		case <-p.over:
			return false, false
		case <-alive.C:
			temporalio.Progressed(ctx)
		case <-p.wakes.Turns:
			return false, true
		case <-p.wakes.Payments:
			return true, true
		case <-p.next:
			return true, true
		}
	}
}

// pause is how long the next look may wait.
func (m *Monitor) pause(ctx context.Context) time.Duration {
	until, err := m.Store.SignedUntil(ctx, m.Wallet.Raw())
	if err == nil && until != nil {
		return min(m.Settings.PollInterval, underWay)
	}
	return m.Settings.PollInterval
}

// report raises an alert when the chain cannot be followed: at once when something is missing in it.
func (m *Monitor) report(ctx context.Context, err error, since time.Duration) {
	switch {
	case ctx.Err() != nil:
	case err == nil:
		err = m.Store.SetAlerts(ctx, nil, []string{notice.AlertChain, notice.AlertChainClock})
	case isRefusal(err, fault.ChainClock):
		m.Log.Error("the chain's clock is far from ours", "for", since.Round(time.Second))
		err = m.Store.RaiseAlert(ctx, notice.AlertChainClock)
	default:
		m.Log.Warn("the chain was not followed", "error", err, "cause", errors.Unwrap(err), "for", since.Round(time.Second))
		if !isRefusal(err, fault.ChainGap) && since < awayFor {
			return
		}
		err = m.Store.RaiseAlert(ctx, notice.AlertChain)
	}

	if err != nil {
		m.Log.Warn("alert not changed", "error", err)
	}
}

// follow reads the history from the cursor to its final end.
func (m *Monitor) follow(ctx context.Context) error {
	wallet, err := m.open(ctx)
	if err != nil {
		return err
	}

	temporalio.Progressed(ctx)
	head, clockErr := m.Chain.Head(ctx) // before the history: what it has by then is complete up to this time
	if clockErr != nil && !isRefusal(clockErr, fault.ChainClock) {
		return clockErr
	}

	bound := head.At.Add(-m.Settings.FinalityMargin) // without a time that can be trusted nothing is complete
	for cursor := uint64(wallet.CursorLT); ; {
		temporalio.Progressed(ctx)
		found, err := m.Chain.Transactions(ctx, toncenter.Page{Account: m.Wallet, FromLT: cursor + 1, Limit: historyPage})
		if err != nil {
			return err
		}

		temporalio.Progressed(ctx)
		page := make([]transaction.ChainTransaction, 0, len(found))
		for _, t := range found {
			if t.Finality != toncenter.Finalized {
				bound = earlier(bound, t.At.Add(-time.Second))
				break
			}
			page = append(page, m.record(t))
			cursor = t.LT
		}

		full := len(page) == historyPage
		scanned := time.Time{}
		if !full && clockErr == nil {
			if scanned, err = m.complete(ctx, cursor, bound); err != nil {
				return err
			}
		}

		temporalio.Progressed(ctx)
		brought, err := m.Store.IngestChain(ctx, wallet.Address, page, scanned)
		m.note(brought)
		if err == nil {
			err = m.tellLost(ctx, brought.Lost)
		}

		if err != nil || !full {
			return cmp.Or(err, clockErr)
		}
	}
}

func (m *Monitor) note(brought transaction.Ingested) {
	m.Metrics.TransactionsStarted.Add(float64(len(brought.NewDeposits)))
	for _, hash := range brought.Lost {
		m.Log.Error("the chain has a payment that the record does not know: a person has to look", "transaction", hash)
	}
	if brought.Written > 0 || len(brought.Settled) > 0 {
		m.Log.Info(
			"chain followed", "transactions", brought.Written, "deposits", len(brought.NewDeposits), "settled",
			len(brought.Settled),
		)
	}
}

// complete says up to which chain time nothing is missing in the history that ends with the transaction at cursor. When
// that would make an end of a signed payment, the wallet's own state must agree that there is no later transaction: a
// gateway has many servers, and one may tell the time while another still lacks a block.
func (m *Monitor) complete(ctx context.Context, cursor uint64, bound time.Time) (time.Time, error) {
	until, err := m.Store.SignedUntil(ctx, m.Wallet.Raw())
	if err != nil || until == nil || !until.Before(bound) {
		return bound, err
	}

	state, err := m.Chain.Wallet(ctx, m.Wallet)
	if err != nil {
		return time.Time{}, err
	}
	if state.LastLT != cursor {
		return time.Time{}, nil
	}

	return bound, nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// open gives the wallet's place in its history. At the first start that is the end of it, unless all of it is wanted:
// who paid before is not to be sold Stars today.
func (m *Monitor) open(ctx context.Context) (transaction.Wallet, error) {
	wallet, err := m.Store.WalletByAddress(ctx, m.Wallet.Raw())
	if fault.CodeOf(err) != fault.WalletNotFound {
		return wallet, err
	}

	start := transaction.WalletStart{}
	if !m.Settings.WholeHistory {
		state, err := m.Chain.Wallet(ctx, m.Wallet)
		if err != nil {
			return wallet, err
		}
		start = transaction.WalletStart{
			LT: int64(state.LastLT), Hash: state.LastHash, BalanceNano: int64(state.Balance), Seqno: int64(state.Seqno),
		}
		if err := m.isFinal(ctx, state); err != nil {
			return wallet, err
		}
	}

	return m.Store.OpenWallet(ctx, m.Wallet.Raw(), start)
}

// isFinal makes sure that the wallet's last transaction is there for good, before the record begins after it.
func (m *Monitor) isFinal(ctx context.Context, state toncenter.Wallet) error {
	if state.LastLT == 0 {
		return nil
	}

	last, err := m.Chain.Transactions(ctx, toncenter.Page{Account: m.Wallet, FromLT: state.LastLT, Limit: 1})
	if err != nil {
		return err
	}
	if len(last) == 0 || last[0].Hash != state.LastHash || last[0].Finality != toncenter.Finalized {
		return fault.New(fault.ChainProtocol, "the wallet's last transaction is not final yet").Retry()
	}

	return nil
}

// record is a transaction as the record keeps it.
func (m *Monitor) record(t toncenter.Transaction) transaction.ChainTransaction {
	r := transaction.ChainTransaction{
		LT: int64(t.LT), Hash: t.Hash, PrevLT: int64(t.PrevLT), PrevHash: t.PrevHash, At: t.At, Aborted: t.Aborted,
		FeeNano: int64(t.Fees),
	}

	if t.Compute != nil {
		r.ComputeOK, r.ExitCode = t.Compute.Success, t.Compute.ExitCode
	}

	if t.Action != nil {
		r.ActionOK, r.SkippedActions = t.Action.Success, t.Action.Skipped
	}

	for _, out := range t.Out {
		r.FeeNano += int64(out.Fee)
		r.Out = append(
			r.Out,
			transaction.OutMessage{Hash: out.Hash, Destination: raw(out.Destination), Nano: int64(out.Value), BodyHash: out.BodyHash},
		)
	}

	if t.In == nil {
		return r
	}

	r.In = transaction.InMessage{Hash: t.In.Hash, Source: raw(t.In.Source), Nano: int64(t.In.Value), Bounced: t.In.Bounced}
	if r.In.Source == "" {
		r.In.HashNorm = t.In.NormHash
	}

	if t.In.Comment != nil {
		r.Comment = *t.In.Comment
	}

	asks := t.IsDeposit() && !slices.Contains(m.TopUpFrom, t.In.Source)
	r.Deposit = asks && r.In.Nano >= m.Settings.MinDeposit
	if asks && !r.Deposit {
		order, _ := stars.Parse(r.Comment, stars.Least) // a number of Stars that is wrong is of no matter
		r.TooSmallFor = order.Username
	}
	return r
}

// raw is an address as the record keeps it; nobody's is empty.
func raw(a ton.Address) string {
	if a == (ton.Address{}) {
		return ""
	}
	return a.Raw()
}

// tellLost asks a person to look at transactions that a payment which the record does not know may have been for: the
// record was set back, or somebody else has the wallet's key.
func (m *Monitor) tellLost(ctx context.Context, lost []string) error {
	if len(lost) == 0 {
		return nil
	}
	err := m.Store.RaiseAlert(ctx, notice.AlertTransactionReview)
	for _, hash := range lost {
		err = errors.Join(err, m.signal(ctx, hash, lifecycle.TransactionSettledSignal, func() error { return nil }))
	}
	return err
}

// tell starts workflows that were never started and signals those that wait, until the record says that each was told.
// There are more when not all could be started this time.
func (m *Monitor) tell(ctx context.Context) (more bool, err error) {
	untold, err := m.Store.UntoldOf(ctx, m.Wallet.Raw(), untoldPage)
	if err != nil {
		return false, err
	}

	for _, turn := range untold.Turns {
		err = errors.Join(
			err,
			m.signal(
				ctx, turn.TransactionHash, lifecycle.TransactionTurnSignal, func() error { return m.Store.MarkTurnTold(ctx, turn) },
			),
		)
	}

	for _, payment := range untold.Settled {
		err = errors.Join(
			err,
			m.signal(
				ctx, payment.TransactionHash, lifecycle.TransactionSettledSignal,
				func() error { return m.Store.MarkSettledTold(ctx, payment.PaymentID) },
			),
		)
	}

	starts, startCtx := errgroup.WithContext(ctx)
	starts.SetLimit(startsAtAll)
	for _, hash := range untold.Starts {
		starts.Go(func() error {
			return temporalio.LoopStep(startCtx, func(ctx context.Context) error { return m.Start(ctx, hash) })
		})
	}

	err = errors.Join(err, starts.Wait())
	return err == nil && len(untold.Starts) == untoldPage, err
}

// settleAbandoned finds out what became of purchases that no workflow asks for any more: an operator who decides
// without the Stars has no way to see that the money is on its way back.
func (m *Monitor) settleAbandoned(ctx context.Context) error {
	forsaken, err := m.Store.AbandonedPurchases(ctx, m.Wallet.Raw(), abandonedPage)
	for _, payment := range forsaken {
		_, failed := settleDestination(ctx, m.Chain, m.Store, payment, m.Settings.Refund)
		err = errors.Join(err, failed)
		temporalio.Progressed(ctx)
	}
	return err
}

// signal tells a workflow to look at the record. One that does not run looks when it is started again.
func (m *Monitor) signal(ctx context.Context, hash, name string, told func() error) error {
	err := temporalio.LoopStep(ctx, func(ctx context.Context) error {
		return temporalio.SignalRunning(ctx, m.Temporal, lifecycle.TransactionID(hash), name, nil)
	})
	if err != nil {
		return err
	}
	return told()
}
