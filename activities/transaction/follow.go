package transaction

import (
	"context"
	"time"

	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// follow waits until the chain has decided a payment: the monitor reads the chain and writes the record. The same bytes
// are broadcast again at growing intervals, as long as they may still reach the chain.
func (x *attempt) follow(ctx context.Context, payment transaction.Payment) (transaction.Payment, error) {
	rung, off := x.Decided.listen()
	defer off()
	if payment.SentAt == nil { // its process ended between the signature and the broadcast
		x.broadcast(ctx, payment)
	}

	interval := x.Settings.RebroadcastEvery
	due := time.Now().Add(interval)
	for payment.State == transaction.PaymentSigned {
		if err := x.pause(ctx, rung); err != nil {
			return payment, err
		}

		now, err := x.Store.PaymentByID(ctx, payment.ID)
		if err != nil {
			return payment, err
		}

		payment = now
		mayArrive := time.Now().Before(payment.ValidUntil.Add(x.Settings.FinalityMargin))
		if payment.State == transaction.PaymentSigned && mayArrive && time.Now().After(due) {
			x.broadcast(ctx, payment)
			interval *= 2
			due = time.Now().Add(interval)
		}
	}
	return payment, nil
}

// broadcast sends a payment's bytes. The answer proves nothing about the payment: an accepted message may never reach
// the chain, and a rejected one may already be there.
func (a *PaymentActivities) broadcast(ctx context.Context, payment transaction.Payment) {
	temporalio.Progressed(ctx)
	if err := a.Store.MarkPaymentSent(ctx, payment.ID); err != nil {
		a.Log.Warn("payment not broadcast", "payment", payment.ID, "error", err)
		return
	}

	receipt, err := a.Chain.Broadcast(ctx, payment.BoC)
	a.Log.Info(
		"payment broadcast", "payment", payment.ID, "outcome", receipt.Outcome, "exit_code", receipt.ExitCode, "error", err,
	)
	if err := a.Store.WakeForPayment(ctx, payment.Wallet); err != nil {
		a.Log.Warn("monitor not woken", "error", err) // it reads the chain on its own later
	}
}
