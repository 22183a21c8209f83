package transaction

import (
	"context"
	"slices"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Reasons for a person's review.
const (
	ReviewNotConfirmed = "not_confirmed"    // the money is paid and Fragment has not said that the Stars are sent
	ReviewMismatch     = "payment_mismatch" // the chain paid something other than the signed payment
	ReviewLate         = "payment_late"     // the chain paid a payment that was declared dead
	ReviewBounced      = "payment_bounced"  // a purchase bounced after a person had resolved it as processed
	// the debt is above the limits of refunds: a person allows it, or writes it off
	ReviewRefundLimit = "refund_limit"
	ReviewAsked       = "asked"         // an administrator has asked for it
	ReviewDeposit     = "deposit_limit" // the deposit, or those of a day, are above the limits of what is paid for without a review
	// the chain paid something that the record does not know: it may have been for this one
	ReviewLost = "payment_lost"
)

// settle decides a payment whose message was found on the chain, by what was sent. That the wallet executed the message
// does not mean that it paid.
func (in *ingest) settle(ctx context.Context, p Payment, t ChainTransaction) error {
	in.NextSeqno = max(in.NextSeqno, p.Seqno+1)
	if err := in.post(ctx, &p.TransactionHash, t, AccountOther, goneTo(p.Kind)); err != nil {
		return err
	}

	out, exact := t.paymentOf(p)
	wasDead := p.State == PaymentDead
	p.State, p.ChainLT, p.ChainHash = PaymentDead, &t.LT, t.Hash
	p.PaidNano, p.GasNano, p.OutHash = t.sent(), t.FeeNano, out.Hash
	if p.PaidNano > 0 {
		p.State, p.Late = PaymentPaid, wasDead
	}

	review := ""
	switch {
	case p.State != PaymentPaid:
	case wasDead:
		review = ReviewLate
	case !exact:
		review = ReviewMismatch
	}
	return in.close(ctx, p, !wasDead, review)
}

// paymentOf returns the message that carries the money of a payment, else the first one, and whether the wallet did
// exactly what was signed.
func (t ChainTransaction) paymentOf(p Payment) (out OutMessage, exact bool) {
	at := slices.IndexFunc(t.Out, func(out OutMessage) bool {
		return out.Destination == p.Destination && out.Nano == p.AmountNano && out.BodyHash == p.BodyHash
	})
	if at < 0 {
		return t.first(), false
	}
	return t.Out[at], len(t.Out) == 1 && t.SkippedActions == 0 && t.ComputeOK && t.ActionOK && !t.Aborted
}

// declareDead declares payments dead that can never reach the chain any more: not found in a history without a gap, up
// to a time at which they were not valid any more.
func (in *ingest) declareDead(ctx context.Context) error {
	dead, err := core.List[Payment](ctx, in.tx, `SELECT `+paymentColumns+` FROM payments
		WHERE wallet = $1 AND `+isSigned+` AND valid_until < $2`, in.Address, in.ScannedTo)
	if err != nil {
		return err
	}

	for _, p := range dead {
		p.State = PaymentDead
		if err := in.close(ctx, p, true, ""); err != nil {
			return err
		}
	}
	return nil
}

// close writes how a payment ended and, if it was open until now, releases the reservation. review is the reason for a
// person's review; empty: none is needed.
func (in *ingest) close(ctx context.Context, p Payment, underWay bool, review string) error {
	in.brought.Settled = append(in.brought.Settled, p.ID)
	return writeIn(ctx, in.tx, p.TransactionHash, func(w *writing) error {
		_, err := w.DB.Exec(ctx, `UPDATE payments SET state = $2, chain_lt = $3, chain_hash = $4, paid_nano = $5, gas_nano = $6, out_hash = $7,
			settled_at = $8, late = $9 WHERE id = $1`,
			p.ID, p.State, p.ChainLT, p.ChainHash, p.PaidNano, p.GasNano, p.OutHash, w.Now, p.Late)
		if err != nil {
			return err
		}

		if underWay {
			if err := w.release(ctx, p); err != nil {
				return err
			}
		}

		if p.State == PaymentPaid {
			w.Note(lifecycle.TransactionPaid)
		} else {
			w.Note(lifecycle.TransactionDead)
		}

		if review == "" {
			return nil
		}
		return w.review(ctx, review)
	})
}

// release returns the reservation of a payment: to the debt, if it was a refund that is dead.
func (w *writing) release(ctx context.Context, p Payment) error {
	if p.Kind == Refund && p.State == PaymentDead {
		return w.reserve(ctx, p, "release", -p.ReservedNano)
	}
	return post(
		ctx, w.DB, w.Address, &w.Hash, paymentCause("release", p.ID),
		amounts{AccountReceived: -p.ReservedNano, AccountReserved: p.ReservedNano},
	)
}
