package transaction

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Writes by the system identify their attempt: a late repetition of an older attempt changes nothing. Each write
// returns the record's resulting snapshot, from which a repeated or late caller reads the outcome. INVALID_TRANSITION
// answers people if the status forbids an action; PAYMENT_UNDECIDED answers all callers if a payment forbids it.

// lockedTransaction is a transaction whose wallet is locked: no other writer changes any payment, claim or balance of
// that wallet meanwhile.
type lockedTransaction struct {
	Transaction
	lockedWallet
	notified []string // types of this change's events of which the user is notified
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
		`SELECT ` + transactionColumns + `, w.*, clock_timestamp() AS now FROM transactions
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

func process(t *lockedTransaction, _ TransactionStep) {
	t.Attempt++
	t.ProcessingSince, t.StuckAlertedAt, t.TakenBy = &t.Now, nil, ""
	t.ErrorMessage, t.ErrorClass = "", ""
	t.endRetries()
}

// keepPurchase names the payment that bought the Stars.
func keepPurchase(t *lockedTransaction, _ TransactionStep) {
	t.FragmentTransactionHash = t.Purchase.ChainHash
}

// keepError takes the message from the event.
func keepError(t *lockedTransaction, step TransactionStep) { t.ErrorMessage = step.Comment }

// openReview sets the review and ends the system's retries.
func openReview(t *lockedTransaction, step TransactionStep) {
	if t.Attempt == 0 { // it was queued
		process(t, step)
	}
	t.NeedsReview, t.ReviewReason = true, step.Comment
	t.endRetries()
}

func closeReview(t *lockedTransaction) { t.NeedsReview, t.ReviewReason = false, "" }

// dropDebt clears the debt, and ends a review that was only about it.
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
		stopped_before = $21, taken_by = $22, failures = $23, retry_at = $24, given_up_at = $25, deposit_confirmed_at = $26, quoted_at = $27,
		deferred_at = $28, deferred_until = $29
		WHERE hash = $1`,
		t.Hash, t.Username, t.UserID, t.Stars, t.QuoteNano, t.Recipient, t.State, t.Attempt, t.ErrorMessage, t.ErrorClass,
		t.FragmentTransactionHash, t.RefundDueNano, t.NeedsReview, t.ReviewReason, t.ProcessingSince, t.StuckAlertedAt, t.RowVersion, t.Now,
		t.RefundApproved, t.DustNano, t.StoppedBefore, t.TakenBy, t.Failures, t.RetryAt, t.GivenUpAt, t.DepositConfirmedAt,
		t.QuotedAt, t.DeferredAt, t.DeferredUntil)

	read(batch, &t.Transaction, noTransaction, byHash, t.Hash)
}

// writing is one change of a transaction. Statements about payments, claims and the ledger are sent at once; the row
// and events follow at its end.
type writing struct {
	*transactionWalk
	*lockedTransaction
}

// write changes a transaction and returns its snapshot afterwards.
func (s *Store) write(
	ctx context.Context, hash string, decide func(w *writing) error,
) (Snapshot, error) {
	return s.writeFor(ctx, hash, core.Asked{}, decide)
}

// writeFor is write for a request, which is decided once.
func (s *Store) writeFor(
	ctx context.Context, hash string, asked core.Asked, decide func(w *writing) error,
) (Snapshot, error) {
	t, err := core.ChangeFor(ctx, s.db, transactions, hash, asked, func(walk *transactionWalk) error {
		return decide(&writing{walk, walk.Row})
	})
	if err != nil {
		return Snapshot{}, err
	}
	return t.Snapshot(), nil
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

// passedOver is the answer to the system if the table does not allow its step: the record is ahead, and the snapshot
// shows how far.
func passedOver(err error) error {
	if fault.CodeOf(err) == fault.InvalidTransition {
		return nil
	}
	return err
}

// end lets other orders make requests, and plans the user's notification of the event that ended an attempt. Of
// retryable failures only the first one is notified.
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
	return w.closeRequest(ctx)
}

// failedBefore reports whether the transaction had failed before this change, and whether the system had given up on
// it. It is false for a transaction without a user, because there is nobody to notify.
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

// FailPending fails a queued order that cannot be executed, with the table's two steps in one change. Any other
// transaction stays as it is.
func (s *Store) FailPending(ctx context.Context, f Failure) (Snapshot, error) {
	return s.write(ctx, f.Hash, func(w *writing) error {
		if err := w.Take(TransactionStep{Action: lifecycle.TransactionActionLock}); err != nil {
			return passedOver(err)
		}
		return w.fail(ctx, f)
	})
}

// Finish ends a transaction as processed, with the hash of its purchase, which must be paid and kept. A transaction
// that needs review stays as it is: only a person ends that.
//
// done means that the session's last purchase is done, according to Fragment after the last read of the payment.
// Without a proof that this purchase's Stars were sent it is refused with PAYMENT_UNDECIDED.
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

		// While its request is the session's last, Fragment's report about the last one concerns it. Afterwards that report
		// proves nothing: instead the chain shows that Fragment's account has kept exactly the requested amount, in time, and
		// Fragment has accepted the confirmation.
		proven, err := core.Values[string](ctx, w.DB, `UPDATE payments SET proof = CASE WHEN `+isLast+` THEN 'shop' ELSE 'chain' END
			WHERE id = $1 AND CASE WHEN `+isLast+` THEN $2 ELSE `+ownProof+` END RETURNING proof`, w.Purchase.ID, done)
		if err != nil {
			return err
		}
		if len(proven) == 0 {
			return fault.New(fault.PaymentUndecided, "there is no proof that the Stars were sent").Retry()
		}

		return w.end(ctx, lifecycle.TransactionFinished)
	})
}

// ownProof is true of a paid purchase that proves itself.
const ownProof = `coalesce(kept_at IS NOT NULL AND arrived_at <= link_until AND confirmed_at IS NOT NULL AND paid_nano = amount_nano, false)`

// Failure is why a transaction failed.
type Failure struct {
	Claim          // of the failed attempt
	Message string // for people, as spelled in the specification
	Class   lifecycle.ErrorClass
	Refund  bool // owe the amount to the sender if the class is non-retryable
	Retry   RetryPolicy
}

// Fail ends an attempt to buy, begun or not: the order becomes failed. It is refused while a purchase is signed or
// paid: only the chain, or a person, decides then. A transaction that needs review stays as it is, because an unknown
// outcome must neither be retried nor refunded. So does one held by another attempt.
func (s *Store) Fail(ctx context.Context, f Failure) (Snapshot, error) {
	return s.write(ctx, f.Hash, func(w *writing) error {
		if !w.has(f.Claim) || w.State == lifecycle.TransactionProcessed {
			return nil
		}
		if err := w.enter(); err != nil {
			return passedOver(err)
		}
		return w.fail(ctx, f)
	})
}

// fail is Fail for an order in processing.
func (w *writing) fail(ctx context.Context, f Failure) error {
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
}

// Stop fails a transaction whatever its attempt, like Fail; a pending one is locked with the same change. The system
// does not retry one that has already failed: an operator has ended its workflow, and needs no notification.
func (s *Store) Stop(ctx context.Context, f Failure) (Snapshot, error) {
	return s.write(ctx, f.Hash, func(w *writing) error {
		if err := passedOver(w.Take(TransactionStep{Action: lifecycle.TransactionActionLock})); err != nil {
			return err
		}

		if w.State == lifecycle.TransactionProcessing {
			return w.fail(ctx, f)
		}
		if w.RetryAt != nil || w.GivenUpAt != nil {
			w.endRetries()
			w.Edited = true // without an event: the state stays
		}
		return nil
	})
}

// oweDeposit sets aside everything that the sender paid, unless that was done before, or the purchase may have spent
// it.
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

// owe sets aside money that goes back to the sender.
func (w *writing) owe(ctx context.Context, cause string, nano int64) error {
	w.RefundDueNano += nano
	return post(ctx, w.DB, w.Address, &w.Hash, cause, amounts{AccountReceived: nano, AccountRefundDue: -nano})
}

// Review requests a review of a transaction in processing; reason is a machine-readable word. The first reason stays.
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

// review requests the review, whatever the status. Nothing is signed until a person has checked the transaction.
func (w *writing) review(ctx context.Context, reason string) error {
	if w.NeedsReview {
		return nil
	}
	if err := w.Take(TransactionStep{Action: lifecycle.TransactionActionReview, Comment: reason}); err != nil {
		return err
	}
	return nil
}

// MarkStuck records, once per entry into processing, that a transaction has been in it for longer than a time, and that
// people should be notified. Pauses and holds do not count. later is when to check again; 0: it is stuck.
func (s *Store) MarkStuck(ctx context.Context, hash string, after time.Duration) (later time.Duration, err error) {
	later, err = core.Value[time.Duration](ctx, s.db, `SELECT CASE WHEN `+isProcessing+` AND NOT EXISTS (SELECT FROM switches WHERE since IS NOT NULL)
		THEN greatest($2::interval - `+processingFor+`, '0') ELSE $2 END FROM transactions WHERE hash = $1`, hash, after)
	if err != nil || later > 0 {
		return later, err
	}

	_, err = s.write(ctx, hash, func(w *writing) error {
		if w.State == lifecycle.TransactionProcessing && w.StuckAlertedAt == nil {
			w.StuckAlertedAt = &w.Now
			w.Note(lifecycle.TransactionStuck)
		}
		return nil
	})
	return 0, err
}
