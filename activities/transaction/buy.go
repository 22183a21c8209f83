package transaction

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// Order is what Buy and Refund carry out.
type Order struct {
	Hash string `json:"hash"`
	// Decide says to sign nothing: what is signed already is decided.
	Decide bool `json:"decide,omitempty"`
	// AskedAt is since when Fragment is asked for the Stars of a paid purchase; for ConfirmPurchase.
	AskedAt *time.Time `json:"asked_at,omitempty"`
}

// Outcome is how an execution of Buy or Refund ended.
type Outcome struct {
	Snapshot
	DeferredUntil *time.Time `json:"deferred_until,omitempty"` // the limit for 24 hours has room then; nil: it is not the cause
	AskedAt       *time.Time `json:"asked_at,omitempty"`       // the purchase is paid, and the Stars have not come since then
}

// Buy carries out an order in the wallet's turn: it prices the Stars, requests a payment from Fragment, signs it, broadcasts
// it, waits until the chain has decided, and confirms the purchase to Fragment. Each step follows from what the record says,
// so that another execution continues where this one has ended. It ends with the record's snapshot:
//   - processed, or failed: the record has the failure, and when the system tries again;
//   - in review: a person decides;
//   - deferred: the limit for 24 hours has no room for it;
//   - paid, and the Stars have not come soon: ConfirmPurchase asks for them outside of the turn.
//
// It waits in its turn while payments are paused, and while the shop, its session or the chain is away: the orders behind it
// would wait for the same. An execution that its worker ends is interrupted, and nothing is lost.
func (a *PaymentActivities) Buy(ctx context.Context, o Order) (Outcome, error) {
	return a.execute(ctx, o, transaction.Purchase, a.buy)
}

// Refund returns what is owed to the sender of a transaction, less gas, in the wallet's turn. It ends with the record's
// snapshot when the refund is paid, kept as dust, in review or deferred; a failure is retried by the policy until it is.
func (a *PaymentActivities) Refund(ctx context.Context, o Order) (Outcome, error) {
	record, err := a.Store.KeepDust(ctx, o.Hash, a.Settings.Reserve+max(a.Settings.RefundLeast, 1))
	if err != nil || record.RefundDue == 0 && !signed(record) { // the refund is not worth its gas, or is made
		snapshot, err := a.Settings.answer(ctx, record, err)
		return Outcome{Snapshot: snapshot}, err
	}

	return a.execute(ctx, o, transaction.Refund, a.refund)
}

// execution is one execution of Buy or Refund.
type execution struct {
	*PaymentActivities
	order   Order
	kind    transaction.PaymentKind
	prepare prepareFunc

	turn    transaction.Turn
	renewed time.Time               // when the claim of the turn was prolonged
	row     transaction.Transaction // at the last look
	at      Snapshot                // of the same moment
	attempt int                     // of the transaction, that this execution is about; 0: not known yet
	ended   bool                    // this execution has ended the attempt
	outcome Outcome

	tries int       // that have failed, since something succeeded
	waits int       // in a hold, since something succeeded
	alone time.Time // since when the order finds the shop or the chain away, and a probe does not; zero: it does not
}

func (a *PaymentActivities) execute(
	ctx context.Context, o Order, kind transaction.PaymentKind, prepare prepareFunc,
) (Outcome, error) {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	x := &execution{PaymentActivities: a, order: o, kind: kind, prepare: prepare}
	err := x.claimTurn(ctx)
	if err == nil {
		err = x.carryOut(ctx)
	}
	if x.turn.Token != 0 && !x.ended { // the end of an attempt gives the turn free
		x.leaveTurn(ctx)
	}
	return x.settle(ctx, err)
}

// carryOut takes one step after the other.
func (x *execution) carryOut(ctx context.Context) error {
	for {
		if err := x.look(ctx); err != nil {
			return err
		}

		var err error
		switch {
		case signed(x.at.Snapshot): // whatever was asked for meanwhile: the chain decides
			err = x.awaitChain(ctx)
		case x.isOver():
			return nil
		case x.isPaid():
			return x.confirmInTurn(ctx)
		case x.order.Decide:
			return nil
		case x.kind == transaction.Purchase && !x.at.Again:
			return x.giveUp(ctx, stars.WalletRefused)
		case x.kind == transaction.Purchase && !x.at.Quoted: // also in a pause: some orders can never be carried out
			_, err = x.quote(ctx, x.row, priceAge)
		default:
			err = x.pay(ctx)
		}

		if err = x.survive(ctx, err); err != nil {
			return err
		}
	}
}

// look reads the record.
func (x *execution) look(ctx context.Context) error {
	temporalio.Progressed(ctx)
	row, record, err := x.Store.OrderOf(ctx, x.order.Hash)
	if err != nil {
		return err
	}

	x.row = row
	x.at, err = x.Settings.answer(ctx, record, nil)
	x.attempt = cmp.Or(x.attempt, record.Attempt)
	return err
}

// isOver says that this execution has nothing more to sign: the record has moved on.
func (x *execution) isOver() bool {
	if x.at.NeedsReview {
		return true
	}
	if x.kind == transaction.Refund {
		return x.at.RefundDue == 0
	}
	return x.at.Ended() || x.at.Attempt != x.attempt
}

func (x *execution) isPaid() bool {
	return x.kind == transaction.Purchase && x.at.Purchase != nil && x.at.Purchase.State == transaction.PaymentPaid
}

// signed says that the chain has not decided a payment of the transaction.
func signed(at transaction.Snapshot) bool {
	undecided := func(p *transaction.PaymentRef) bool { return p != nil && p.State == transaction.PaymentSigned }
	return undecided(at.Purchase) || undecided(at.Refund)
}

// pay signs the payment, broadcasts it and waits until the chain has decided. Nothing interrupts it between the first two.
func (x *execution) pay(ctx context.Context) error {
	payment, err := x.sign(ctx)
	if err != nil {
		return err
	}

	x.attempt, x.tries, x.waits, x.alone = payment.Attempt, 0, 0, time.Time{}
	if x.kind == transaction.Refund {
		x.attempt = x.at.Attempt
	} else {
		x.paid.set(x.row.Stars, money.Nano(payment.AmountNano))
	}
	x.broadcast(context.WithoutCancel(ctx), *payment)
	payment.SentAt = &payment.CreatedAt // or a little later
	return x.followPayment(ctx, *payment)
}

var (
	// errWorkerStops ends an execution whose worker stops.
	errWorkerStops = errors.New("the worker stops")

	// errEnded ends an execution whose outcome is known.
	errEnded = errors.New("the execution has ended")
)

// settle reports to Temporal how the execution ended.
func (x *execution) settle(ctx context.Context, err error) (Outcome, error) {
	switch cause := context.Cause(ctx); {
	case err == nil, errors.Is(err, errEnded):
		x.outcome.Snapshot = x.at
		return x.outcome, nil
	case errors.Is(err, errWorkerStops):
		return Outcome{}, temporalio.Interrupted(0)
	case errors.Is(cause, activity.ErrActivityPaused), errors.Is(cause, activity.ErrActivityReset):
		return Outcome{}, temporalio.ToTemporal(fault.New(fault.WorkerLost, "an operator has stopped the activity").Retry())
	case ctx.Err() != nil:
		return Outcome{}, temporalio.LoopOutcome(ctx)
	case errors.As(err, new(*stars.Failure)): // of a refund
		return Outcome{}, failed(failureOf(err), err)
	default:
		return Outcome{}, temporalio.RetryUntilSeen(ctx, err)
	}
}
