package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// gate waits until the order may be bought. An attempt waiting here first finishes what was left in the wallet. It is
// not open for an order that needs no purchase, or no longer does, and follows the order's own payment first.
func (x *attempt) gate(ctx context.Context) (open bool, _ error) {
	for {
		temporalio.Progressed(ctx)
		g, err := x.Store.Gate(ctx, x.order.Hash)
		if err != nil {
			return false, err
		}

		x.row, x.at, x.suspected = g.Transaction, g.Snapshot(), g.Hold.Suspect
		x.claim = transaction.Claim{Hash: g.Hash, Attempt: g.Attempt, TakenBy: g.TakenBy}
		if g.Left != nil && g.Left.State == transaction.PaymentSigned && g.Left.TransactionHash == g.Hash && g.Left.Kind == transaction.Purchase {
			return false, x.followOwn(ctx, *g.Left)
		}
		if over, err := x.over(ctx, g); err != nil || over {
			return false, err
		}

		why, err := x.closed(ctx, g)
		if err != nil || why == nil {
			return err == nil, err
		}
		if err := x.wait(ctx, why); err != nil {
			return false, err
		}
	}
}

// over reports that there is nothing to buy: the order has ended, waits for a person, is paid, or must not be bought.
func (x *attempt) over(ctx context.Context, g transaction.Gate) (bool, error) {
	purchase := g.Purchase
	switch {
	case g.NeedsReview, g.State == lifecycle.TransactionProcessed:
		return true, nil
	case g.State == lifecycle.TransactionFailed && g.RetryAt == nil:
		return true, nil
	case purchase != nil && purchase.State == transaction.PaymentPaid:
		var err error
		x.paid, err = x.Store.LivePayment(ctx, g.Hash, transaction.Purchase)
		return true, err
	case x.order.Decide:
		return true, nil
	case purchase != nil && g.State == lifecycle.TransactionProcessing && purchase.Attempt == g.Attempt:
		return true, stars.WalletRefused // it is dead, or came back, and the attempt that signed it is lost
	case g.RetryIn > 0:
		return true, failed(stars.Named(g.ErrorMessage), g.RetryIn)
	default:
		return false, nil
	}
}

var (
	paused    = fault.New(fault.PaymentsPaused, "payments are paused").Retry()
	held      = fault.New(fault.PaymentsHeld, "payments are held").Retry()
	requested = fault.New(fault.NoTurn, "another order's request may be under way").Retry()
	unproven  = fault.New(fault.NoTurn, "another order's purchase is not confirmed").Retry()
)

// closed is why no order may currently be bought; nil: one may.
func (x *attempt) closed(ctx context.Context, g transaction.Gate) (why, _ error) {
	if g.Left != nil {
		why, err := x.finishLeft(ctx, *g.Left)
		if err != nil || why != nil {
			return why, err
		}
	}

	x.probe = false
	switch {
	case g.Pause.On():
		return paused, nil
	case g.Requested:
		return requested, nil
	case g.Hold.On() && g.ProbeIn > 0:
		return held, nil
	case g.Hold.On():
		return x.lookBehindHold(ctx)
	default:
		return nil, nil
	}
}

// finishLeft finishes what another order's attempt left: it waits until the chain has decided the payment, and confirms
// a purchase, because Fragment may serve only the session's last request. The order's own attempt then finds it done.
func (x *attempt) finishLeft(ctx context.Context, left transaction.Payment) (why, _ error) {
	switch {
	case left.State == transaction.PaymentSigned:
		_, err := x.follow(ctx, left)
		if err != nil {
			return nil, err
		}
		return nil, errAgain
	case !left.Last, x.tried == left.ID && time.Since(*left.SettledAt) > transaction.ConfirmTime:
		return nil, nil
	}

	x.tried = left.ID
	_, err := x.finish(ctx, left.TransactionHash, left.Attempt, left)
	switch {
	case err == nil:
		return nil, errAgain
	case ctx.Err() != nil, isRefusal(err, fault.StoreUnavailable):
		return nil, err
	default:
		return unproven, nil
	}
}

// lookBehindHold probes, by requests that belong to no order, whether a hold's cause is gone. Once the shop and the
// chain answer, this order shows whether they sell.
func (x *attempt) lookBehindHold(ctx context.Context) (why, _ error) {
	taken, err := x.Store.TakeProbe(ctx)
	if err != nil || !taken {
		return held, err
	}
	if err := x.askShop(ctx); err != nil {
		return held, x.hold(ctx, fault.CodeOf(err), x.order.Hash)
	}
	x.probe = true
	return nil, nil
}

// askShop probes the shop and the chain with requests that belong to no order.
func (x *attempt) askShop(ctx context.Context) error {
	temporalio.Progressed(ctx)
	_, _, err := together(
		func() (struct{}, error) { _, err := x.Fragment.Price(ctx, stars.Least); return struct{}{}, err },
		func() (struct{}, error) { _, err := x.Chain.Head(ctx); return struct{}{}, err },
	)
	return err
}
