package transaction

import (
	"context"
	"fmt"
	"slices"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Resolve applies a person's decision about a transaction that needs review. processed requires a paid purchase. failed
// ends it for good, with the given message. processing approves the deposit: the order continues; for the refund of an
// already failed transaction, failed does the same. While a payment is signed only the chain can decide. An already
// ended transaction can only be confirmed: the review ends, the status stays. A review because of a lost payment ends
// with that payment, if it was for this transaction, or as a failure that may be retried.
func (s *Store) Resolve(
	ctx context.Context, r Request, outcome lifecycle.TransactionState, message string,
) (Snapshot, error) {
	if !slices.Contains(lifecycle.TransactionOutcomes, outcome) {
		return Snapshot{}, fault.Invalid("outcome", "the outcome is one of %v", lifecycle.TransactionOutcomes)
	}

	return s.request(ctx, r, lifecycle.TransactionActionResolve, outcome, func(w *writing, before Transaction) error {
		switch {
		case before.State == outcome: // a person has checked it
			if w.ReviewReason == ReviewDeposit {
				w.DepositConfirmedAt = &w.Now
			}
			w.RefundApproved = w.RefundApproved || w.ReviewReason == ReviewRefundLimit
			closeReview(w.Row)
			return nil
		case outcome == lifecycle.TransactionFailed:
			return w.failByPerson(ctx, r, message)
		default:
			return w.finishByPerson(ctx, r)
		}
	})
}

// AskReview stops an order for a review requested by an administrator. Nothing is signed for it until the review ends;
// the chain still decides what is already signed.
func (s *Store) AskReview(ctx context.Context, r Request) (Snapshot, error) {
	return s.request(ctx, r, lifecycle.TransactionActionReview, "", func(w *writing, _ Transaction) error {
		w.ReviewReason = ReviewAsked
		return nil
	})
}

// request carries out a person's request once, if the table allows it. effect does what the action does besides.
func (s *Store) request(
	ctx context.Context, r Request, action lifecycle.TransactionAction, to lifecycle.TransactionState,
	effect func(w *writing, before Transaction) error,
) (Snapshot, error) {
	return s.writeFor(ctx, r.Hash, r.asked(action, to), func(w *writing) error {
		if r.Attempt != 0 && w.Attempt != r.Attempt {
			return fault.New(
				fault.InvalidTransition, "transaction is %s, in attempt %d: %s was asked for another one", w.State, w.Attempt, action,
			).With("current", w.State).With("requested", action)
		}

		before := w.Transaction
		if err := w.Take(r.step(action, to)); err != nil {
			return err
		}
		if err := effect(w, before); err != nil {
			return err
		}
		return w.fulfil(ctx, r, action, to)
	})
}

// Refuse records that a person's request is refused, unless it was decided before.
func (s *Store) Refuse(
	ctx context.Context, r Request, action lifecycle.TransactionAction, to lifecycle.TransactionState, refusal error,
) error {
	_, err := s.writeFor(ctx, r.Hash, r.asked(action, to), func(*writing) error { return refusal })
	return err
}

// failByPerson ends an order for good. After a lost payment, which bought another order, this order may be retried.
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

// WriteOffRefund cancels the debt to the sender: the money stays in the wallet. It is refused without a debt, and while
// a refund is signed: the money is then in transit.
func (s *Store) WriteOffRefund(ctx context.Context, r Request) (Snapshot, error) {
	return s.request(ctx, r, lifecycle.TransactionActionWriteOff, "", func(w *writing, before Transaction) error {
		w.notified = append(w.notified, lifecycle.TransactionWriteOff)
		return w.forgive(ctx, "written_off", before.RefundDueNano)
	})
}

// forgive books the debt to the sender back to the wallet's own money.
func (w *writing) forgive(ctx context.Context, why string, nano int64) error {
	cause := fmt.Sprintf("%s/%s/%d", why, w.Hash, w.RowVersion)
	return post(ctx, w.DB, w.Address, &w.Hash, cause, amounts{AccountReceived: -nano, AccountRefundDue: nano})
}

// Request is a person's request about a transaction.
type Request struct {
	Hash    string
	Attempt int    // as seen by the person; 0: the transaction's current one
	ActorID *int64 // nil: an unknown operator
	Comment string
	Payment string // the on-chain hash of the lost payment that bought it; for Resolve
	Refund  bool   // owe the amount to the sender, if it is resolved as failed for good and nothing was spent
	// RequestID is a Request's ID, under whose key the answer is stored in the same transaction; any other value stores
	// none.
	RequestID string
}

// asked is the request as recorded, without the comment, which may be gone when the request is repeated.
func (r Request) asked(action lifecycle.TransactionAction, outcome lifecycle.TransactionState) core.Asked {
	return core.Asked{ID: r.RequestID, Content: TransactionAsked(0, "", action, r.Hash, outcome, r.Payment, "").Asked}
}

// step is the requested action with its actor.
func (r Request) step(action lifecycle.TransactionAction, to lifecycle.TransactionState) TransactionStep {
	return TransactionStep{
		Action: action, To: to, Actor: r.ActorID, Comment: r.Comment, Roles: lifecycle.Administrators,
	}
}
