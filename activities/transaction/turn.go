package transaction

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// claimTurn waits for the wallet's turn. The task queue keeps the line, so that only another process can have the turn. What
// another execution has left, which its worker or an operator has ended, is finished first.
func (x *execution) claimTurn(ctx context.Context) (err error) {
	for {
		temporalio.Progressed(ctx)
		x.turn, err = x.Store.ClaimTurn(ctx, x.order.Hash)
		if !isRefusal(err, fault.NoTurn) {
			break
		}
		if err := x.wait(ctx, x.Settings.LookEvery); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}

	x.renewed = time.Now()
	payment, err := x.Store.UnfinishedPayment(ctx, x.order.Hash)
	if err == nil && payment != nil {
		err = x.finishEarlier(ctx, *payment)
	}
	return err
}

// finishEarlier finishes what another execution has left: it waits until the chain has decided the payment, and confirms a
// purchase as confirmInTurn does, because Fragment may serve only the session's last request. The order's own execution
// finds it done.
func (x *execution) finishEarlier(ctx context.Context, payment transaction.Payment) error {
	if payment.State == transaction.PaymentSigned {
		if err := x.followPayment(ctx, payment); err != nil {
			return err
		}
	}

	for payment.TransactionHash != x.order.Hash { // else carryOut goes on with it
		now, err := x.Store.PaymentByID(ctx, payment.ID)
		if err != nil || now.Kind != transaction.Purchase || now.State != transaction.PaymentPaid || !now.Last {
			return err
		}

		_, err = x.finish(ctx, now.TransactionHash, now.Attempt, now)
		if err == nil || ctx.Err() != nil || isRefusal(err, fault.StoreUnavailable) {
			return err
		}
		if now.SettledAt == nil || time.Since(*now.SettledAt) > x.Settings.TurnPatience {
			return nil
		}
		if err := x.wait(ctx, x.Settings.LookEvery); err != nil {
			return err
		}
	}
	return nil
}

// leaveTurn gives the turn free. A claim that cannot be ended ends by itself.
func (x *execution) leaveTurn(ctx context.Context) {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := x.Store.LeaveTurn(detached, x.turn); err != nil {
		x.Log.Warn("the turn was not left", "transaction", x.order.Hash, "error", err)
	}
}

const leaveTime = 5 * time.Second

// wait waits, and keeps the turn.
func (x *execution) wait(ctx context.Context, pause time.Duration) error {
	return x.waitFor(ctx, make(chan time.Time, 1), pause)
}

// waitFor is wait that a ring ends early.
func (x *execution) waitFor(ctx context.Context, rung chan time.Time, pause time.Duration) error {
	timer := time.AfterFunc(pause, func() { send(rung) })
	defer timer.Stop()
	if !temporalio.LoopWait(ctx, rung) {
		return cmp.Or(ctx.Err(), errWorkerStops)
	}
	if x.turn.Token == 0 || time.Since(x.renewed) < transaction.TurnRenewal {
		return nil
	}

	err := x.Store.KeepTurn(ctx, x.turn)
	if err == nil {
		x.renewed = time.Now()
	}
	return err
}
