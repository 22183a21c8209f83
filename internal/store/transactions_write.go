package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// Writes by the system name the attempt that they are about: a late repeat of an older one changes nothing. Each write gives
// where the record stands afterwards, so that who repeats it, or comes late, reads there what became of it. People are told by
// INVALID_TRANSITION what the status does not allow; PAYMENT_UNDECIDED is for all where a payment forbids it.

// writing is one database transaction that may change a transaction. It holds the lock of the wallet, so that nobody else
// changes any payment, turn or balance of it meanwhile.
type writing struct {
	tx pgx.Tx
	lockedWallet
	Transaction
	news bool // the next event is one that the user is told of
}

// write lets change do its work under the wallet's lock and gives where the record stands then.
func (s *Store) write(ctx context.Context, hash string, change func(w *writing) error) (standing TransactionSnapshot, err error) {
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

// become changes the status and records it.
func (w *writing) become(ctx context.Context, to lifecycle.TransactionState, e Event) error {
	e.From, e.To = string(w.State), string(to)
	w.State = to
	return w.save(ctx, e)
}

// note records a fact that leaves the status as it is.
func (w *writing) note(ctx context.Context, event string) error {
	return w.save(ctx, Event{Type: event, From: string(w.State), To: string(w.State)})
}

func (w *writing) save(ctx context.Context, e Event) error {
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

// process enters processing.
func (w *writing) process(ctx context.Context, e Event) error {
	w.Attempt++
	w.ProcessingSince, w.StuckAlertedAt = &w.now, nil
	w.ErrorMessage, w.ErrorClass = "", ""
	return w.become(ctx, lifecycle.TransactionProcessing, e)
}

// end leaves processing: the review is over and the place in the queue free.
func (w *writing) end(ctx context.Context, to lifecycle.TransactionState, e Event) error {
	var err error
	if w.news, err = w.isNews(ctx, to); err != nil {
		return err
	}
	w.NeedsReview, w.ReviewReason = false, ""
	if err := w.become(ctx, to, e); err != nil {
		return err
	}
	return w.passTurn(ctx, Purchase, Refund)
}

// isNews says whether the user is told of an end. Of failures that may pass only the first one is news: an operator tries again
// as often as it takes.
func (w *writing) isNews(ctx context.Context, to lifecycle.TransactionState) (news bool, err error) {
	if w.UserID == nil || to != lifecycle.TransactionFailed || w.ErrorClass == lifecycle.NonRetryable {
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
		if w.State != lifecycle.TransactionPending {
			return nil
		}
		return w.process(ctx, Event{Type: lifecycle.TransactionLocked})
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
		err = w.tx.QueryRow(ctx, `SELECT (SELECT id FROM users WHERE username = $1)`, plainUsername(q.Username)).Scan(&w.UserID)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		w.queueRow(batch)
		return w.tx.SendBatch(ctx, batch).Close()
	})
}

// FinishTransaction ends a transaction as processed, with the hash of the purchase, which must be paid and kept. One that needs
// review stays as it is: only a person ends that.
func (s *Store) FinishTransaction(ctx context.Context, hash string, attempt int) (TransactionSnapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if !w.during(attempt) {
			return nil
		}
		spent, err := w.spent(ctx)
		switch {
		case err != nil:
			return err
		case spent == nil:
			return w.impossible(lifecycle.TransactionActionFinish, "nothing was bought")
		case spent.KeptAt == nil:
			return undecided(*spent)
		case w.NeedsReview:
			return nil
		}
		w.FragmentTransactionHash = spent.ChainHash
		return w.end(ctx, lifecycle.TransactionProcessed, Event{Type: lifecycle.TransactionFinished})
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
// purchase is signed or paid: then only the chain, or a person, leads on. One that needs review stays as it is: what nobody
// knows the outcome of must not become one that may be tried again, or is given back.
func (s *Store) FailTransaction(ctx context.Context, f Failure) (TransactionSnapshot, error) {
	return s.write(ctx, f.Hash, func(w *writing) error {
		if !w.during(f.Attempt) {
			return nil
		}
		if err := w.nothingSpent(ctx); err != nil || w.NeedsReview {
			return err
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
		if err := w.end(ctx, lifecycle.TransactionFailed, Event{Type: lifecycle.TransactionFailure, Comment: f.Message}); err != nil {
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

// RetryTransaction takes a failed transaction back into processing, as the next attempt. It is refused for a non-retryable
// failure, and while a purchase is signed or paid. The same request again changes nothing, and so does the system's when that is
// not planned any more.
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
		case w.State != lifecycle.TransactionFailed || w.Attempt != r.Attempt:
			return w.impossible(lifecycle.TransactionActionRetry, "it has not failed in this attempt")
		case w.ErrorClass == lifecycle.NonRetryable:
			return w.impossible(lifecycle.TransactionActionRetry, "the failure is non-retryable")
		}
		if err := w.nothingSpent(ctx); err != nil {
			return err
		}
		w.startRetry(r.System)
		if err := w.process(ctx, Event{Type: lifecycle.TransactionRetried, ActorID: r.ActorID, Comment: r.Comment}); err != nil || r.System {
			return err
		}
		return w.fulfil(ctx, r, lifecycle.TransactionActionRetry, "")
	})
}

// ReviewTransaction asks for a person to look at a transaction in processing; reason is a word for machines. The first
// reason stays.
func (s *Store) ReviewTransaction(ctx context.Context, hash string, attempt int, reason string) (TransactionSnapshot, error) {
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
	w.NeedsReview, w.ReviewReason, w.RetryAt = true, reason, nil
	if err := w.leave(ctx, Purchase, Refund); err != nil {
		return err
	}
	return w.save(ctx, Event{Type: lifecycle.TransactionReviewed, From: string(w.State), To: string(w.State), Comment: reason})
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
