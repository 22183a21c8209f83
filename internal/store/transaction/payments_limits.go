package transaction

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// DayIsFull is the refusal of a payment that does not fit into the rest of the limit for 24 hours. Its code is
// DAILY_LIMIT.
type DayIsFull struct {
	Until time.Time // then there is room, unless other payments take it
	fault *fault.Error
}

func (d *DayIsFull) Error() string { return d.fault.Error() }

// Unwrap returns the fault.
func (d *DayIsFull) Unwrap() error { return d.fault }

// CheckLimits reports, before any outside request, whether the limits would refuse a payment of that amount, as
// SignPayment does. SignPayment decides.
func (s *Store) CheckLimits(ctx context.Context, hash string, kind PaymentKind, nano int64, limits Limits) error {
	_, err := s.write(ctx, hash, func(w *writing) error {
		if err := w.reviewed(ctx, limits); err != nil {
			return err
		}
		if kind == Refund && w.RefundApproved {
			return nil
		}
		return w.within(ctx, kind, nano, limits)
	})
	return err
}

// within refuses a payment above the limit for one payment with PAYMENT_LIMIT or REVIEW_REQUIRED, and one that does not
// fit today with DAILY_LIMIT.
func (w *writing) within(ctx context.Context, kind PaymentKind, nano int64, limits Limits) error {
	if kind == Refund {
		if err := w.oftenRefunded(ctx); err != nil {
			return err
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
	full := fault.New(fault.DailyLimit, "the limit for 24 hours is reached").With("limit_nano", day).With("spent_nano", spent)
	if spent > most {
		return &DayIsFull{fault: full, Until: until}
	}
	if until, err := w.passedTooLong(ctx, kind); err != nil || until != nil {
		return cmp.Or(err, error(&DayIsFull{fault: full, Until: *cmp.Or(until, &w.Now)}))
	}
	return nil
}

// mostRefunds is how many refunds one sender gets in 24 hours before a person looks: each transfer costs questions to
// Fragment, and would cost the sender nothing but gas.
const mostRefunds = 5

// oftenRefunded refuses another refund to a sender of many with REVIEW_REQUIRED. The index payments_day serves it.
func (w *writing) oftenRefunded(ctx context.Context) error {
	often, err := core.Value[bool](ctx, w.DB, `SELECT count(*) >= $5 FROM payments WHERE wallet = $1 AND kind = $2 AND destination = $3
		AND state IN `+spentPayments+` AND created_at > $4::timestamptz - interval '24 hours'`, w.Address, Refund, w.Sender, w.Now, mostRefunds)
	if err == nil && often {
		err = fault.New(fault.ReviewRequired, "the sender has got many refunds within 24 hours")
	}
	return err
}

// mostPassing is how long other orders may pass an order that does not fit into the limit of 24 hours. Then they wait behind
// it: paid amounts leave the limit within a day, so it fits within one more day.
const mostPassing = 24 * time.Hour

// passedTooLong returns until when an order waits that others may not pass any more; nil: none does.
func (w *writing) passedTooLong(ctx context.Context, kind PaymentKind) (*time.Time, error) {
	purchases := kind == Purchase
	return core.Value[*time.Time](ctx, w.DB, `SELECT max(deferred_until) FROM transactions
		WHERE deferred_at <= $1::timestamptz - $2::interval AND wallet = $3 AND hash <> $4 AND (`+isProcessing+`) = $5
			AND (deferred_at, hash) < (coalesce($6::timestamptz, 'infinity'), $4)`,
		w.Now, mostPassing, w.Address, w.Hash, purchases, w.DeferredAt)
}

// room returns what payments of a kind have taken in the last 24 hours, and when no more than most of it is left: the
// oldest leave first. The index payments_day serves it.
func (w *writing) room(ctx context.Context, kind PaymentKind, most int64) (spent int64, until time.Time, err error) {
	err = w.DB.QueryRow(ctx, `WITH day AS (
			SELECT created_at, sum(amount_nano) OVER (ORDER BY created_at, id) AS so_far FROM payments
			WHERE wallet = $1 AND kind = $2 AND state IN `+spentPayments+` AND created_at > $3::timestamptz - interval '24 hours'
		), total AS (SELECT coalesce(max(so_far), 0)::bigint AS spent FROM day)
		SELECT spent, coalesce((SELECT min(created_at) FROM day WHERE spent - so_far <= $4::bigint) + interval '24 hours', $3) FROM total`,
		w.Address, kind, w.Now, most).Scan(&spent, &until)
	return spent, until, err
}

// KeepDust cancels a debt to the sender below least: the transfer would cost more than its amount. The ledger records
// it, and the transaction has the amount. It changes nothing while a refund is signed, or when more is owed.
func (s *Store) KeepDust(ctx context.Context, hash string, least int64) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		owed := w.RefundDueNano
		if owed == 0 || owed >= least {
			return nil
		}

		w.RefundDueNano, w.DustNano = 0, w.DustNano+owed
		w.Note(lifecycle.TransactionDust)
		if err := w.forgive(ctx, "dust", owed); err != nil {
			return err
		}
		return w.freeTurn(ctx)
	})
}

// reviewed refuses with REVIEW_REQUIRED while a person has to review the deposit, and did not: a source of the chain that
// invents deposits costs no more than the limits before a person has seen it.
func (w *writing) reviewed(ctx context.Context, limits Limits) error {
	review, err := w.unreviewed(ctx, limits)
	if review {
		err = fault.New(fault.ReviewRequired, "the deposit needs a review before anything is paid for it")
	}
	return err
}

// unreviewed reports whether a person has to review the deposit, and did not. The index payments_day finds the payments
// of a day.
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

// ReviewPayment requests the review that a payment of a transaction needs by the limits: of its deposit, or of a refund
// above the limits. It changes nothing when there is nothing to pay.
func (s *Store) ReviewPayment(ctx context.Context, hash string, limits Limits) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.State != lifecycle.TransactionProcessing && w.RefundDueNano == 0 {
			return nil
		}

		review, err := w.unreviewed(ctx, limits)
		switch {
		case err != nil:
			return err
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
		return w.freeTurn(ctx)
	})
}
