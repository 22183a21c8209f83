// Package transaction has the activities of transactions: they act on the wallet, the chain, Fragment and the record.
package transaction

import (
	"context"
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

	Lock(ctx context.Context, hash string) (transaction.Snapshot, error)
	SaveQuote(ctx context.Context, q transaction.Quote) (transaction.Snapshot, error)
	Retry(ctx context.Context, r transaction.Request) (transaction.Snapshot, error)
	Resolve(
		ctx context.Context, r transaction.Request, outcome lifecycle.TransactionState, message string,
	) (transaction.Snapshot, error)
	Review(
		ctx context.Context, hash string, attempt int, reason string,
	) (transaction.Snapshot, error)
	AskReview(ctx context.Context, r transaction.Request) (transaction.Snapshot, error)
	WriteOffRefund(ctx context.Context, r transaction.Request) (transaction.Snapshot, error)

	MarkStuck(ctx context.Context, hash string, attempt int) (stuck bool, err error)
	Switches(ctx context.Context) (transaction.Switches, error)
}

// Alerts tells the administrators of what only they can repair.
type Alerts interface {
	RaiseAlert(ctx context.Context, kind string) error
	SetAlerts(ctx context.Context, raise, resolve []string) error
}

// Users finds the administrator who asks for a review.
type Users interface {
	UserByID(ctx context.Context, id int64) (account.User, error)
}

// Answers has the texts that come with requests: histories get their ids only.
type Answers interface {
	KeptContent(ctx context.Context, userID int64, id string, content any) error
}

// Orders ends tries to buy. It is service.Transactions.
type Orders interface {
	Fail(ctx context.Context, hash string, attempt int, failure *stars.Failure) (transaction.Snapshot, error)
	Stop(ctx context.Context, hash string, failure *stars.Failure) (transaction.Snapshot, error)
}

// Activities reads and writes the record for the workflows of transactions. Every method returns the snapshot after it.
// A repeated or late call changes nothing and returns the same.
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
	Attempts       int                // purchases signed, and tries to sign one, before a transaction fails
	MaxStars       int64              // in one purchase
	Reserve        int64              // kept back of each transfer for gas, and left in the wallet
	Slippage       int64              // in parts of 10,000
	Limits         transaction.Limits // of payments
	PaymentTTL     time.Duration      // how long a signed payment is valid
	FinalityMargin time.Duration      // how long after its time a payment that is not found is dead
	// how long Fragment is asked about a paid purchase before an operator is
	ConfirmPatience time.Duration
	HoldRetry       time.Duration // the longest pause between two tries of the order that waits for the end of a hold
	// how long an order waits while Fragment is away, and how long a failed one is retried automatically
	RetryFor      time.Duration
	RetryInterval time.Duration // between the tries of an order that follow each other; doubled, and a second at most at first
	PollInterval  time.Duration // between two reads of the chain
	StuckAfter    time.Duration // in processing

	LookEvery        time.Duration // between two looks at what others decide: the record, the switches, Fragment
	RebroadcastEvery time.Duration // at first; doubled for each one after
	TurnPatience     time.Duration // how long the turn is kept for the Stars of a paid purchase

	MinDeposit   int64 // a smaller transfer is no order
	WholeHistory bool  // transfers from before the first start are orders too
	Refund       bool  // non-retryable failures are refunded
	RefundLeast  int64 // a refund of less to the sender is not made
}

// Snapshot is the record's state of a transaction, with what the settings say about it.
type Snapshot struct {
	transaction.Snapshot
	Again bool `json:"again,omitempty"` // another purchase may be signed in this processing
}

// answer turns a result of the record into the activity's result or error.
func (s Settings) answer(ctx context.Context, record transaction.Snapshot, err error) (Snapshot, error) {
	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}

	return Snapshot{Snapshot: record, Again: record.Signed < s.Attempts}, nil
}

// LockTransaction takes a pending transaction into processing.
func (a *Activities) LockTransaction(ctx context.Context, hash string) (Snapshot, error) {
	record, err := a.Store.Lock(ctx, hash)
	return a.Settings.answer(ctx, record, err)
}

// LookAtTransaction returns the snapshot and changes nothing.
func (a *Activities) LookAtTransaction(ctx context.Context, hash string) (Snapshot, error) {
	record, err := a.Store.SnapshotOf(ctx, hash)
	return a.Settings.answer(ctx, record, err)
}

// WriteOffRefund gives up what is owed to the sender, or refuses.
func (a *Activities) WriteOffRefund(ctx context.Context, r Request) (Snapshot, error) {
	return a.carryOut(ctx, r, a.Store.WriteOffRefund)
}

// AskReview stops an order for a person's review, or refuses.
func (a *Activities) AskReview(ctx context.Context, r Request) (Snapshot, error) {
	return a.carryOut(ctx, r, a.Store.AskReview)
}

// countEnd counts the result of a try to carry out an order. A call that is repeated because its answer was lost counts
// twice.
func countEnd(m metrics.Transaction, s transaction.Snapshot, err error) {
	if err == nil && s.Ended() {
		m.Ended.WithLabelValues(string(s.State)).Inc()
	}
}

// CancelTransaction ends a transaction for an operator, unless a purchase is signed or paid.
func (a *Activities) CancelTransaction(ctx context.Context, hash string) (Snapshot, error) {
	record, err := a.Orders.Stop(ctx, hash, stars.Cancelled)
	return a.Settings.answer(ctx, record, err)
}

// Review says why an operator has to review a transaction.
type Review struct {
	Hash    string `json:"hash"`
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
}

// ReviewTransaction asks for an operator's review.
func (a *Activities) ReviewTransaction(ctx context.Context, r Review) (Snapshot, error) {
	if err := a.Alerts.RaiseAlert(ctx, notice.AlertTransactionReview); err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	record, err := a.Store.Review(ctx, r.Hash, r.Attempt, r.Reason)
	return a.Settings.answer(ctx, record, err)
}

// AlertStuck alerts the administrators to a transaction that is in processing for too long. The time begins anew when a
// pause or a hold of all payments ends, of which they know: later is when to look again then; 0: they are alerted.
func (a *Activities) AlertStuck(ctx context.Context, hash string) (later time.Duration, _ error) {
	switches, err := a.Store.Switches(ctx)
	if err != nil {
		return 0, temporalio.RetryUntilSeen(ctx, err)
	}

	for _, s := range []transaction.Switch{switches.Pause, switches.Hold} {
		if s.On() {
			later = a.Settings.StuckAfter
		} else if s.EndedAt != nil {
			later = max(later, a.Settings.StuckAfter-time.Since(*s.EndedAt))
		}
	}
	if later > 0 {
		return later, nil
	}

	record, err := a.Store.SnapshotOf(ctx, hash)
	if err != nil {
		return 0, temporalio.RetryUntilSeen(ctx, err)
	}
	stuck, err := a.Store.MarkStuck(ctx, hash, record.Attempt)
	if err == nil && stuck {
		err = a.Alerts.RaiseAlert(ctx, notice.AlertTransactionStuck)
	}
	if err != nil {
		return 0, temporalio.RetryUntilSeen(ctx, err)
	}
	return 0, nil
}

// AlertUnfollowed alerts the administrators to a wallet that no process follows on the chain. The monitor's next complete
// read closes the alert.
func (a *Activities) AlertUnfollowed(ctx context.Context, _ string) (struct{}, error) {
	if err := a.Alerts.RaiseAlert(ctx, notice.AlertChain); err != nil {
		return struct{}{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return struct{}{}, nil
}

// Request is a person's request for an action on a transaction.
type Request struct {
	Hash    string                     `json:"hash"`
	Attempt int                        `json:"attempt"`         // the attempt that the request is about
	Actor   int64                      `json:"actor,omitempty"` // 0: an operator at the temporal CLI
	Outcome lifecycle.TransactionState `json:"outcome,omitempty"`
	Payment string                     `json:"payment,omitempty"` // the lost payment, by its hash on the chain
	// RequestID is the update's id: the actor's comment and the answer are kept under it.
	RequestID string `json:"request_id,omitempty"`
	System    bool   `json:"system,omitempty"` // not a person's request: the time of a planned retry has come
}

// RetryTransaction takes a failed transaction back into processing, or refuses.
func (a *Activities) RetryTransaction(ctx context.Context, r Request) (Snapshot, error) {
	return a.carryOut(ctx, r, a.Store.Retry)
}

// ResolveTransaction ends a transaction that needs review as a person decided, or refuses.
func (a *Activities) ResolveTransaction(ctx context.Context, r Request) (Snapshot, error) {
	return a.carryOut(ctx, r, func(ctx context.Context, request transaction.Request) (transaction.Snapshot, error) {
		if r.Payment != "" {
			if err := a.saveOrder(ctx, r); err != nil {
				return transaction.Snapshot{}, err
			}
		}

		request.Refund = a.Settings.Refund
		record, err := a.Store.Resolve(ctx, request, r.Outcome, stars.Unconfirmed.Message)
		countEnd(a.Metrics, record, err)
		return record, err
	})
}

// saveOrder records what the payer asked for, of an order that was bought before the record had read it.
func (a *Activities) saveOrder(ctx context.Context, r Request) error {
	row, err := a.Store.ByHash(ctx, r.Hash)
	if err != nil || row.Username != "" {
		return err
	}

	order, err := stars.Parse(row.Comment, a.Settings.MaxStars)
	if err != nil {
		return nil // it was bought all the same, as the operator has found out
	}

	_, err = a.Store.SaveQuote(
		ctx, transaction.Quote{Hash: r.Hash, Attempt: r.Attempt, Username: order.Username, Stars: order.Stars},
	)
	return err
}

// carryOut carries out a request of an administrator, or of an operator who is not one of our users.
func (a *Activities) carryOut(
	ctx context.Context, r Request, write func(context.Context, transaction.Request) (transaction.Snapshot, error),
) (Snapshot, error) {
	request := transaction.Request{
		Hash: r.Hash, Attempt: r.Attempt, Payment: r.Payment, RequestID: r.RequestID, System: r.System,
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
			return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
		}
	}

	record, err := write(ctx, request)
	return a.Settings.answer(ctx, record, err)
}
