package transaction

import (
	"context"
	"fmt"
	"slices"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Resolve applies a person's decision about a transaction that needs review. processed needs a paid
// purchase. failed ends it for good, with the given message. processing answers for the deposit: the order
// continues; for the refund of a transaction that has failed already, failed does the same. While a payment is signed
// only the chain can decide. A transaction that has ended already can only be confirmed: the review ends, the status
// stays. A repeated request changes nothing. A review because of a lost payment ends with that payment, when it was for
// this transaction, or as a failure that may be retried.
func (s *Store) Resolve(
	ctx context.Context, r Request, outcome lifecycle.TransactionState, message string,
) (Snapshot, error) {
	if !slices.Contains(lifecycle.TransactionOutcomes, outcome) {
		return Snapshot{}, fault.Invalid("outcome", "the outcome is one of %v", lifecycle.TransactionOutcomes)
	}

	return s.write(ctx, r.Hash, func(w *writing) error {
		before := w.State
		switch {
		case !w.NeedsReview && before == outcome && w.Attempt == r.Attempt:
			return nil
		case w.Attempt != r.Attempt:
			return w.otherAttempt(lifecycle.TransactionActionResolve)
		}

		err := w.Take(r.step(lifecycle.TransactionActionResolve, outcome))
		switch {
		case err != nil:
		case before == outcome:
			w.confirm()
		case outcome == lifecycle.TransactionFailed:
			err = w.failByPerson(ctx, r, message)
		default:
			err = w.finishByPerson(ctx, r)
		}

		if err != nil {
			return err
		}
		return w.fulfil(ctx, r, lifecycle.TransactionActionResolve, outcome)
	})
}

// AskReview stops an order for a person's review, as an administrator asks for it. Nothing is signed for it until the
// review has ended; what is signed is decided by the chain all the same.
func (s *Store) AskReview(ctx context.Context, r Request) (Snapshot, error) {
	return s.write(ctx, r.Hash, func(w *writing) error {
		if w.Attempt != r.Attempt {
			return w.otherAttempt(lifecycle.TransactionActionReview)
		}
		if err := w.Take(r.step(lifecycle.TransactionActionReview, "")); err != nil {
			return err
		}
		w.ReviewReason = ReviewAsked
		return w.fulfil(ctx, r, lifecycle.TransactionActionReview, "")
	})
}

// confirm records that a person has checked the transaction, and that the state stays.
func (w *writing) confirm() {
	if w.ReviewReason == ReviewDeposit {
		w.DepositConfirmedAt = &w.Now
	}
	w.RefundApproved = w.RefundApproved || w.ReviewReason == ReviewRefundLimit
	closeReview(w.Row)
}

// failByPerson ends an order for good. After a lost payment, which has bought another order, this order may be retried.
func (w *writing) failByPerson(ctx context.Context, r Request, message string) error {
	w.ErrorMessage, w.ErrorClass = message, lifecycle.NonRetryable
	if w.ReviewReason == ReviewLost && !w.spent() {
		w.ErrorClass = lifecycle.UnknownError
	}

	if r.Refund && w.ErrorClass == lifecycle.NonRetryable { // all of the payment has come back, or the debt stays
		if err := w.oweDeposit(ctx); err != nil {
			return err
		}
	}

	closeReview(w.Row)
	return w.end(ctx, lifecycle.TransactionResolved)
}

// finishByPerson names the payment that bought the Stars. Without a purchase the payment was lost: the table allows
// this for no other order.
func (w *writing) finishByPerson(ctx context.Context, r Request) error {
	if w.spent() {
		w.FragmentTransactionHash = w.Purchase.ChainHash
	} else {
		chainHash, err := w.adopt(ctx, r.Payment)
		if err != nil {
			return err
		}
		w.FragmentTransactionHash = chainHash
	}

	closeReview(w.Row)
	return w.end(ctx, lifecycle.TransactionResolved)
}

// WriteOffRefund cancels the debt to the sender: the money stays in the wallet and is not paid back. It is refused
// without a debt, and while a refund is signed: then the money is on its way. A repeated request changes nothing.
func (s *Store) WriteOffRefund(ctx context.Context, r Request) (Snapshot, error) {
	return s.write(ctx, r.Hash, func(w *writing) error {
		owed := w.RefundDueNano
		if owed == 0 {
			if before, err := w.lastWas(ctx, lifecycle.TransactionWriteOff); err != nil || before {
				return err
			}
		}

		if err := w.Take(r.step(lifecycle.TransactionActionWriteOff, "")); err != nil {
			return err
		}

		w.notified = append(w.notified, lifecycle.TransactionWriteOff)

		if err := w.forgive(ctx, "written_off", owed); err != nil {
			return err
		}
		if err := w.freeTurn(ctx); err != nil {
			return err
		}

		return w.fulfil(ctx, r, lifecycle.TransactionActionWriteOff, "")
	})
}

// lastWas reports whether the last event of the transaction has this type.
func (w *writing) lastWas(ctx context.Context, event string) (bool, error) {
	return core.Value[bool](ctx, w.DB, `SELECT EXISTS (SELECT 1 FROM events WHERE workload = $1 AND entity_id = $2 AND seq = $3 AND type = $4)`,
		lifecycle.WorkloadTransaction, w.Hash, w.RowVersion, event)
}

// forgive books the debt to the sender back to the wallet's own money.
func (w *writing) forgive(ctx context.Context, why string, nano int64) error {
	cause := fmt.Sprintf("%s/%s/%d", why, w.Hash, w.RowVersion)
	return post(ctx, w.DB, w.Address, &w.Hash, cause, amounts{AccountReceived: -nano, AccountRefundDue: nano})
}

// Request is a person's request about a transaction.
type Request struct {
	Hash    string
	Attempt int    // that the request is about
	ActorID *int64 // nil: an unknown operator
	Comment string
	Payment string // the hash on the chain of the lost payment that bought it; for Resolve
	Refund  bool   // owe the amount to the sender, when it is resolved as failed for good and nothing was spent
	// RequestID is a Request's ID, under whose key the answer is kept in the same transaction; anything else keeps none.
	RequestID string
	System    bool // planned by the system; for Retry
}

// step is the requested action with its actor.
func (r Request) step(
	action lifecycle.TransactionAction, to lifecycle.TransactionState,
) TransactionStep {
	step := TransactionStep{Action: action, To: to, Actor: r.ActorID, Comment: r.Comment}
	if !r.System {
		step.Roles = lifecycle.Administrators
	}
	return step
}
