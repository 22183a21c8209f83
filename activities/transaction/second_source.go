package transaction

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// SecondSource is a toncenter of another operator than the first one. It is queried for large deposits; a nil one never
// is.
type SecondSource struct {
	Chain *toncenter.Client
	Wait  time.Duration // a source that is so much further than a deposit, and does not have it, does not know it
	Note  func(error)   // is called with the result of each query; may be nil

	asking atomic.Int32
}

// askedAtOnce is how many orders of a process query the second source concurrently: an unresponsive source occupies no
// more slots than these.
const askedAtOnce = 4

// VerifyDeposit queries the second source for the transfer that made a transaction, unless a person has answered for
// it. It ends when the two sources agree, which it records, or disagree: then a person has to review it. A source
// without an answer is queried again, by the retry policy.
func (a *PaymentActivities) VerifyDeposit(ctx context.Context, o Order) (Snapshot, error) {
	defer temporalio.SendHeartbeats(ctx)()

	snapshot, err := a.loadSnapshot(ctx, o.Hash)
	if err != nil || !snapshot.Unconfirmed {
		return snapshot, err
	}

	// An order from before the second source leaves the line, so that no other order waits for it meanwhile.
	if snapshot.Turn != nil {
		if err := a.Store.LeaveQueue(ctx, o.Hash, snapshot.Turn.Kind); isRefusal(err, fault.PaymentUndecided) {
			return a.loadSnapshot(ctx, o.Hash)
		} else if err != nil {
			return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
		}
	}

	agrees := false
	deposit, err := a.Store.DepositOf(ctx, o.Hash)
	if err == nil {
		agrees, err = a.Second.agrees(ctx, deposit)
	}

	if err != nil {
		a.Log.Warn("the second source cannot tell", "transaction", o.Hash, "error", err, "cause", errors.Unwrap(err))
		return Snapshot{}, later(ctx, err)
	}
	if agrees {
		record, err := a.Store.ConfirmDeposit(ctx, o.Hash)
		return a.Settings.answer(ctx, record, err)
	}

	a.Log.Error("the two sources disagree about a deposit: a person has to look", "transaction", o.Hash)
	if err := a.Store.RaiseAlert(ctx, notice.AlertDeposit); err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}

	record, err := a.Store.DisputeDeposit(ctx, o.Hash)
	return a.Settings.answer(ctx, record, err)
}

// later makes an error of the second source retryable. Time or an operator may repair any of them, and the order waits.
func later(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := temporalio.FaultOf(err)
	return temporal.NewApplicationErrorWithOptions(
		f.Message, string(f.Code), temporal.ApplicationErrorOptions{NextRetryDelay: f.RetryAfter},
	)
}

// agrees says whether this source reports a deposit as the first one did.
func (s *SecondSource) agrees(ctx context.Context, deposit transaction.Deposit) (bool, error) {
	defer s.asking.Add(-1)
	if s.asking.Add(1) > askedAtOnce {
		return false, notYet
	}

	agrees, err := s.ask(ctx, deposit)
	if s.Note != nil && ctx.Err() == nil {
		s.Note(err)
	}
	return agrees, err
}

// ask reads the head before the history: what is not in the history by then, for long enough, is not on the chain that
// this source follows.
func (s *SecondSource) ask(ctx context.Context, deposit transaction.Deposit) (bool, error) {
	wallet, _, err := ton.ParseAddress(deposit.Wallet)
	if err != nil {
		return false, err
	}

	head, err := s.Chain.Head(ctx)
	if err != nil {
		return false, err
	}

	lt := uint64(deposit.LT)
	found, err := s.Chain.Transactions(ctx, toncenter.Page{Account: wallet, FromLT: lt, ToLT: lt, Limit: 1})
	switch {
	case err != nil:
		return false, err
	case len(found) == 1 && found[0].Finality == toncenter.Finalized:
		return same(found[0], deposit), nil
	case head.At.Before(deposit.At.Add(s.Wait)):
		return false, fault.New(fault.ChainUnavailable, "the second source does not know the deposit yet").Retry()
	default:
		return false, nil
	}
}

// same compares a transaction with a deposit in all that an order depends on.
func same(t toncenter.Transaction, deposit transaction.Deposit) bool {
	comment := ""
	if t.In != nil && t.In.Comment != nil {
		comment = *t.In.Comment
	}
	return t.IsDeposit() && t.Hash == deposit.Hash && raw(t.In.Source) == deposit.Sender &&
		int64(t.In.Value) == deposit.AmountNano && deposit.SameComment(comment)
}
