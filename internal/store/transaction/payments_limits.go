package transaction

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// DayIsFull refuses a payment that does not fit into the 24-hour limit. Its code is DAILY_LIMIT.
type DayIsFull struct {
	Until time.Time // then there is room, unless other payments take it
	fault *fault.Error
}

func (d *DayIsFull) Error() string { return d.fault.Error() }

// Unwrap returns the fault.
func (d *DayIsFull) Unwrap() error { return d.fault }

// within refuses a payment above the limit for one payment with PAYMENT_LIMIT or REVIEW_REQUIRED, and one that does not
// fit today with DAILY_LIMIT.
func (w *writing) within(ctx context.Context, kind PaymentKind, nano int64, limits Limits) error {
	if kind == Refund {
		// A service that returns our refund would get it again and again. Served by the index payments_day.
		refunded, err := core.Value[bool](ctx, w.DB, `SELECT EXISTS (SELECT FROM payments WHERE wallet = $1 AND kind = $2 AND destination = $3
			AND state IN `+spentPayments+` AND created_at > $4::timestamptz - interval '24 hours')`, w.Address, Refund, w.Sender, w.Now)
		if err != nil {
			return err
		}
		if refunded {
			return fault.New(fault.ReviewRequired, "the sender has got a refund within 24 hours")
		}
	}

	one, day := limits.of(kind)
	if one > 0 && nano > one {
		code := fault.PaymentLimit
		if kind == Refund {
			code = fault.ReviewRequired
		}
		return fault.New(code, "the %s is above the limit for one", kind).With("limit_nano", one)
	}
	if day == 0 {
		return nil
	}

	most := day - nano
	spent, until, err := w.room(ctx, kind, most)
	if err != nil {
		return err
	}
	full := fault.New(fault.DailyLimit, "the 24-hour limit is reached").With("limit_nano", day).With("spent_nano", spent)
	if spent > most {
		return &DayIsFull{fault: full, Until: until}
	}
	if until, err := w.passedTooLong(ctx, kind); err != nil || until != nil {
		return cmp.Or(err, error(&DayIsFull{fault: full, Until: *cmp.Or(until, &w.Now)}))
	}
	return nil
}

// mostPassing is how long other orders may pass an order that does not fit into the 24-hour limit. Then they wait
// behind it: paid amounts leave the limit within a day, so it fits within one more day.
const mostPassing = 24 * time.Hour

// passedTooLong returns until when an order waits that others may no longer pass; nil: none.
func (w *writing) passedTooLong(ctx context.Context, kind PaymentKind) (*time.Time, error) {
	purchases := kind == Purchase
	return core.Value[*time.Time](ctx, w.DB, `SELECT max(deferred_until) FROM transactions
		WHERE deferred_at <= $1::timestamptz - $2::interval AND wallet = $3 AND hash <> $4 AND (`+openOrder+`) = $5
			AND (deferred_at, hash) < (coalesce($6::timestamptz, 'infinity'), $4)`,
		w.Now, mostPassing, w.Address, w.Hash, purchases, w.DeferredAt)
}

// room returns how much payments of a kind used in the last 24 hours, and when no more than most of it is left: the
// oldest leave first. Served by the index payments_day.
func (w *writing) room(ctx context.Context, kind PaymentKind, most int64) (spent int64, until time.Time, err error) {
	err = w.DB.QueryRow(ctx, `WITH day AS (
			SELECT created_at, sum(amount_nano) OVER (ORDER BY created_at, id) AS so_far FROM payments
			WHERE wallet = $1 AND kind = $2 AND state IN `+spentPayments+` AND created_at > $3::timestamptz - interval '24 hours'
		), total AS (SELECT coalesce(max(so_far), 0)::bigint AS spent FROM day)
		SELECT spent, coalesce((SELECT min(created_at) FROM day WHERE spent - so_far <= $4::bigint) + interval '24 hours', $3) FROM total`,
		w.Address, kind, w.Now, most).Scan(&spent, &until)
	return spent, until, err
}

// KeepDust cancels a debt to the sender below least, whose transfer would cost more than its amount. The ledger records
// it, and the transaction keeps the amount. Does nothing while a refund is signed, or if more is owed.
func (s *Store) KeepDust(ctx context.Context, hash string, least int64) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		owed := w.RefundDueNano
		if owed == 0 || owed >= least {
			return nil
		}

		w.RefundDueNano, w.DustNano = 0, w.DustNano+owed
		w.Note(lifecycle.TransactionDust)
		return w.forgive(ctx, "dust", owed)
	})
}

// reviewed refuses with REVIEW_REQUIRED while the deposit needs a review: a chain source that invents deposits can cost
// no more than the limits before a person sees it.
func (w *writing) reviewed(ctx context.Context, limits Limits) error {
	review, err := w.unreviewed(ctx, limits)
	if review {
		err = fault.New(fault.ReviewRequired, "the deposit needs a review before anything is paid for it")
	}
	return err
}

// unreviewed reports whether the deposit needs a review that has not happened. The index payments_day finds a day's
// payments.
func (w *writing) unreviewed(ctx context.Context, limits Limits) (bool, error) {
	switch {
	case w.DepositConfirmedAt != nil:
		return false, nil
	case limits.ReviewFrom > 0 && w.AmountNano > limits.ReviewFrom:
		return true, nil
	case limits.ReviewPerDay == 0:
		return false, nil
	}

	paid, err := core.Value[int64](ctx, w.DB, `SELECT coalesce(sum(amount_nano), 0)::bigint FROM transactions
		WHERE hash <> $1 AND deposit_confirmed_at IS NULL AND hash IN (SELECT transaction_hash FROM payments
			WHERE wallet = $2 AND state IN `+spentPayments+` AND created_at > $3::timestamptz - interval '24 hours')`,
		w.Hash, w.Address, w.Now)
	return paid+w.AmountNano > limits.ReviewPerDay, err
}

// ReviewPayment requests the review that the limits require for a transaction's payment: of its deposit, or of a refund
// above the limits. A queued order takes two steps of the table in one change. Does nothing if there is nothing to pay.
func (s *Store) ReviewPayment(ctx context.Context, hash string, limits Limits) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.NeedsReview || w.State == lifecycle.TransactionProcessed {
			return nil
		}

		review, err := w.unreviewed(ctx, limits)
		switch {
		case err != nil:
			return err
		case review && w.RefundDueNano == 0:
			if err := w.enter(); err != nil {
				return passedOver(err)
			}
			err = w.review(ctx, ReviewDeposit)
		case review:
			err = w.review(ctx, ReviewDeposit)
		case w.RefundDueNano > 0 && !w.RefundApproved:
			err = w.review(ctx, ReviewRefundLimit)
		default:
			return nil
		}

		if err != nil {
			return err
		}
		return w.closeRequest(ctx)
	})
}
