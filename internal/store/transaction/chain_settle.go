package transaction

import (
	"context"
	"slices"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Reasons for a review.
const (
	ReviewNotConfirmed = "not_confirmed"    // the money is paid but Fragment has not confirmed that the Stars were sent
	ReviewMismatch     = "payment_mismatch" // the chain paid something other than the signed payment
	ReviewLate         = "payment_late"     // the chain paid a payment that was declared dead
	ReviewBounced      = "payment_bounced"  // a purchase bounced after a person had resolved it as processed
	// the debt exceeds the refund limits: a person approves it or writes it off
	ReviewRefundLimit = "refund_limit"
	ReviewAsked       = "asked"         // requested by an administrator
	ReviewDeposit     = "deposit_limit" // the deposit, or a day's, exceeds the limits for paying without a review
	// the chain paid something unknown to the record, perhaps for this order
	ReviewLost = "payment_lost"
)

// settle decides a payment whose message was found on the chain, by what was sent. That the wallet executed the message
// does not mean that it paid.
func (in *ingest) settle(ctx context.Context, p Payment, t ChainTransaction) error {
	in.NextSeqno = max(in.NextSeqno, p.Seqno+1)
	if err := in.post(ctx, &p.TransactionHash, t, AccountOther, goneTo(p.Kind)); err != nil {
		return err
	}

	out, exact := t.first(), false // which carries the money, and whether the wallet did exactly what was signed
	at := slices.IndexFunc(t.Out, func(out OutMessage) bool {
		return out.Destination == p.Destination && out.Nano == p.AmountNano && out.BodyHash == p.BodyHash
	})
	if at >= 0 {
		out, exact = t.Out[at], len(t.Out) == 1 && t.SkippedActions == 0 && t.ComputeOK && t.ActionOK && !t.Aborted
	}

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

// declareDead declares dead the payments that can no longer reach the chain: not found in a gapless history that
// extends past their expiry.
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

// close records how a payment ended and, if it was still open, releases the reservation. review is the reason for a
// review; empty: none is needed.
func (in *ingest) close(ctx context.Context, p Payment, underWay bool, review string) error {
	in.brought.Settled = append(in.brought.Settled, p.ID)
	return writeIn(ctx, in.tx, p.TransactionHash, func(w *writing) error {
		_, err := w.DB.Exec(ctx, `UPDATE payments SET state = $2, chain_lt = $3, chain_hash = $4, paid_nano = $5, gas_nano = $6, out_hash = $7,
			settled_at = $8, late = $9 WHERE id = $1`,
			p.ID, p.State, p.ChainLT, p.ChainHash, p.PaidNano, p.GasNano, p.OutHash, w.Now, p.Late)
		if err != nil {
			return err
		}

		switch {
		case underWay && p.Kind == Refund && p.State == PaymentDead: // it is owed again
			err = w.reserve(ctx, p, "release", -p.ReservedNano)
		case underWay:
			err = post(
				ctx, w.DB, w.Address, &w.Hash, paymentCause("release", p.ID),
				amounts{AccountReceived: -p.ReservedNano, AccountReserved: p.ReservedNano},
			)
		}
		if err != nil {
			return err
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
