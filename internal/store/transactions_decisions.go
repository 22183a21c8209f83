package store

import (
	"context"
	"fmt"
	"slices"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// ResolveTransaction does what a person decided about a transaction that needs review: processed, which needs a paid
// purchase, failed, for good and with the given message, or processing, which answers for a deposit that is disputed:
// the order goes on. So does, for the refund, failed of one that has failed already. While a payment is signed the
// chain has not decided, and nobody else can. One that has ended already can only be confirmed: the flag goes, the
// status stays. The same request again changes nothing. A review because of a lost payment ends with that payment, when
// it was for this transaction, or as a failure that may be retried.
func (s *Store) ResolveTransaction(
	ctx context.Context, r TransactionRequest, outcome lifecycle.TransactionState, message string,
) (TransactionSnapshot, error) {
	if !slices.Contains(lifecycle.TransactionOutcomes, outcome) {
		return TransactionSnapshot{}, fault.New(
			fault.Validation, "the outcome is one of %v", lifecycle.TransactionOutcomes,
		).WithField("outcome")
	}

	return s.write(ctx, r.Hash, func(w *writing) error {
		before := w.State
		switch {
		case !w.NeedsReview && before == outcome && w.Attempt == r.Attempt:
			return nil
		case w.Attempt != r.Attempt:
			return w.impossible(lifecycle.TransactionActionResolve, "it does not need review in this attempt")
		}

		err := w.take(ctx, r.step(lifecycle.TransactionActionResolve, outcome))
		if err != nil {
			return err
		}

		if before == outcome {
			err = w.endReview(ctx)
		} else {
			err = w.endByPerson(ctx, r, message)
		}

		if err != nil {
			return err
		}
		return w.fulfil(ctx, r, lifecycle.TransactionActionResolve, outcome)
	})
}

// endReview writes that a person has looked, and that the state stays.
func (w *writing) endReview(ctx context.Context) error {
	if w.ReviewReason == ReviewDisputed {
		if err := w.confirmDeposit(ctx); err != nil {
			return err
		}
	}

	w.RefundApproved = w.RefundApproved || w.ReviewReason == ReviewRefundLimit
	w.NeedsReview, w.ReviewReason = false, ""
	return w.save(ctx)
}

// endByPerson writes the end that a person has decided.
func (w *writing) endByPerson(ctx context.Context, r TransactionRequest, message string) error {
	switch {
	case w.State == lifecycle.TransactionFailed:
		w.ErrorMessage, w.ErrorClass = message, lifecycle.NonRetryable
		if w.ReviewReason == ReviewLost && w.purchase == nil { // another one was bought, and this one may be
			w.ErrorClass = lifecycle.UnknownError
		}
		if r.Refund && w.ErrorClass == lifecycle.NonRetryable { // of what was paid all has come back, or it stays
			if err := w.oweDeposit(ctx); err != nil {
				return err
			}
		}
	case w.purchase == nil: // its payment was lost: the table allows this for no other one
		if err := w.adopt(ctx, r.Payment); err != nil {
			return err
		}
		w.FragmentTransactionHash = r.Payment
	default:
		w.FragmentTransactionHash = w.purchase.ChainHash
	}

	return w.end(ctx)
}

// WriteOffRefund gives up what is owed to the sender: it stays in the wallet and is not paid back. While a refund is
// signed nothing is owed, for it is on its way: then it is refused, as it is when nothing ever was. The same request
// again changes nothing.
func (s *Store) WriteOffRefund(ctx context.Context, r TransactionRequest) (TransactionSnapshot, error) {
	return s.write(ctx, r.Hash, func(w *writing) error {
		owed := w.RefundDueNano
		if owed == 0 {
			var before bool
			err := w.tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM events WHERE workload = $1 AND entity_id = $2 AND seq = $3 AND type = $4)`,
				lifecycle.WorkloadTransaction, w.Hash, w.RowVersion, lifecycle.TransactionWriteOff).Scan(&before)
			if err != nil || before {
				return err
			}
		}

		if err := w.take(ctx, r.step(lifecycle.TransactionActionWriteOff, "")); err != nil {
			return err
		}

		w.RefundDueNano = 0
		if err := w.forgive(ctx, "written_off", owed); err != nil {
			return err
		}

		w.news = true
		if w.ReviewReason == ReviewDisputed || w.ReviewReason == ReviewRefundLimit { // there is nothing left to decide
			w.NeedsReview, w.ReviewReason = false, ""
		}

		if err := w.save(ctx); err != nil {
			return err
		}
		if err := w.passTurn(ctx, Refund); err != nil {
			return err
		}

		return w.fulfil(ctx, r, lifecycle.TransactionActionWriteOff, "")
	})
}

// forgive books what was owed to the sender as ours again.
func (w *writing) forgive(ctx context.Context, why string, nano int64) error {
	cause := fmt.Sprintf("%s/%s/%d", why, w.Hash, w.RowVersion)
	return post(ctx, w.tx, w.Address, &w.Hash, cause, amounts{AccountReceived: -nano, AccountRefundDue: nano})
}
