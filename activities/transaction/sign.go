package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// draft is a payment that is ready to be signed.
type draft struct {
	payment       ton.Payment
	requestID     string    // Fragment's
	requestNumber int64     // among those of the session
	until         time.Time // the deadline of the money's arrival; zero: none
}

// prepareFunc drafts the payment of an execution. It moves no money.
type prepareFunc func(context.Context, *execution) (draft, error)

// sign prepares a payment, checks that the wallet can afford it, and records it. Nothing is broadcast here: the recorded
// bytes are the only ones that are ever sent for this order (docs/decisions/0007).
//
// Its errors are faults, or failures of package stars: stars.LinkExpired when Fragment's request ends too soon.
func (x *execution) sign(ctx context.Context) (*transaction.Payment, error) {
	if err := x.payable(ctx); err != nil {
		return nil, err
	}

	temporalio.Progressed(ctx)
	ready, state, err := together(
		func() (draft, error) { return x.prepare(ctx, x) },
		func() (walletState, error) { return x.readWallet(ctx) },
	)
	if err != nil {
		return nil, err
	}

	if time.Since(state.readAt) > stateAge {
		if state, err = x.readWallet(ctx); err != nil {
			return nil, err
		}
	}

	if err := x.affordable(state, ready); err != nil {
		return nil, err
	}
	until, err := x.validUntil(state.now, ready)
	if err != nil {
		return nil, err
	}
	order, err := x.orderOf(ready, state)
	if err != nil {
		return nil, err
	}

	payment, err := x.Store.SignPayment(ctx, order, x.Settings.Limits, func(seqno uint32) (transaction.Signed, error) {
		signed, err := x.Wallet.Sign(seqno, until, ready.payment)
		return transaction.Signed{BoC: signed.BoC, HashNorm: signed.Hash, ValidUntil: signed.ValidUntil}, err
	})
	if err != nil {
		return nil, err
	}

	x.resolveAlerts(ctx)
	return &payment, nil
}

// walletState is what the chain says of the wallet.
type walletState struct {
	wallet toncenter.Wallet
	now    time.Time // by the chain's clock
	readAt time.Time // by ours
}

// stateAge is how old what the chain says of the wallet may be when a message is signed.
const stateAge = 2 * time.Second

func (a *PaymentActivities) readWallet(ctx context.Context) (walletState, error) {
	readAt := time.Now()
	wallet, head, err := together(
		func() (toncenter.Wallet, error) { return a.Chain.Wallet(ctx, a.Wallet.Address()) },
		func() (toncenter.Head, error) { return a.Chain.Head(ctx) },
	)
	return walletState{wallet, head.At, readAt}, err
}

// affordable checks that the wallet holds a payment's amount and the reserve.
func (a *PaymentActivities) affordable(state walletState, ready draft) error {
	least, err := ready.payment.Amount.Add(money.Nano(a.Settings.Reserve))
	if err != nil || state.wallet.Balance < least {
		return fault.New(fault.InsufficientFunds, "the wallet does not hold enough")
	}
	return nil
}

// orderOf converts a draft into the record's order to sign.
func (x *execution) orderOf(ready draft, state walletState) (transaction.PaymentOrder, error) {
	bodyHash, err := ton.BodyHash(ready.payment.Body)
	return transaction.PaymentOrder{
		Turn: x.turn, Kind: x.kind, Attempt: x.attempt, RequestID: ready.requestID, RequestNumber: ready.requestNumber,
		LinkUntil: ready.until, BodyHash: bodyHash, Destination: ready.payment.To.Raw(),
		AmountNano: int64(ready.payment.Amount), GasNano: x.Settings.Reserve,
		ChainSeqno: state.wallet.Seqno, ChainLT: int64(state.wallet.LastLT),
	}, err
}

// payable applies the pause and the limits before any outside system is queried. The check at the signature decides.
func (x *execution) payable(ctx context.Context) error {
	if x.row.Wallet != x.Wallet.Address().Raw() { // it was paid to a wallet whose key we no longer have
		return fault.New(fault.NotConfigured, "the wallet's key is not configured here")
	}

	switches, err := x.Store.Switches(ctx)
	switch {
	case err != nil:
		return err
	case switches.Pause.On():
		return fault.New(fault.PaymentsPaused, "payments are paused")
	}

	nano := x.row.QuoteNano // 0: only the signature can decide
	if x.kind == transaction.Refund {
		nano = x.row.RefundDueNano - x.Settings.Reserve
	}
	return x.Store.CheckLimits(ctx, x.order.Hash, x.kind, nano, x.Settings.Limits)
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
