package transaction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// Order is what Pay, Refund and Confirm execute.
type Order struct {
	Hash string `json:"hash"`
	// Decide means to sign nothing: only what is already signed is decided.
	Decide bool `json:"decide,omitempty"`
}

// attempt is one attempt of Pay or Refund.
type attempt struct {
	*PaymentActivities
	order  Order
	by     string    // its name
	closes time.Time // when it stops waiting for what it is to pay

	row   transaction.Transaction // at the last read
	at    transaction.Snapshot    // from the same moment, or later
	claim transaction.Claim       // of this attempt
	paid  *transaction.Payment    // the purchase, once the chain has it; nil: unknown
	tried int64                   // another order's payment that it tried to confirm
	fresh bool                    // the price has moved: a cached one is not good enough
	probe bool                    // it probes whether a hold's cause is gone
	// another order's failure that the shop may have caused; empty: none
	suspected string
}

// payTime is how long an attempt waits for what it is to pay. What follows needs the rest of the activity's time.
const payTime = 10 * time.Minute

// Pay buys an order's Stars: it waits at the gate, prices them, claims the order, requests a payment from Fragment,
// signs it, broadcasts it, follows it until the chain has decided, and confirms the purchase to Fragment. It ends with
// the record's snapshot:
//   - processed, failed for good, or in review: a person decides;
//   - paid, but the Stars have not arrived soon: Confirm asks for them.
//
// A failure of the order is recorded with the time of the next attempt, at which Temporal retries. While no order can
// be bought the attempt waits at the gate, which leaves no trace. A stopping worker loses nothing: the next attempt
// continues from the record.
func (a *PaymentActivities) Pay(ctx context.Context, o Order) (transaction.Snapshot, error) {
	return a.attempt(ctx, o, (*attempt).pay)
}

// errAgain starts over from the record.
var errAgain = errors.New("look at the record again")

func (a *PaymentActivities) attempt(
	ctx context.Context, o Order, pay func(*attempt, context.Context) (transaction.Snapshot, error),
) (transaction.Snapshot, error) {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	info := activity.GetInfo(ctx)
	x := &attempt{
		PaymentActivities: a, order: o, closes: time.Now().Add(payTime),
		by: fmt.Sprintf("%s/%s/%d", info.WorkflowExecution.RunID, info.ActivityID, info.Attempt),
	}
	for {
		at, err := pay(x, ctx)
		if !errors.Is(err, errAgain) {
			return at, report(ctx, err)
		}
	}
}

func (x *attempt) pay(ctx context.Context) (transaction.Snapshot, error) {
	open, err := x.gate(ctx)
	if err == nil && open {
		err = x.buy(ctx)
	}
	if err == nil && x.paid != nil {
		err = x.confirm(ctx)
	}
	if err != nil {
		return x.judge(ctx, err)
	}
	return x.at, nil
}

// callsTime is how long the calls may take for which the order has a request number: they are over before another order
// may have the next one.
const callsTime = transaction.RequestTime - 10*time.Second

// buy buys the order, from the price to the chain's decision. Nothing interrupts it between the signature and the
// broadcast.
func (x *attempt) buy(ctx context.Context) error {
	quote, state, err := together(
		func() (transaction.Quote, error) { return x.quote(ctx) },
		func() (walletState, error) { return x.readWallet(ctx) },
	)
	if err != nil {
		return err
	}
	if err := affordable(state, money.Nano(quote.PriceNano), x.Settings.Reserve); err != nil {
		return err
	}

	calls, cancel := context.WithTimeout(ctx, callsTime)
	defer cancel()
	at, number, err := x.Store.Begin(ctx, transaction.Beginning{
		Claim: x.claim, By: x.by, Quote: quote, Seqno: state.wallet.Seqno, LT: int64(state.wallet.LastLT), Probe: x.probe,
		Most: x.Settings.Limits,
	})
	if err != nil {
		return err
	}
	x.claim = transaction.Claim{Hash: x.order.Hash, Attempt: at.Attempt, TakenBy: x.by}

	ready, state, err := together(
		func() (draft, error) { return x.request(calls, quote, number) },
		func() (walletState, error) { return x.readWallet(calls) },
	)
	if err != nil {
		return err
	}
	payment, err := x.sign(calls, transaction.Purchase, ready, state)
	if err != nil {
		return err
	}

	x.lastPaid.set(quote.Stars, money.Nano(payment.AmountNano))
	x.broadcast(context.WithoutCancel(ctx), payment)
	if err := x.endHold(ctx); err != nil {
		x.Log.Warn("hold not ended", "error", err) // the next purchase does
	}
	x.resolveAlerts(ctx)
	payment.SentAt = &payment.CreatedAt // or slightly later
	return x.followOwn(ctx, payment)
}

// followOwn follows the order's own purchase. A dead payment is a failure of the order.
func (x *attempt) followOwn(ctx context.Context, payment transaction.Payment) error {
	payment, err := x.follow(ctx, payment)
	switch {
	case err != nil:
		return err
	case payment.State != transaction.PaymentPaid && x.order.Decide:
		return errAgain
	case payment.State != transaction.PaymentPaid:
		return stars.WalletRefused
	}
	x.paid = &payment
	return nil
}

// errWorkerStops ends an attempt whose worker is stopping.
var errWorkerStops = errors.New("the worker stops")

// wait waits. An attempt that has waited too long ends, so that another order may wait.
func (x *attempt) wait(ctx context.Context, why error) error {
	if time.Now().After(x.closes) {
		return why
	}
	return x.pause(ctx, make(chan time.Time, 1))
}

// pause waits until the record is due to be polled, or for a ring.
func (x *attempt) pause(ctx context.Context, rung chan time.Time) error {
	timer := time.AfterFunc(x.Settings.LookEvery, func() { send(rung) })
	defer timer.Stop()
	switch {
	case temporalio.LoopWait(ctx, rung):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return errWorkerStops
	}
}

// report reports an attempt's end to Temporal. What did not fail is retried soon.
func report(ctx context.Context, err error) error {
	soon := func(f *fault.Error) error {
		f = f.Retry()
		f.RetryAfter = time.Second
		return temporalio.ToTemporal(f)
	}
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, errWorkerStops):
		return soon(fault.New(fault.WorkerLost, "the worker stops"))
	case errors.Is(cause, activity.ErrActivityPaused), errors.Is(cause, activity.ErrActivityReset):
		return soon(fault.New(fault.WorkerLost, "an operator has stopped the activity"))
	case ctx.Err() != nil:
		return temporalio.LoopOutcome(ctx)
	case isRefusal(err, fault.NoTurn, fault.PaymentsPaused, fault.PaymentsHeld):
		return soon(fault.As(err))
	default:
		return temporalio.RetryUntilSeen(ctx, err)
	}
}
