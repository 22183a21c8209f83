package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// Writes by the system name the attempt that they are about: a late repeat of an older one changes nothing. Each write
// gives where the record stands afterwards, so that who repeats it, or comes late, reads there what became of it.
// People are told by INVALID_TRANSITION what the status does not allow; PAYMENT_UNDECIDED is for all where a payment
// forbids it.

// writing is one database transaction that may change a transaction. It holds the lock of the wallet, so that nobody
// else changes any payment, turn or balance of it meanwhile.
type writing struct {
	tx pgx.Tx
	lockedWallet
	Transaction
	event    Event    // of the rule that was taken, until it is saved
	purchase *Payment // that may have moved money, or has, when the table was asked last; nil: nothing was bought
	news     bool     // the next event is one that the user is told of
}

// TransactionStep is one action that moves a transaction.
type TransactionStep = Step[lifecycle.TransactionState, lifecycle.TransactionAction]

// write lets change do its work under the wallet's lock and gives where the record stands then.
func (s *Store) write(
	ctx context.Context, hash string, change func(w *writing) error,
) (standing TransactionSnapshot, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		w, err := writeIn(ctx, tx, hash)
		if err != nil {
			return err
		}
		if err := change(w); err != nil {
			return err
		}
		standing, err = snapshotOf(ctx, tx, w.Transaction)
		return err
	})

	return standing, err
}

func writeIn(ctx context.Context, tx pgx.Tx, hash string) (*writing, error) {
	t, err := transactionIn(ctx, tx, hash)
	if err != nil {
		return nil, err
	}
	wallet, err := lockWallet(ctx, tx, t.Wallet)
	if err != nil {
		return nil, err
	}
	t, err = transactionIn(ctx, tx, hash) // as it is now that the lock is ours
	return &writing{tx: tx, lockedWallet: wallet, Transaction: t}, err
}

// during says whether the transaction is still in processing, in that attempt.
func (w *writing) during(attempt int) bool {
	return w.State == lifecycle.TransactionProcessing && w.Attempt == attempt
}

// take asks the table whether a step is allowed by what the record has now, and takes it. What it does to the row is
// written by the caller, before save.
func (w *writing) take(ctx context.Context, step TransactionStep) error {
	facts, err := w.facts(ctx)
	if err != nil {
		return err
	}

	event, to, err := move(lifecycle.Transaction, w.State, step, facts)
	if err != nil {
		return err
	}

	w.event, w.State = event, to
	return nil
}

// passedOver is what the system is told whose step the table does not allow: the record is ahead, and tells where it
// stands.
func passedOver(err error) error {
	if fault.CodeOf(err) == fault.InvalidTransition {
		return nil
	}
	return err
}

// facts are what the guards of the table look at: the row, and the purchase that may have moved money.
func (w *writing) facts(ctx context.Context) (lifecycle.TransactionFacts, error) {
	var err error
	if w.purchase, err = w.spent(ctx); err != nil {
		return lifecycle.TransactionFacts{}, err
	}

	facts := w.Facts()
	facts.Paid = w.ReviewReason == ReviewLost // the operator names the payment
	if p := w.purchase; p != nil {
		facts.Signed, facts.Paid, facts.Kept = p.State == PaymentSigned, p.State == PaymentPaid, p.KeptAt != nil
	}
	return facts, nil
}

// note records a fact that leaves the state as it is.
func (w *writing) note(ctx context.Context, event string) error {
	w.event = noteOf(w.State, event)
	return w.save(ctx)
}

// save writes the row, the event of the step that was taken, and what follows from it.
func (w *writing) save(ctx context.Context) error {
	e := w.event
	w.RowVersion++
	batch := &pgx.Batch{}
	queueNamedEvent(batch, lifecycle.WorkloadTransaction, w.Hash, w.RowVersion, w.UserID, e)
	w.queueRow(batch)
	if w.news && w.UserID != nil {
		queueNotice(batch, TransactionNotices, w.Hash, w.RowVersion, *w.UserID, e.ActorID, 0)
	}
	w.news = false
	return w.tx.SendBatch(ctx, batch).Close()
}

func (w *writing) queueRow(batch *pgx.Batch) {
	batch.Queue(`UPDATE transactions SET username = $2, user_id = $3, stars = $4, quote_nano = $5, recipient = $6, status = $7, attempt = $8,
		error_message = $9, error_class = $10, fragment_transaction_hash = $11, refund_due_nano = $12, needs_review = $13,
		review_reason = $14, processing_since = $15, stuck_alerted_at = $16, row_version = $17, updated_at = $18, refund_approved = $19, dust_nano = $20,
		retry_of = $21, failing_since = $22, retries = $23, retry_at = $24, given_up_at = $25
		WHERE hash = $1`,
		w.Hash, w.Username, w.UserID, w.Stars, w.QuoteNano, w.Recipient, w.State, w.Attempt, w.ErrorMessage, w.ErrorClass,
		w.FragmentTransactionHash, w.RefundDueNano, w.NeedsReview, w.ReviewReason, w.ProcessingSince, w.StuckAlertedAt, w.RowVersion, w.now,
		w.RefundApproved, w.DustNano, w.RetryOf, w.FailingSince, w.Retries, w.RetryAt, w.GivenUpAt)
}

// process writes that processing is entered.
func (w *writing) process(ctx context.Context) error {
	w.Attempt++
	w.ProcessingSince, w.StuckAlertedAt = &w.now, nil
	w.ErrorMessage, w.ErrorClass = "", ""
	return w.save(ctx)
}

// end writes that processing was left: the review is over and the place in the queue free.
func (w *writing) end(ctx context.Context) error {
	var err error
	if w.news, err = w.isNews(ctx); err != nil {
		return err
	}

	w.NeedsReview, w.ReviewReason = false, ""
	if err := w.save(ctx); err != nil {
		return err
	}
	return w.passTurn(ctx, Purchase, Refund)
}

// isNews says whether the user is told of an end. Of failures that may pass only the first one is news: an operator
// tries again as often as it takes.
func (w *writing) isNews(ctx context.Context) (news bool, err error) {
	if w.UserID == nil || w.State != lifecycle.TransactionFailed || w.ErrorClass == lifecycle.NonRetryable {
		return w.UserID != nil, nil
	}
	err = w.tx.QueryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM events WHERE workload = $1 AND entity_id = $2 AND type = $3)`,
		lifecycle.WorkloadTransaction, w.Hash, lifecycle.TransactionFailure).Scan(&news)
	return news, err
}

// spent finds the purchase that may have moved money, or has; nil: nothing was bought.
func (w *writing) spent(ctx context.Context) (*Payment, error) {
	found, err := listIn[Payment](ctx, w.tx, `SELECT `+paymentColumns+` FROM payments
		WHERE transaction_hash = $1 AND kind = 'purchase' AND state IN ('signed', 'paid') ORDER BY state = 'signed' DESC, id DESC LIMIT 1`, w.Hash)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// nothingSpent refuses what must not be while a purchase may have moved money.
func (w *writing) nothingSpent(ctx context.Context) error {
	spent, err := w.spent(ctx)
	if err == nil && spent != nil {
		err = undecided(*spent)
	}
	return err
}

func undecided(p Payment) error {
	return fault.New(fault.PaymentUndecided, "a %s of this transaction is %s", p.Kind, p.State).With("state", p.State)
}

func (w *writing) impossible(action lifecycle.TransactionAction, why string) error {
	return fault.New(fault.InvalidTransition, "transaction is %s: %s is not possible: %s", w.State, action, why).
		With("current", w.State).With("requested", action)
}

// LockTransaction takes a pending transaction into processing, as attempt 1. Any other it leaves as it is.
func (s *Store) LockTransaction(ctx context.Context, hash string) (TransactionSnapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if err := w.take(ctx, TransactionStep{Action: lifecycle.TransactionActionLock}); err != nil {
			return passedOver(err)
		}
		return w.process(ctx)
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

// SaveQuote keeps what was found out about an order: all of it, or as much as there is before the order is refused. It
// moves no money. Once a purchase is signed the order stays as it is.
func (s *Store) SaveQuote(ctx context.Context, q Quote) (TransactionSnapshot, error) {
	return s.write(ctx, q.Hash, func(w *writing) error {
		spent, err := w.spent(ctx)
		if err != nil || spent != nil || !w.during(q.Attempt) {
			return err
		}

		w.Username, w.Stars, w.QuoteNano, w.Recipient = q.Username, q.Stars, q.PriceNano, q.Recipient
		err = w.tx.QueryRow(
			ctx, `SELECT (SELECT id FROM users WHERE username = $1)`, plainUsername(q.Username),
		).Scan(&w.UserID)
		if err != nil {
			return err
		}

		batch := &pgx.Batch{}
		w.queueRow(batch)
		return w.tx.SendBatch(ctx, batch).Close()
	})
}

// FinishTransaction ends a transaction as processed, with the hash of the purchase, which must be paid and kept. One
// that needs review stays as it is: only a person ends that.
func (s *Store) FinishTransaction(ctx context.Context, hash string, attempt int) (TransactionSnapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if !w.during(attempt) {
			return nil
		}

		err := w.take(ctx, TransactionStep{Action: lifecycle.TransactionActionFinish})
		if fault.CodeOf(err) == fault.PaymentUndecided && w.purchase == nil {
			return w.impossible(lifecycle.TransactionActionFinish, "nothing was bought")
		}
		if err != nil {
			return passedOver(err)
		}

		w.FragmentTransactionHash = w.purchase.ChainHash
		return w.end(ctx)
	})
}

// Failure says why a transaction failed.
type Failure struct {
	Hash    string
	Attempt int
	Message string // for people, spelled as the specification spells it
	Class   lifecycle.ErrorClass
	Refund  bool // owe the amount to the sender, when the class is non-retryable
	Retry   RetryPolicy
}

// FailTransaction ends the try: processing becomes failed, and the place in the queue is free. It is refused while a
// purchase is signed or paid: then only the chain, or a person, leads on. One that needs review stays as it is: what
// nobody knows the outcome of must not become one that may be tried again, or is given back.
func (s *Store) FailTransaction(ctx context.Context, f Failure) (TransactionSnapshot, error) {
	return s.write(ctx, f.Hash, func(w *writing) error {
		if !w.during(f.Attempt) {
			return nil
		}
		if err := w.take(ctx, TransactionStep{Action: lifecycle.TransactionActionFail, Comment: f.Message}); err != nil {
			return passedOver(err)
		}

		w.ErrorMessage, w.ErrorClass = f.Message, f.Class
		if f.Refund && f.Class == lifecycle.NonRetryable {
			if err := w.oweDeposit(ctx); err != nil {
				return err
			}
		}

		if f.Class != lifecycle.NonRetryable {
			w.planRetry(f.Retry)
		}

		if err := w.end(ctx); err != nil {
			return err
		}
		return w.noteGivenUp(ctx)
	})
}

// oweDeposit sets aside all that the sender has paid, unless that was done before, or the purchase may have cost it.
func (w *writing) oweDeposit(ctx context.Context) error {
	spent, err := w.spent(ctx)
	if err != nil || spent != nil {
		return err
	}
	cause, due := "due/"+w.Hash, false
	err = w.tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM ledger_entries WHERE cause = $1)`, cause).Scan(&due)
	if err != nil || due {
		return err
	}
	return w.owe(ctx, cause, w.AmountNano)
}

// owe sets money aside that goes back to the sender.
func (w *writing) owe(ctx context.Context, cause string, nano int64) error {
	w.RefundDueNano += nano
	return post(ctx, w.tx, w.Address, &w.Hash, cause, amounts{AccountReceived: nano, AccountRefundDue: -nano})
}

// TransactionRequest is what a person wants of a transaction.
type TransactionRequest struct {
	Hash    string
	Attempt int    // that the request is about
	ActorID *int64 // nil: an operator whom we do not know
	Comment string
	Payment string // the hash on the chain of the lost payment that bought it; for ResolveTransaction
	Refund  bool   // owe the amount to the sender, when it is resolved as failed for good and nothing was spent
	// RequestID is a Request's ID, under whose key the answer is kept in the same transaction; anything else keeps none.
	RequestID string
	System    bool // it is the system's, as it was planned; for RetryTransaction
}

// step is the action that is asked for, by whom.
func (r TransactionRequest) step(action lifecycle.TransactionAction, to lifecycle.TransactionState) TransactionStep {
	step := TransactionStep{Action: action, To: to, Actor: r.ActorID, Comment: r.Comment}
	if !r.System {
		step.Roles = lifecycle.Administrators
	}
	return step
}

// RetryTransaction takes a failed transaction back into processing, as the next attempt. It is refused for a
// non-retryable failure, and while a purchase is signed or paid. The same request again changes nothing, and so does
// the system's when that is not planned any more.
func (s *Store) RetryTransaction(ctx context.Context, r TransactionRequest) (TransactionSnapshot, error) {
	return s.write(ctx, r.Hash, func(w *writing) error {
		if r.System {
			if due, err := w.retryBySystem(ctx, r.Attempt); err != nil || !due {
				return err
			}
		}

		switch {
		case w.during(r.Attempt + 1):
			return nil
		case w.Attempt != r.Attempt:
			return w.impossible(lifecycle.TransactionActionRetry, "it has not failed in this attempt")
		}

		if err := w.take(ctx, r.step(lifecycle.TransactionActionRetry, "")); err != nil {
			return err
		}

		w.startRetry(r.System)
		if err := w.process(ctx); err != nil || r.System {
			return err
		}
		return w.fulfil(ctx, r, lifecycle.TransactionActionRetry, "")
	})
}

// ReviewTransaction asks for a person to look at a transaction in processing; reason is a word for machines. The first
// reason stays.
func (s *Store) ReviewTransaction(
	ctx context.Context, hash string, attempt int, reason string,
) (TransactionSnapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if !w.during(attempt) {
			return nil
		}
		if err := w.review(ctx, reason); err != nil {
			return err
		}
		_, err := grantNext(ctx, w.tx, w.lockedWallet)
		return err
	})
}

// review raises the flag, whatever the status. Until a person has looked nothing is signed, so a turn would be wasted.
func (w *writing) review(ctx context.Context, reason string) error {
	if w.NeedsReview {
		return nil
	}
	if err := w.take(ctx, TransactionStep{Action: lifecycle.TransactionActionReview, Comment: reason}); err != nil {
		return err
	}

	w.NeedsReview, w.ReviewReason, w.RetryAt = true, reason, nil
	if err := w.leave(ctx, Purchase, Refund); err != nil {
		return err
	}
	return w.save(ctx)
}

// MarkStuck records once for each time that processing is entered that a transaction is in it for too long. It is true
// while that is so: people should be told.
func (s *Store) MarkStuck(ctx context.Context, hash string, attempt int) (stuck bool, err error) {
	_, err = s.write(ctx, hash, func(w *writing) error {
		if stuck = w.during(attempt); !stuck || w.StuckAlertedAt != nil {
			return nil
		}
		w.StuckAlertedAt = &w.now
		return w.note(ctx, lifecycle.TransactionStuck)
	})
	return stuck, err
}
