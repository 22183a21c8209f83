package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// draft is a payment that is ready to be signed.
type draft struct {
	payment   ton.Payment
	requestID string    // Fragment's
	until     time.Time // the deadline of the money's arrival; zero: none
}

// prepareFunc drafts the payment of a transaction. It moves no money.
type prepareFunc func(context.Context, transaction.Transaction) (draft, error)

// sign prepares a payment, checks that the wallet can afford it, and records it. Nothing is broadcast here: the
// recorded bytes are the only ones that are ever sent for this order (docs/decisions/0007).
//
// Its errors are faults, or failures of package stars: stars.LinkExpired when Fragment's request ends too soon.
func (a *PaymentActivities) sign(
	ctx context.Context, o Order, kind transaction.PaymentKind, prepare prepareFunc,
) (*transaction.Payment, error) {
	row, err := a.payableTransaction(ctx, o.Hash, kind)
	if err != nil {
		return nil, err
	}

	ready, err := prepare(ctx, row)
	if err != nil {
		return nil, err
	}

	wallet, head, err := together(
		func() (toncenter.Wallet, error) { return a.Chain.Wallet(ctx, a.Wallet.Address()) },
		func() (toncenter.Head, error) { return a.Chain.Head(ctx) },
	)
	if err != nil {
		return nil, err
	}
	if least, err := ready.payment.Amount.Add(money.Nano(a.Settings.Reserve)); err != nil || wallet.Balance < least {
		return nil, fault.New(fault.InsufficientFunds, "the wallet does not hold enough")
	}

	validUntil, err := a.validUntil(head.At, ready)
	if err != nil {
		return nil, err
	}

	payment, err := a.Store.SignPayment(
		ctx, a.orderOf(o, kind, ready, wallet), a.Settings.Limits, func(seqno uint32) (transaction.Signed, error) {
			signed, err := a.Wallet.Sign(seqno, validUntil, ready.payment)
			return transaction.Signed{
				BoC: signed.BoC, HashNorm: signed.Hash, BodyHash: signed.BodyHash, ValidUntil: signed.ValidUntil,
			}, err
		},
	)
	if err != nil {
		return nil, err
	}

	a.resolveAlerts(ctx)
	return &payment, nil
}

// orderOf converts a draft into the record's order to sign.
func (a *PaymentActivities) orderOf(
	o Order, kind transaction.PaymentKind, ready draft, wallet toncenter.Wallet,
) transaction.PaymentOrder {
	return transaction.PaymentOrder{
		Hash: o.Hash, Kind: kind, Attempt: o.Attempt, RequestID: ready.requestID,
		Destination: ready.payment.To.Raw(), AmountNano: int64(ready.payment.Amount), GasNano: a.Settings.Reserve,
		ChainSeqno: wallet.Seqno, ChainLT: int64(wallet.LastLT),
	}
}

// payableTransaction returns a transaction of our wallet. It applies the pause and the limits before any outside system
// is queried. The check at the signature decides.
func (a *PaymentActivities) payableTransaction(
	ctx context.Context, hash string, kind transaction.PaymentKind,
) (t transaction.Transaction, err error) {
	if t, err = a.Store.TransactionByHash(ctx, hash); err != nil {
		return t, err
	}
	if t.Wallet != a.Wallet.Address().Raw() { // it was paid to a wallet whose key we no longer have
		return t, fault.New(fault.NotConfigured, "the wallet's key is not configured here")
	}

	switches, err := a.Store.Switches(ctx)
	if err != nil {
		return t, err
	}

	for _, s := range switches {
		if s.On() && s.Name == transaction.SwitchPause {
			return t, fault.New(fault.PaymentsPaused, "payments are paused")
		}
	}

	nano := t.QuoteNano // 0: only the signature can decide
	if kind == transaction.Refund {
		nano = t.RefundDueNano - a.Settings.Reserve
	}
	return t, a.Store.CheckLimits(ctx, hash, kind, nano, a.Settings.Limits)
}

const (
	shortestLife = 15 * time.Second // the time that a payment needs to reach the chain
	transferTime = 10 * time.Second // from our wallet to Fragment's, which keeps late money and sells nothing for it
)

// validUntil is how long the wallet may carry a payment out, by the chain's clock, which shows now.
func (a *PaymentActivities) validUntil(now time.Time, ready draft) (time.Time, error) {
	until := now.Add(a.Settings.PaymentTTL).Truncate(time.Second)
	last := ready.until.Add(-transferTime).Truncate(time.Second)
	if ready.until.IsZero() || !last.Before(until) {
		return until, nil
	}
	if last.Before(now.Add(min(a.Settings.PaymentTTL, shortestLife))) {
		return time.Time{}, stars.LinkExpired
	}

	return last, nil
}
