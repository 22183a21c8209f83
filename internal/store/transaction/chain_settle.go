package transaction

import (
	"context"
	"slices"
	"strconv"

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
	ReviewDisputed    = "deposit_disputed" // a second source does not know the deposit, or has other facts
	// the chain paid something that the record does not know: it may have been for this one
	ReviewLost = "payment_lost"
)

// settle decides the payments of a message that was found on the chain, each by what was sent for it. That the wallet
// executed the message does not mean that it paid.
func (in *ingest) settle(ctx context.Context, payments []Payment, t ChainTransaction) error {
	in.NextSeqno = max(in.NextSeqno, payments[0].Seqno+1)
	for i, share := range t.shares(payments) {
		p := payments[i]
		if err := in.postPart(ctx, p, t, share); err != nil {
			return err
		}

		wasDead := p.State == PaymentDead
		p.State, p.ChainLT, p.ChainHash = PaymentDead, &t.LT, t.Hash
		p.PaidNano, p.GasNano, p.OutHash = share.nano, share.feeNano, share.out.Hash
		if p.PaidNano > 0 {
			p.State, p.Late = PaymentPaid, wasDead
		}

		review := ""
		switch {
		case p.State != PaymentPaid:
		case wasDead:
			review = ReviewLate
		case !share.exact:
			review = ReviewMismatch
		}

		if err := in.close(ctx, p, !wasDead, review); err != nil {
			return err
		}
	}
	return nil
}

// share is what the wallet did for one payment of a message.
type share struct {
	out           OutMessage // that carries its money; the zero value: none
	nano, feeNano int64      // what left the wallet for it
	exact         bool       // exactly what the payment orders, as in the whole message
}

// shares divides what the wallet did among the payments of the message. Each gets the message that it orders: no two of
// them order the same. What none of them orders counts for the first that got nothing, else for the first.
func (t ChainTransaction) shares(payments []Payment) []share {
	shares := make([]share, len(payments))
	exact := t.ComputeOK && t.ActionOK && !t.Aborted
	rest := slices.Clone(t.Out)

	for i, p := range payments {
		at := slices.IndexFunc(rest, func(out OutMessage) bool {
			return out.Destination == p.Destination && out.Nano == p.AmountNano && out.BodyHash == p.BodyHash
		})
		if at >= 0 {
			shares[i].out, shares[i].nano = rest[at], rest[at].Nano
			rest = slices.Delete(rest, at, at+1)
		}
		shares[i].feeNano = t.FeeNano / int64(len(payments))
	}

	shares[0].feeNano += t.FeeNano % int64(len(payments))
	if len(rest) > 0 {
		exact = false
		at := max(0, slices.IndexFunc(shares, func(s share) bool { return s.nano == 0 }))
		if shares[at].nano == 0 {
			shares[at].out = rest[0]
		}
		for _, out := range rest {
			shares[at].nano += out.Nano
		}
	}

	for i := range shares {
		shares[i].exact = exact && len(t.Out)+t.SkippedActions == len(payments)
	}
	return shares
}

// postPart writes what a message did for one of its payments; the first has what came in, too.
func (in *ingest) postPart(ctx context.Context, p Payment, t ChainTransaction, s share) error {
	cause, received := "chain/"+in.Address+"/"+strconv.FormatInt(t.LT, 10), int64(0)
	if p.Part == 0 {
		received = t.In.Nano
	} else {
		cause += "/" + strconv.Itoa(p.Part)
	}

	moved := amounts{AccountWallet: received - s.nano - s.feeNano, AccountGas: s.feeNano}
	moved[AccountOther] -= received
	moved[goneTo(p.Kind)] += s.nano
	return post(ctx, in.tx, in.Address, &p.TransactionHash, cause, moved)
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
	in.brought.Settled = append(in.brought.Settled, SettledPayment{TransactionHash: p.TransactionHash, PaymentID: p.ID})
	return writeIn(ctx, in.tx, p.TransactionHash, func(w *writing) error {
		_, err := w.DB.Exec(ctx, `UPDATE payments SET state = $2, chain_lt = $3, chain_hash = $4, paid_nano = $5, gas_nano = $6, out_hash = $7,
			settled_at = $8, late = $9, told_at = NULL WHERE id = $1`,
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

// release returns the reservation of a payment: to the debt, if it was a refund that is dead. Its turn ends. A paid
// purchase that does not share the wallet keeps the turn until it has ended: Fragment reports only the state of a
// session's last purchase.
func (w *writing) release(ctx context.Context, p Payment) error {
	if p.Kind != Purchase || p.State != PaymentPaid || p.Shared {
		if err := w.leave(ctx, p.Kind); err != nil {
			return err
		}
	}

	if p.Kind == Refund && p.State == PaymentDead {
		return w.reserve(ctx, p, "release", -p.ReservedNano)
	}
	return post(
		ctx, w.DB, w.Address, &w.Hash, paymentCause("release", p.ID),
		amounts{AccountReceived: -p.ReservedNano, AccountReserved: p.ReservedNano},
	)
}
