package transaction

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// PaymentStore is what the payment activities need of the record.
type PaymentStore interface {
	DestinationStore
	TransactionByHash(ctx context.Context, hash string) (transaction.Transaction, error)
	SnapshotOfTransaction(ctx context.Context, hash string) (transaction.Snapshot, error)
	SaveQuote(ctx context.Context, q transaction.Quote) (transaction.Snapshot, error)
	FinishTransaction(ctx context.Context, hash string, attempt int) (transaction.Snapshot, error)

	LivePayment(ctx context.Context, hash string, kind transaction.PaymentKind) (*transaction.Payment, error)
	SignPayment(
		ctx context.Context, want transaction.PaymentOrder, limits transaction.Limits, sign func(seqno uint32) (transaction.Signed, error),
	) (transaction.Payment, error)
	MarkPaymentSent(ctx context.Context, id int64) error
	WakeForPayment(ctx context.Context, wallet string) error
	KeepDust(ctx context.Context, hash string, least int64) (transaction.Snapshot, error)
	ReviewRefund(ctx context.Context, hash string) (transaction.Snapshot, error)

	CheckLimits(ctx context.Context, hash string, kind transaction.PaymentKind, nano int64, limits transaction.Limits) error
	Switches(ctx context.Context) ([]transaction.Switch, error)
	Hold(ctx context.Context, reason string, retryAt time.Time) error

	LeaveQueue(ctx context.Context, hash string, kind transaction.PaymentKind) error
	YieldTurn(ctx context.Context, hash string, kind transaction.PaymentKind) error
	ReturnTurn(ctx context.Context, hash string, kind transaction.PaymentKind) error
	DeferTurn(ctx context.Context, hash string, kind transaction.PaymentKind, until time.Time) error
	AnyDeferred(ctx context.Context) (bool, error)

	DepositOf(ctx context.Context, hash string) (transaction.Deposit, error)
	ConfirmDeposit(ctx context.Context, hash string) (transaction.Snapshot, error)
	DisputeDeposit(ctx context.Context, hash string) (transaction.Snapshot, error)

	RaiseAlert(ctx context.Context, kind string) error
	SetAlerts(ctx context.Context, raise, resolve []string) error
}

// PaymentActivities holds the wallet: it signs payments, one at a time, broadcasts them, and asks Fragment for what
// they buy. Without a Wallet it leaves every order where it is.
type PaymentActivities struct {
	Store    PaymentStore
	Wallet   *ton.Wallet
	Chain    *toncenter.Client
	Second   *SecondSource // nil: no deposit is checked
	Fragment *fragment.Client
	Allow    []ton.Address // that may be paid for Stars
	Settings Settings
	Metrics  *metrics.Metrics
	Log      *slog.Logger

	healthy atomic.Bool // no alert of ours is open
}

// quickTries are the tries of one activity that follow each other within seconds, before others get their turn.
const quickTries = 3

// Order names a try to make a payment.
type Order struct {
	Hash    string `json:"hash"`
	Attempt int    `json:"attempt"` // of the transaction
	Try     int    `json:"try"`     // from 1, of this processing
}

// Payment is what has become of a try to make a payment.
type Payment struct {
	Snapshot
	Failure string `json:"failure,omitempty"` // why nothing was signed; empty: it was, or it is not the order's turn
	Retry   bool   `json:"retry,omitempty"`   // after a failure: it may be tried again, after a pause
}

// BroadcastOutcome is what is known after a broadcast.
type BroadcastOutcome struct {
	Snapshot
	Over bool `json:"over,omitempty"` // the payment's time is over: to broadcast it again makes no sense
}

// BroadcastPayment lets the bytes of a signed payment go, once more. Whatever is answered, only the chain knows the
// outcome.
func (c *PaymentActivities) BroadcastPayment(ctx context.Context, p PaymentOf) (BroadcastOutcome, error) {
	if c.Wallet == nil {
		return BroadcastOutcome{}, refuseHere(ctx)
	}
	defer sendHeartbeats(ctx)()

	payment, err := c.Store.LivePayment(ctx, p.Hash, p.Kind)
	if err != nil {
		return BroadcastOutcome{}, temporalio.RetryUntilSeen(ctx, err)
	}

	over := true
	if payment != nil && payment.State == transaction.PaymentSigned {
		over = time.Now().After(payment.ValidUntil.Add(c.Settings.FinalityMargin))
		c.broadcast(ctx, *payment)
	}

	position, err := c.look(ctx, p.Hash)
	return BroadcastOutcome{Snapshot: position, Over: over}, err
}

// broadcast lets a payment's bytes go. No answer means anything for the payment: an accepted message may never reach
// the chain, a rejected one may be there already.
func (c *PaymentActivities) broadcast(ctx context.Context, payment transaction.Payment) {
	if err := c.Store.MarkPaymentSent(ctx, payment.ID); err != nil {
		c.Log.Warn("payment not broadcast", "payment", payment.ID, "error", err)
		return
	}

	receipt, err := c.Chain.Broadcast(ctx, payment.BoC)
	c.Log.Info(
		"payment broadcast", "payment", payment.ID, "outcome", receipt.Outcome, "exit_code", receipt.ExitCode, "error", err,
	)
	if err := c.Store.WakeForPayment(ctx, payment.Wallet); err != nil {
		c.Log.Warn("the monitor was not woken", "error", err) // it looks by itself, later
	}
}

// PayRefund signs and broadcasts the payment that gives a transaction's money back, less gas, unless there is one
// already.
func (c *PaymentActivities) PayRefund(ctx context.Context, o Order) (Payment, error) {
	if c.Wallet == nil {
		return Payment{}, refuseHere(ctx)
	}
	defer sendHeartbeats(ctx)()

	standing, err := c.Store.KeepDust(ctx, o.Hash, c.Settings.Reserve+max(c.Settings.RefundLeast, 1))
	switch {
	case err != nil:
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	case standing.RefundDue == 0 && standing.Turn == nil: // it is not worth its gas
		return Payment{Snapshot: c.Settings.position(standing)}, nil
	}

	return c.pay(ctx, o, transaction.Refund, c.refund)
}

// refundComment tells the sender what the money is.
const refundComment = "Refund: the order could not be carried out"

// refund makes the order of a payment back to the sender.
func (c *PaymentActivities) refund(ctx context.Context, t transaction.Transaction) (signature, error) {
	to, _, err := ton.ParseAddress(t.Sender)
	if err != nil {
		return signature{}, err
	}
	body, err := ton.CommentBody(refundComment)
	if err != nil {
		return signature{}, err
	}
	amount := money.Nano(t.RefundDueNano - c.Settings.Reserve)
	return signature{payment: ton.Payment{To: to, Amount: amount, Body: body}}, nil
}

// signature is a payment that is ready to be signed.
type signature struct {
	payment   ton.Payment
	requestID string    // Fragment's
	until     time.Time // the money must be there by then; zero: no matter
}

// pay makes the one payment of an order, unless there is one: what is signed already is broadcast again. prepare finds
// out what is to be paid; it moves no money.
func (c *PaymentActivities) pay(
	ctx context.Context, o Order, kind transaction.PaymentKind,
	prepare func(context.Context, transaction.Transaction) (signature, error),
) (Payment, error) {
	payment, err := c.Store.LivePayment(ctx, o.Hash, kind)
	if err != nil {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}

	if payment == nil {
		var position Snapshot
		position, err = c.look(ctx, o.Hash)
		if err != nil || !c.hasTurn(position, o, kind) {
			return Payment{Snapshot: position}, err
		}
		if position.Unconfirmed {
			return Payment{}, c.leaveUnconfirmed(ctx, o, kind)
		}
		payment, err = c.sign(ctx, o, kind, prepare)
	}

	if err != nil {
		return c.unpaid(ctx, o, kind, err)
	}

	if payment.State == transaction.PaymentSigned {
		c.broadcast(ctx, *payment)
	}

	position, err := c.look(ctx, o.Hash)
	return Payment{Snapshot: position}, err
}

func (c *PaymentActivities) hasTurn(p Snapshot, o Order, kind transaction.PaymentKind) bool {
	return p.Attempt == o.Attempt && p.Turn != nil && p.Turn.Kind == kind && p.Turn.Granted
}

// sign prepares a payment, checks that the wallet can afford it, and writes it down.
func (c *PaymentActivities) sign(
	ctx context.Context, o Order, kind transaction.PaymentKind,
	prepare func(context.Context, transaction.Transaction) (signature, error),
) (*transaction.Payment, error) {
	if c.Wallet == nil {
		return nil, notConfigured
	}

	row, err := c.Store.TransactionByHash(ctx, o.Hash)
	if err != nil {
		return nil, err
	}
	if row.Wallet != c.Wallet.Address().Raw() {
		return nil, notConfigured // it was paid to a wallet whose key we no longer have
	}
	if err := c.stopped(ctx); err != nil {
		return nil, err
	}
	if err := c.checkLimits(ctx, row, kind); err != nil {
		return nil, err
	}

	ready, err := prepare(ctx, row)
	if err != nil {
		return nil, err
	}

	wallet, err := c.Chain.Wallet(ctx, c.Wallet.Address())
	if err != nil {
		return nil, err
	}
	if least, err := ready.payment.Amount.Add(money.Nano(c.Settings.Reserve)); err != nil || wallet.Balance < least {
		return nil, fault.New(fault.InsufficientFunds, "the wallet does not hold enough")
	}

	head, err := c.Chain.Head(ctx)
	if err != nil {
		return nil, err
	}

	until := head.At.Add(c.Settings.PaymentTTL).Truncate(time.Second)
	if last := ready.until.Add(-onTheWay).Truncate(time.Second); !ready.until.IsZero() && last.Before(until) {
		if until = last; until.Before(head.At.Add(min(c.Settings.PaymentTTL, shortLife))) {
			return nil, stars.LinkExpired
		}
	}

	payment, err := c.Store.SignPayment(ctx, transaction.PaymentOrder{
		Hash: o.Hash, Kind: kind, Attempt: o.Attempt, Destination: ready.payment.To.Raw(),
		AmountNano: int64(ready.payment.Amount),
		GasNano:    c.Settings.Reserve, ChainSeqno: wallet.Seqno, ChainLT: int64(wallet.LastLT), RequestID: ready.requestID,
	}, c.Settings.Limits, func(seqno uint32) (transaction.Signed, error) {
		signed, err := c.Wallet.Sign(seqno, until, ready.payment)
		return transaction.Signed{
			BoC: signed.BoC, HashNorm: signed.Hash, BodyHash: signed.BodyHash, ValidUntil: signed.ValidUntil,
		}, err
	})
	if err != nil {
		return nil, err
	}

	c.resolveAlerts(ctx)
	return &payment, nil
}

// shortLife is what a payment needs to reach the chain. What the wallet sends at the last moment comes to the shop some
// blocks later, which would keep it and sell nothing for it: onTheWay is what the money needs.
const (
	shortLife = 15 * time.Second
	onTheWay  = 10 * time.Second
)

// checkLimits refuses what the limits will refuse before anybody outside is asked. Of an order without a price only its
// signature can tell.
func (c *PaymentActivities) checkLimits(ctx context.Context, t transaction.Transaction, kind transaction.PaymentKind) error {
	nano := t.QuoteNano
	if kind == transaction.Refund {
		nano = t.RefundDueNano - c.Settings.Reserve
	}
	return c.Store.CheckLimits(ctx, t.Hash, kind, nano, c.Settings.Limits)
}

var notConfigured = fault.New(fault.NotConfigured, "the wallet's key is not configured here")

// stopped asks for the pause before anybody outside is bothered; what counts is the look at the signature.
func (c *PaymentActivities) stopped(ctx context.Context) error {
	switches, err := c.Store.Switches(ctx)
	if err != nil {
		return err
	}
	for _, s := range switches {
		if s.On() && s.Name == transaction.SwitchPause {
			return fault.New(fault.PaymentsPaused, "payments are paused")
		}
	}
	return nil
}

// unpaid decides what an error means for an order that was not signed.
func (c *PaymentActivities) unpaid(ctx context.Context, o Order, kind transaction.PaymentKind, err error) (Payment, error) {
	if ctx.Err() != nil || isRefusal(err, fault.StoreUnavailable) { // no try of the order's
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}

	c.Log.Warn(
		"payment not signed", "transaction", o.Hash, "kind", kind, "try", o.Try, "error", err, "cause", errors.Unwrap(err),
	)
	waits, waitErr := c.waitsForFragment(ctx, o, err)
	if waitErr != nil {
		return Payment{}, temporalio.RetryUntilSeen(ctx, waitErr)
	}

	code := fault.CodeOf(err)
	switch {
	case waits:
		if err := c.hold(ctx, code); err != nil {
			return Payment{}, temporalio.RetryUntilSeen(ctx, err)
		}
		return c.waitLast(ctx, o, kind)
	case isRefusal(err, fault.NoTurn, fault.InvalidTransition, fault.PaymentUndecided):
		position, lookErr := c.look(ctx, o.Hash)
		if lookErr != nil || !c.hasTurn(position, o, kind) { // the record has moved on: so does the workflow
			return Payment{Snapshot: position}, lookErr
		}
		// Nothing has moved, and it may not be signed: a person has to look first. Others must not wait for that.
	case isRefusal(err, fault.PaymentsPaused, fault.PaymentsHeld):
		return c.waitAgain(ctx, o, kind)
	case code == fault.DailyLimit:
		return c.deferTurn(ctx, o, kind, err)
	case code == fault.RefundLimit:
		c.raise(ctx, notice.AlertTransactionReview)
		standing, err := c.Store.ReviewRefund(ctx, o.Hash)
		if err != nil {
			return Payment{}, temporalio.RetryUntilSeen(ctx, err)
		}
		return Payment{Snapshot: c.Settings.position(standing)}, nil
	case code == fault.PaymentNotAllowed, fragment.ClassOf(err) == fragment.Hold,
		code == fault.ChainClock && kind == transaction.Purchase: // a refund is tried again later: nothing holds those
		if err := c.hold(ctx, code); err != nil {
			return Payment{}, temporalio.RetryUntilSeen(ctx, err)
		}
		return c.waitAgain(ctx, o, kind)
	case code == fault.InsufficientFunds:
		c.raise(ctx, notice.AlertWalletEmpty)
	}

	failure := failureOf(err)
	if failure == stars.Suspicious {
		c.raise(ctx, notice.AlertPaymentRefused)
	}

	if !failure.Final && attemptWithKey(ctx) < quickTries {
		return Payment{}, failed(failure, err)
	}

	if kind == transaction.Refund && o.Try >= c.Settings.Attempts {
		c.raise(ctx, notice.AlertRefund)
	}

	if err := c.Store.LeaveQueue(ctx, o.Hash, kind); err != nil && !isRefusal(err, fault.PaymentUndecided) {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}

	position, err := c.look(ctx, o.Hash)
	return Payment{Snapshot: position, Failure: failure.Message, Retry: !failure.Final && o.Try < c.Settings.Attempts}, err
}

// waitsForFragment says whether an order waits until Fragment is back. Tries that follow each other within seconds come
// first, and it waits for a time only: what fails for one order alone would hold up all others for ever.
func (c *PaymentActivities) waitsForFragment(ctx context.Context, o Order, err error) (bool, error) {
	if !fragment.Away(err) || attemptWithKey(ctx) < min(quickTries, c.Settings.Attempts) {
		return false, nil
	}

	transaction, err := c.Store.TransactionByHash(ctx, o.Hash)
	if err != nil || transaction.State != lifecycle.TransactionProcessing || transaction.Attempt != o.Attempt {
		return false, err
	}

	since := *transaction.ProcessingSince
	if began := transaction.FailingSince; began != nil && began.Before(since) {
		since = *began
	}
	return time.Since(since) < c.Settings.RetryFor, nil
}

// waitLast puts an order at the end of the line, so that another one finds out whether Fragment is back: this one may
// be the reason.
func (c *PaymentActivities) waitLast(ctx context.Context, o Order, kind transaction.PaymentKind) (Payment, error) {
	if err := c.Store.YieldTurn(ctx, o.Hash, kind); err != nil && !isRefusal(err, fault.PaymentUndecided) {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}
	position, err := c.look(ctx, o.Hash)
	return Payment{Snapshot: position}, err
}

// waitAgain puts an order back to its old place in line: nothing of this was its fault.
func (c *PaymentActivities) waitAgain(ctx context.Context, o Order, kind transaction.PaymentKind) (Payment, error) {
	if err := c.Store.ReturnTurn(ctx, o.Hash, kind); err != nil && !isRefusal(err, fault.PaymentUndecided) {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}
	position, err := c.look(ctx, o.Hash)
	return Payment{Snapshot: position}, err
}

// deferTurn lets others pass an order for which today's limit has no room.
func (c *PaymentActivities) deferTurn(
	ctx context.Context, o Order, kind transaction.PaymentKind, why error,
) (Payment, error) {
	c.raise(ctx, notice.AlertDailyLimit)
	until := time.Now().Add(c.Settings.HoldRetry)
	if full, ok := errors.AsType[*transaction.DayIsFull](why); ok {
		until = earlier(full.Until, time.Now().Add(deferMost))
	}
	if err := c.Store.DeferTurn(ctx, o.Hash, kind, until); err != nil && !isRefusal(err, fault.PaymentUndecided) {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}
	position, err := c.look(ctx, o.Hash)
	return Payment{Snapshot: position}, err
}

// deferMost is how long an order waits before it is tried again: a payment that dies leaves room sooner than the day's
// window.
const deferMost = time.Hour

// holdAlerts are the incidents for which all purchases are held: no try of any order can succeed. Of one that is not
// here, Fragment being away, the administrators are told by the liveness of outside systems.
var holdAlerts = map[fault.Code]string{
	fault.FragmentUnauthorized: notice.AlertFragmentSession,
	fault.FragmentVerify:       notice.AlertFragmentSession,
	fault.PaymentNotAllowed:    notice.AlertPaymentRefused,
	fault.ChainClock:           notice.AlertChainClock,
}

// hold stops purchases for a while and tells the administrators.
func (c *PaymentActivities) hold(ctx context.Context, why fault.Code) error {
	if alert := holdAlerts[why]; alert != "" {
		c.raise(ctx, alert)
	}
	return c.Store.Hold(ctx, string(why), time.Now().Add(c.Settings.HoldRetry))
}

func (c *PaymentActivities) raise(ctx context.Context, alert string) {
	c.healthy.Store(false)
	if err := c.Store.RaiseAlert(ctx, alert); err != nil {
		c.Log.Error("alert not raised", "kind", alert, "error", err)
	}
}

// resolveAlerts closes open alerts after a payment that was signed: nothing stands in the way any more.
func (c *PaymentActivities) resolveAlerts(ctx context.Context) {
	if c.healthy.Swap(true) {
		return
	}

	over := []string{notice.AlertFragmentSession, notice.AlertPaymentRefused, notice.AlertWalletEmpty, notice.AlertRefund}
	deferred, err := c.Store.AnyDeferred(ctx)
	if err == nil && !deferred {
		over = append(over, notice.AlertDailyLimit)
	}

	if err := c.Store.SetAlerts(ctx, nil, over); err != nil || deferred {
		c.healthy.Store(false)
	}
}

func (c *PaymentActivities) look(ctx context.Context, hash string) (Snapshot, error) {
	standing, err := c.Store.SnapshotOfTransaction(ctx, hash)
	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return c.Settings.position(standing), nil
}

// ProveRefund waits until the sender has the money for good, or until it came back.
func (c *PaymentActivities) ProveRefund(ctx context.Context, hash string) (Snapshot, error) {
	if c.Wallet == nil {
		return Snapshot{}, refuseHere(ctx)
	}
	defer sendHeartbeats(ctx)()

	payment, err := c.Store.LivePayment(ctx, hash, transaction.Refund)
	if err == nil && payment != nil {
		var ref transaction.PaymentRef
		if ref, err = settleDestination(ctx, c.Chain, c.Store, *payment, c.Settings.Refund); err == nil && ref.State == transaction.PaymentPaid && !ref.Kept {
			err = notYet
		}
	}

	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return c.look(ctx, hash)
}

// notYet ends a try to see something that takes its time; the activity's retry policy has the next one.
var notYet = fault.New(fault.PaymentUndecided, "not decided yet").Retry()
