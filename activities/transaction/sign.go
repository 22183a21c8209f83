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

// draft is a payment ready to be signed.
type draft struct {
	payment       ton.Payment
	requestID     string    // Fragment's
	requestNumber int64     // among the session's
	until         time.Time // the deadline for the money's arrival; zero: none
}

// sign records a signed payment for which the wallet has the money. Nothing is broadcast here: the recorded bytes are
// the only ones ever sent for this order (docs/decisions/0007).
//
// Its errors are faults, or failures of package stars: stars.LinkExpired if Fragment's request ends too soon.
func (x *attempt) sign(
	ctx context.Context, kind transaction.PaymentKind, ready draft, state walletState,
) (payment transaction.Payment, err error) {
	if x.row.Wallet != x.Wallet.Address().Raw() { // it was paid to a wallet whose key we no longer have
		return payment, fault.New(fault.NotConfigured, "the wallet's key is not configured here")
	}
	if time.Since(state.readAt) > stateAge {
		if state, err = x.readWallet(ctx); err != nil {
			return payment, err
		}
	}
	if err := affordable(state, ready.payment.Amount, x.Settings.Reserve); err != nil {
		return payment, err
	}

	until, err := x.validUntil(state.now, ready)
	if err != nil {
		return payment, err
	}
	bodyHash, err := ton.BodyHash(ready.payment.Body)
	if err != nil {
		return payment, err
	}

	temporalio.Progressed(ctx)
	return x.Store.SignPayment(ctx, transaction.PaymentOrder{
		Claim: x.claim, Kind: kind, RequestID: ready.requestID, RequestNumber: ready.requestNumber, LinkUntil: ready.until,
		BodyHash: bodyHash, Destination: ready.payment.To.Raw(), AmountNano: int64(ready.payment.Amount), GasNano: x.Settings.Reserve,
		ChainSeqno: state.wallet.Seqno, ChainLT: int64(state.wallet.LastLT),
	}, x.Settings.Limits, func(seqno uint32) (transaction.Signed, error) {
		signed, err := x.Wallet.Sign(seqno, until, ready.payment)
		return transaction.Signed{BoC: signed.BoC, HashNorm: signed.Hash, ValidUntil: signed.ValidUntil}, err
	})
}

// walletState is the wallet's state according to the chain.
type walletState struct {
	wallet toncenter.Wallet
	now    time.Time // by the chain's clock
	readAt time.Time // by ours
}

// stateAge is how old the wallet's state from the chain may be when a message is signed.
const stateAge = 2 * time.Second

func (a *PaymentActivities) readWallet(ctx context.Context) (walletState, error) {
	readAt := time.Now()
	wallet, head, err := together(
		func() (toncenter.Wallet, error) { return a.Chain.Wallet(ctx, a.Wallet.Address()) },
		func() (toncenter.Head, error) { return a.Chain.Head(ctx) },
	)
	return walletState{wallet, head.At, readAt}, err
}

// affordable checks that the wallet holds an amount and the reserve.
func affordable(state walletState, amount money.Nano, reserve int64) error {
	least, err := amount.Add(money.Nano(reserve))
	if err != nil || state.wallet.Balance < least {
		return fault.New(fault.InsufficientFunds, "the balance of the wallet is too low")
	}
	return nil
}

const (
	shortestLife = 15 * time.Second // the time that a payment needs to reach the chain
	transferTime = 10 * time.Second // from our wallet to Fragment's, which keeps late money and sells nothing for it
)

// validUntil is how long the wallet may execute a payment, by the chain's clock, which shows now.
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
