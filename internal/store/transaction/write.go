package transaction

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Writes by the system name their attempt: a late repetition of an older attempt changes nothing. Each write returns
// the snapshot of the record afterwards, so that a repeated or late caller reads the outcome there. INVALID_TRANSITION
// answers people when the status forbids an action; PAYMENT_UNDECIDED answers all callers when a payment forbids it.

// lockedTransaction is a transaction whose wallet is locked: no other writer changes any payment, turn or balance of
// that wallet meanwhile.
type lockedTransaction struct {
	drivenTransaction
	lockedWallet
	notified []string // types of this change's events that the user is notified of
}

// The transitions of a locked transaction.
type (
	TransactionStep = core.Step[lifecycle.TransactionState, lifecycle.TransactionAction]
	transactionWalk = core.Walk[
		lockedTransaction, lifecycle.TransactionState, lifecycle.TransactionAction, lifecycle.TransactionFacts,
	]
)

var transactions = &core.Workload[
	lockedTransaction, lifecycle.TransactionState, lifecycle.TransactionAction, lifecycle.TransactionFacts,
]{
	Name: lifecycle.WorkloadTransaction, Table: lifecycle.Transaction, None: noTransaction,
	Lock: []string{
		`SELECT 1 FROM ton_wallets WHERE address = (SELECT wallet FROM transactions WHERE hash = $1) FOR UPDATE`,
		`SELECT ` + drivenColumns + `, w.*, clock_timestamp() AS now FROM transactions
			CROSS JOIN LATERAL (SELECT ` + walletColumns + ` FROM ton_wallets WHERE address = wallet) w WHERE hash = $1`,
	},
	Entity: func(t *lockedTransaction) core.Entity[lifecycle.TransactionState] {
		return core.Entity[lifecycle.TransactionState]{ID: t.Hash, Owner: t.UserID, State: &t.State, Version: &t.RowVersion}
	},
	Facts: func(t *lockedTransaction) lifecycle.TransactionFacts { return t.Facts() },
	Effects: map[lifecycle.TransactionAction]func(*lockedTransaction, TransactionStep){
		lifecycle.TransactionActionLock:     process,
		lifecycle.TransactionActionRetry:    processAgain,
		lifecycle.TransactionActionFinish:   keepPurchase,
		lifecycle.TransactionActionFail:     keepError,
		lifecycle.TransactionActionReview:   openReview,
		lifecycle.TransactionActionWriteOff: dropDebt,
	},
	Write: queueTransaction,
	Notice: func(t *lockedTransaction, e core.Event) (time.Duration, bool) {
		return 0, slices.Contains(t.notified, e.Type)
	},
}

// process begins the next attempt.
func process(t *lockedTransaction, _ TransactionStep) {
	t.Attempt++
	t.ProcessingSince, t.StuckAlertedAt = &t.Now, nil
	t.ErrorMessage, t.ErrorClass = "", ""
}

// keepPurchase names the payment that bought the Stars.
func keepPurchase(t *lockedTransaction, _ TransactionStep) {
	t.FragmentTransactionHash = t.Purchase.ChainHash
}

// keepError takes the message from the event.
func keepError(t *lockedTransaction, step TransactionStep) { t.ErrorMessage = step.Comment }

// openReview sets the review and ends the system's retries.
func openReview(t *lockedTransaction, step TransactionStep) {
	t.NeedsReview, t.ReviewReason, t.RetryAt = true, step.Comment, nil
}

// closeReview ends the review.
func closeReview(t *lockedTransaction) { t.NeedsReview, t.ReviewReason = false, "" }

// dropDebt clears the debt, and ends a review that was about nothing else.
func dropDebt(t *lockedTransaction, _ TransactionStep) {
	t.RefundDueNano = 0
	if t.ReviewReason == ReviewDeposit || t.ReviewReason == ReviewRefundLimit {
		closeReview(t)
	}
}

// queueTransaction writes the row, and reads the snapshot that results from all writes.
func queueTransaction(batch *pgx.Batch, _ lifecycle.TransactionState, t *lockedTransaction) {
	batch.Queue(`UPDATE transactions SET username = $2, user_id = $3, stars = $4, quote_nano = $5, recipient = $6, status = $7, attempt = $8,
		error_message = $9, error_class = $10, fragment_transaction_hash = $11, refund_due_nano = $12, needs_review = $13,
		review_reason = $14, processing_since = $15, stuck_alerted_at = $16, row_version = $17, updated_at = $18, refund_approved = $19, dust_nano = $20,
		retry_of = $21, failing_since = $22, retries = $23, retry_at = $24, given_up_at = $25, deposit_confirmed_at = $26, quoted_at = $27,
		deferred_at = $28, deferred_until = $29
		WHERE hash = $1`,
		t.Hash, t.Username, t.UserID, t.Stars, t.QuoteNano, t.Recipient, t.State, t.Attempt, t.ErrorMessage, t.ErrorClass,
		t.FragmentTransactionHash, t.RefundDueNano, t.NeedsReview, t.ReviewReason, t.ProcessingSince, t.StuckAlertedAt, t.RowVersion, t.Now,
		t.RefundApproved, t.DustNano, t.RetryOf, t.FailingSince, t.Retries, t.RetryAt, t.GivenUpAt, t.DepositConfirmedAt,
		t.QuotedAt, t.DeferredAt, t.DeferredUntil)

	batch.Queue(drivenByHash, t.Hash).Query(func(rows pgx.Rows) (err error) {
		t.drivenTransaction, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[drivenTransaction])
		return err
	})
}

// writing is one change of a transaction. Statements about payments, turns and the ledger are sent at once; row and
// events follow at its end.
type writing struct {
	*transactionWalk
	*lockedTransaction
}

// write changes a transaction and returns its snapshot afterwards.
func (s *Store) write(
	ctx context.Context, hash string, decide func(w *writing) error,
) (Snapshot, error) {
	t, err := core.Change(ctx, s.db, transactions, hash, func(walk *transactionWalk) error {
		return decide(&writing{walk, walk.Row})
	})
	if err != nil {
		return Snapshot{}, err
	}
	return t.snapshot(), nil
}

// writeIn is write within an open database transaction.
func writeIn(ctx context.Context, db core.Session, hash string, decide func(w *writing) error) error {
	_, err := core.ChangeIn(ctx, db, transactions, hash, func(walk *transactionWalk) error {
		return decide(&writing{walk, walk.Row})
	})
	return err
}

// during reports whether the transaction is still in processing, in that attempt.
func (w *writing) during(attempt int) bool {
	return w.State == lifecycle.TransactionProcessing && w.Attempt == attempt
}

// passedOver is the answer to the system when the table does not allow its step: the record is ahead, and the snapshot
// shows how far.
func passedOver(err error) error {
	if fault.CodeOf(err) == fault.InvalidTransition {
		return nil
	}
	return err
}

// end frees the wallet's turn, and plans the user's notification of the event that has ended an attempt.
// Of retryable failures only the first one is notified.
func (w *writing) end(ctx context.Context, event string) error {
	repeated := false
	if w.State == lifecycle.TransactionFailed && w.ErrorClass != lifecycle.NonRetryable {
		var err error
		if repeated, _, err = w.failedBefore(ctx); err != nil {
			return err
		}
	}

	if !repeated { // an operator may retry any number of times
		w.notified = append(w.notified, event)
	}
	w.DeferredAt, w.DeferredUntil = nil, nil
	return w.freeTurn(ctx)
}

// failedBefore reports whether the transaction had failed before this change, and whether the system had given it up.
// It is false for a transaction without a user, because no one would be notified.
func (w *writing) failedBefore(ctx context.Context) (failed, givenUp bool, err error) {
	if w.UserID == nil {
		return false, false, nil
	}
	err = w.DB.QueryRow(ctx, `SELECT count(*) FILTER (WHERE type = $3) > 0, count(*) FILTER (WHERE type = $4) > 0
		FROM events WHERE workload = $1 AND entity_id = $2 AND type IN ($3, $4)`,
		lifecycle.WorkloadTransaction, w.Hash, lifecycle.TransactionFailure, lifecycle.TransactionGivenUp,
	).Scan(&failed, &givenUp)
	return failed, givenUp, err
}

// undecided refuses what must not happen while a payment may have moved money.
func undecided(p Payment) error {
	return fault.New(fault.PaymentUndecided, "a %s of this transaction is %s", p.Kind, p.State).With("state", p.State)
}

// otherAttempt refuses a person's request about an attempt that is not, or no longer, the transaction's.
func (w *writing) otherAttempt(action lifecycle.TransactionAction) error {
	return fault.New(
		fault.InvalidTransition, "transaction is %s, in attempt %d: %s was asked for another one", w.State, w.Attempt, action,
	).With("current", w.State).With("requested", action)
}

// Lock takes a pending transaction into processing, as attempt 1. It leaves any other as it is.
func (s *Store) Lock(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		return passedOver(w.Take(TransactionStep{Action: lifecycle.TransactionActionLock}))
	})
}

// Quote is what a transaction buys.
type Quote struct {
	Hash      string
	Attempt   int
	Username  string // as parsed from the comment, without "@"
	Stars     int64  // 0: not known yet
	PriceNano int64  // 0: not known yet
	Recipient string
}

// SaveQuote stores what is known about an order: all of it, or as much as is known before the order is refused. It
// moves no money. Once a purchase is signed the order stays as it is.
func (s *Store) SaveQuote(ctx context.Context, q Quote) (Snapshot, error) {
	return s.write(ctx, q.Hash, func(w *writing) error {
		if !w.during(q.Attempt) || w.spent() {
			return nil
		}

		w.Username, w.Stars, w.QuoteNano, w.Recipient = q.Username, q.Stars, q.PriceNano, q.Recipient
		w.QuotedAt, w.Edited = nil, true
		if q.PriceNano > 0 {
			w.QuotedAt = &w.Now
		}
		if err := w.notePrice(ctx, q); err != nil {
			return err
		}
		return w.DB.QueryRow(ctx, `SELECT (SELECT id FROM users
			WHERE username = $1)`, account.PlainUsername(q.Username)).Scan(&w.UserID)
	})
}

// notePrice keeps what the fewest Stars cost now, for the monitor: a transfer that cannot buy them is no order. Small moves are
// not written.
func (w *writing) notePrice(ctx context.Context, q Quote) error {
	if q.PriceNano == 0 || q.Stars == 0 {
		return nil
	}
	least, err := money.Nano(q.PriceNano).MulDiv(stars.Least, q.Stars)
	if err != nil || int64(least)-w.LeastNano < w.LeastNano/50 && w.LeastNano-int64(least) < w.LeastNano/50 {
		return nil //nolint:nilerr // a price that is too large to compute with stays unknown
	}
	_, err = w.DB.Exec(ctx, `UPDATE ton_wallets SET least_nano = $2 WHERE address = $1`, w.Address, least)
	return err
}

// Finish ends a transaction as processed, with the hash of the purchase, which must be paid and kept. A
// transaction that needs review stays as it is: only a person ends that.
//
// done says that the session's last purchase is done, as Fragment said after the last read of the payment. Without a
// proof that the Stars of this purchase are sent it is refused with PAYMENT_UNDECIDED.
func (s *Store) Finish(ctx context.Context, hash string, attempt int, done bool) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if !w.during(attempt) {
			return nil
		}

		err := w.Take(TransactionStep{Action: lifecycle.TransactionActionFinish})
		if w.NeedsReview {
			return passedOver(err)
		}
		if err != nil {
			return err
		}
		if err := w.prove(ctx, done); err != nil {
			return err
		}

		return w.end(ctx, lifecycle.TransactionFinished)
	})
}

// prove records why the Stars of the purchase count as sent. While its request is the last of the session, what
// Fragment says of the last one is about it. Later that says nothing: then the chain shows that Fragment's account has
// kept exactly what was asked for, in time, and Fragment has taken the confirmation.
func (w *writing) prove(ctx context.Context, done bool) error {
	proven, err := core.Values[string](ctx, w.DB, `UPDATE payments SET proof = CASE WHEN `+isLast+` THEN 'shop' ELSE 'chain' END
		WHERE id = $1 AND CASE WHEN `+isLast+` THEN $2 ELSE `+ownProof+` END RETURNING proof`, w.Purchase.ID, done)
	if err == nil && len(proven) == 0 {
		err = fault.New(fault.PaymentUndecided, "nothing proves that the Stars are sent").Retry()
	}
	return err
}

// ownProof is true of a paid purchase that proves itself.
const ownProof = `coalesce(kept_at IS NOT NULL AND arrived_at <= link_until AND confirmed_at IS NOT NULL AND paid_nano = amount_nano, false)`

// Failure is why a transaction failed.
type Failure struct {
	Hash    string
	Attempt int
	Message string // for people, in the spelling of the specification
	Class   lifecycle.ErrorClass
	Refund  bool // owe the amount to the sender, when the class is non-retryable
	Retry   RetryPolicy
}

// Fail ends the attempt: processing becomes failed, and the wallet's turn is free. It is refused while
// a purchase is signed or paid: then only the chain, or a person, decides. A transaction that needs review stays as it
// is: an unknown outcome must neither be retried nor refunded.
func (s *Store) Fail(ctx context.Context, f Failure) (Snapshot, error) {
	return s.write(ctx, f.Hash, func(w *writing) error {
		if !w.during(f.Attempt) {
			return nil
		}
		if err := w.Take(TransactionStep{Action: lifecycle.TransactionActionFail, Comment: f.Message}); err != nil {
			return passedOver(err)
		}

		w.ErrorClass = f.Class

		var err error
		switch {
		case f.Class != lifecycle.NonRetryable:
			err = w.planRetry(ctx, f.Retry)
		case f.Refund:
			err = w.oweDeposit(ctx)
		}

		if err != nil {
			return err
		}
		return w.end(ctx, lifecycle.TransactionFailure)
	})
}

// oweDeposit sets aside everything that the sender has paid, unless that was done before, or the purchase may have
// spent it.
func (w *writing) oweDeposit(ctx context.Context) error {
	if w.spent() {
		return nil
	}

	cause := "due/" + w.Hash
	due, err := core.Value[bool](ctx, w.DB, `SELECT EXISTS (SELECT 1 FROM ledger_entries WHERE cause = $1)`, cause)
	if err != nil || due {
		return err
	}
	return w.owe(ctx, cause, w.AmountNano)
}

// owe sets money aside that goes back to the sender.
func (w *writing) owe(ctx context.Context, cause string, nano int64) error {
	w.RefundDueNano += nano
	return post(ctx, w.DB, w.Address, &w.Hash, cause, amounts{AccountReceived: nano, AccountRefundDue: -nano})
}

// Review requests a person's review of a transaction in processing; reason is a word for machines. The first
// reason stays.
func (s *Store) Review(
	ctx context.Context, hash string, attempt int, reason string,
) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if !w.during(attempt) {
			return nil
		}
		return w.review(ctx, reason)
	})
}

// review sets the review, whatever the status. Nothing is signed until a person has checked it.
func (w *writing) review(ctx context.Context, reason string) error {
	if w.NeedsReview {
		return nil
	}
	if err := w.Take(TransactionStep{Action: lifecycle.TransactionActionReview, Comment: reason}); err != nil {
		return err
	}
	return nil
}

// MarkStuck records, once for each time that processing is entered, that a transaction is in it for too long. It
// returns true while that is so: people should be notified.
func (s *Store) MarkStuck(ctx context.Context, hash string, attempt int) (stuck bool, err error) {
	_, err = s.write(ctx, hash, func(w *writing) error {
		if stuck = w.during(attempt); stuck && w.StuckAlertedAt == nil {
			w.StuckAlertedAt = &w.Now
			w.Note(lifecycle.TransactionStuck)
		}
		return nil
	})
	return stuck, err
}
