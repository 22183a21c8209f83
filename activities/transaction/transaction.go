// Package transaction has the activities of transactions: they act on the wallet, the chain, Fragment and the record.
package transaction

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// Store is the part of the record that the activities use.
type Store interface {
	ByHash(ctx context.Context, hash string) (transaction.Transaction, error)
	SnapshotOf(ctx context.Context, hash string) (transaction.Snapshot, error)

	Retry(ctx context.Context, r transaction.Request) (transaction.Snapshot, error)
	Resolve(
		ctx context.Context, r transaction.Request, outcome lifecycle.TransactionState, message string,
	) (transaction.Snapshot, error)
	ReviewPayment(ctx context.Context, hash string, limits transaction.Limits) (transaction.Snapshot, error)
	AskReview(ctx context.Context, r transaction.Request) (transaction.Snapshot, error)
	WriteOffRefund(ctx context.Context, r transaction.Request) (transaction.Snapshot, error)

	MarkStuck(ctx context.Context, hash string, after time.Duration) (later time.Duration, err error)
}

// Alerts notifies the administrators of what only they can fix.
type Alerts interface {
	RaiseAlert(ctx context.Context, kind string) error
	SetAlerts(ctx context.Context, raise, resolve []string) error
}

// Users finds the administrator who requests a review.
type Users interface {
	UserByID(ctx context.Context, id int64) (account.User, error)
}

// Answers has the texts that come with requests: histories get only their ids.
type Answers interface {
	KeptContent(ctx context.Context, userID int64, id string, content any) error
}

// Orders ends orders and attempts to buy. It is transactions.Service.
type Orders interface {
	FailPending(ctx context.Context, hash string, failure *stars.Failure) (transaction.Snapshot, error)
	Fail(ctx context.Context, claim transaction.Claim, failure *stars.Failure) (transaction.Snapshot, error)
	Stop(ctx context.Context, hash string, failure *stars.Failure) (transaction.Snapshot, error)
}

// Activities reads and writes the record for transactions' workflows. Every method returns the resulting snapshot.
// Idempotent, even if late.
type Activities struct {
	Store    Store
	Alerts   Alerts
	Users    Users
	Answers  Answers
	Settings Settings
	Orders   Orders
	Metrics  metrics.Transaction
}

// Settings are the limits of the workload. Amounts are nanoTON.
type Settings struct {
	MaxStars       int64              // in one purchase
	Reserve        int64              // kept back from each transfer for gas, and left in the wallet
	Slippage       int64              // in parts of 10,000
	Limits         transaction.Limits // of payments
	PaymentTTL     time.Duration      // how long a signed payment is valid
	FinalityMargin time.Duration      // how long after its expiry a payment that was not found is dead
	// how long Fragment is queried about a paid purchase before an operator is notified
	ConfirmPatience time.Duration
	HoldRetry       time.Duration // the delay before a deferred payment is retried if nothing says when there is room
	PollInterval    time.Duration // between two reads of the chain
	StuckAfter      time.Duration // in processing

	LookEvery        time.Duration // interval between polls of what others decide: the record, the switches, Fragment
	RebroadcastEvery time.Duration // at first; doubled each time
	TurnPatience     time.Duration // how long an attempt waits for a paid purchase's Stars

	MinDeposit   int64 // a smaller transfer is no order
	WholeHistory bool  // transfers from before the first start are orders too
	Refund       bool  // non-retryable failures are refunded
	RefundLeast  int64 // a smaller refund is not sent
}

// outcome converts a result of the record to the activity's result or error.
func outcome(ctx context.Context, record transaction.Snapshot, err error) (transaction.Snapshot, error) {
	if err != nil {
		return transaction.Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return record, nil
}

// OpenTransaction decides what can be decided while an order is queued: one that cannot be executed fails, and a large
// deposit waits for a review. Nothing is written for any other.
func (a *Activities) OpenTransaction(ctx context.Context, hash string) (transaction.Snapshot, error) {
	row, err := a.Store.ByHash(ctx, hash)
	record := row.Snapshot()
	if err == nil && row.State == lifecycle.TransactionPending {
		record, err = a.open(ctx, row)
	}
	if err == nil && record.NeedsReview {
		err = a.Alerts.RaiseAlert(ctx, notice.AlertTransactionReview)
	}
	return outcome(ctx, record, err)
}

func (a *Activities) open(ctx context.Context, row transaction.Transaction) (transaction.Snapshot, error) {
	_, unfit := stars.Parse(row.Comment, a.Settings.MaxStars)
	if failure, ok := errors.AsType[*stars.Failure](unfit); ok {
		return a.Orders.FailPending(ctx, row.Hash, failure)
	}
	if from := a.Settings.Limits.ReviewFrom; from > 0 && row.AmountNano > from && row.DepositConfirmedAt == nil {
		return a.Store.ReviewPayment(ctx, row.Hash, a.Settings.Limits)
	}
	return row.Snapshot(), nil
}

// LookAtTransaction returns the snapshot and changes nothing.
func (a *Activities) LookAtTransaction(ctx context.Context, hash string) (transaction.Snapshot, error) {
	record, err := a.Store.SnapshotOf(ctx, hash)
	return outcome(ctx, record, err)
}

// WriteOffRefund cancels the debt to the sender, or refuses.
func (a *Activities) WriteOffRefund(ctx context.Context, r Request) (transaction.Snapshot, error) {
	return a.carryOut(ctx, r, a.Store.WriteOffRefund)
}

// AskReview stops an order for a review, or refuses.
func (a *Activities) AskReview(ctx context.Context, r Request) (transaction.Snapshot, error) {
	return a.carryOut(ctx, r, a.Store.AskReview)
}

// countEnd counts the result of an attempt to execute an order. A call repeated because its answer was lost counts
// twice.
func countEnd(m metrics.Transaction, s transaction.Snapshot, err error) {
	if err == nil && s.Ended() {
		m.Ended.WithLabelValues(string(s.State)).Inc()
	}
}

// CancelTransaction ends a transaction for an operator, unless a purchase is signed or paid.
func (a *Activities) CancelTransaction(ctx context.Context, hash string) (transaction.Snapshot, error) {
	record, err := a.Orders.Stop(ctx, hash, stars.Cancelled)
	return outcome(ctx, record, err)
}

// AlertStuck alerts the administrators to a transaction that is in processing for too long, excluding pauses and holds,
// of which they know. later is when to check again; 0: they are alerted.
func (a *Activities) AlertStuck(ctx context.Context, hash string) (later time.Duration, _ error) {
	later, err := a.Store.MarkStuck(ctx, hash, a.Settings.StuckAfter)
	if err == nil && later == 0 {
		err = a.Alerts.RaiseAlert(ctx, notice.AlertTransactionStuck)
	}
	if err != nil {
		return 0, temporalio.RetryUntilSeen(ctx, err)
	}
	return later, nil
}

// AlertUnfollowed alerts the administrators to a wallet that no process follows on the chain. The monitor's next
// complete read closes the alert.
func (a *Activities) AlertUnfollowed(ctx context.Context, _ string) (struct{}, error) {
	if err := a.Alerts.RaiseAlert(ctx, notice.AlertChain); err != nil {
		return struct{}{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return struct{}{}, nil
}

// Request is a person's request for an action on a transaction.
type Request struct {
	Hash    string                     `json:"hash"`
	Attempt int                        `json:"attempt"`         // as seen by the person; 0: the transaction's current one
	Actor   int64                      `json:"actor,omitempty"` // 0: an operator using the temporal CLI
	Outcome lifecycle.TransactionState `json:"outcome,omitempty"`
	Payment string                     `json:"payment,omitempty"` // the lost payment, by its hash on the chain
	// RequestID is the update's id: the actor's comment and the answer are stored under it.
	RequestID string `json:"request_id,omitempty"`
}

// RetryTransaction moves a failed transaction back to processing, or refuses.
func (a *Activities) RetryTransaction(ctx context.Context, r Request) (transaction.Snapshot, error) {
	return a.carryOut(ctx, r, a.Store.Retry)
}

// ResolveTransaction ends a transaction that needs review as a person decided, or refuses.
func (a *Activities) ResolveTransaction(ctx context.Context, r Request) (transaction.Snapshot, error) {
	return a.carryOut(ctx, r, func(ctx context.Context, request transaction.Request) (transaction.Snapshot, error) {
		request.Refund = a.Settings.Refund
		record, err := a.Store.Resolve(ctx, request, r.Outcome, stars.Unconfirmed.Message)
		countEnd(a.Metrics, record, err)
		return record, err
	})
}

// carryOut executes a request of an administrator, or of an operator who is not one of our users.
func (a *Activities) carryOut(
	ctx context.Context, r Request, write func(context.Context, transaction.Request) (transaction.Snapshot, error),
) (transaction.Snapshot, error) {
	request := transaction.Request{
		Hash: r.Hash, Attempt: r.Attempt, Payment: r.Payment, RequestID: r.RequestID,
	}

	if r.Actor != 0 {
		request.ActorID = &r.Actor
		user, err := a.Users.UserByID(ctx, r.Actor)
		if err == nil && !user.IsAdmin() {
			err = fault.New(fault.InsufficientAccess, "this is for administrators")
		}
		if err == nil {
			err = a.Answers.KeptContent(ctx, r.Actor, r.RequestID, &request.Comment)
		}
		if err != nil {
			return transaction.Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
		}
	}

	record, err := write(ctx, request)
	return outcome(ctx, record, err)
}
