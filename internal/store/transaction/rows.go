package transaction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Transaction is the record of one incoming transfer and of the Stars that it buys. Amounts are in nanoTON.
type Transaction struct {
	ID         int64  `db:"id"`
	Hash       string `db:"hash"` // of the incoming transaction, lower-case hex
	Wallet     string `db:"wallet"`
	LT         int64  `db:"lt"`
	AmountNano int64  `db:"amount_nano"`
	Sender     string `db:"sender"` // raw address
	// as written by the sender; only for the parser
	Comment                 string                     `db:"comment"`
	Username                string                     `db:"username"` // the recipient of the Stars
	UserID                  *int64                     `db:"user_id"`  // the recipient as a user, if known
	Stars                   int64                      `db:"stars"`
	QuotedAt                *time.Time                 `db:"quoted_at"`   // nil: not yet priced
	ReceiptKey              string                     `db:"receipt_key"` // grants access to the receipt
	QuoteNano               int64                      `db:"quote_nano"`  // 0: not yet priced
	Recipient               string                     `db:"recipient"`   // Fragment's name for the username
	State                   lifecycle.TransactionState `db:"status"`
	Attempt                 int                        `db:"attempt"` // attempts to buy so far
	ErrorMessage            string                     `db:"error_message"`
	ErrorClass              lifecycle.ErrorClass       `db:"error_class"`
	FragmentTransactionHash string                     `db:"fragment_transaction_hash"` // of our payment on the chain
	// owed to the sender and not in transit
	RefundDueNano int64 `db:"refund_due_nano"`
	// an operator has allowed a refund above the limits
	RefundApproved bool `db:"refund_approved"`
	// was owed, but kept: the transfer would cost more than its amount
	DustNano        int64      `db:"dust_nano"`
	NeedsReview     bool       `db:"needs_review"`
	ReviewReason    string     `db:"review_reason"`
	ProcessingSince *time.Time `db:"processing_since"` // when it was last entered, or begun after waiting in it
	// how long payments had been stopped in total by then
	StoppedBefore  time.Duration `db:"stopped_before"`
	StuckAlertedAt *time.Time    `db:"stuck_alerted_at"` // since ProcessingSince
	TakenBy        string        `db:"taken_by"`         // the activity attempt that buys; empty: none has begun
	// a person has reviewed the deposit
	DepositConfirmedAt *time.Time `db:"deposit_confirmed_at"`
	WorkflowStartedAt  *time.Time `db:"workflow_started_at"`
	CreatedAt          time.Time  `db:"created_at"`
	UpdatedAt          time.Time  `db:"updated_at"`
	RowVersion         int64      `db:"row_version"` // the number of its last event

	Failures  int        `db:"failures"`    // of the order itself; an operator's retry resets it
	RetryAt   *time.Time `db:"retry_at"`    // when the system retries a failed one; nil: it does not
	GivenUpAt *time.Time `db:"given_up_at"` // when an operator was notified instead

	DeferredAt    *time.Time `db:"deferred_at"`    // when the 24-hour limit first deferred its payment; nil: it fits
	DeferredUntil *time.Time `db:"deferred_until"` // when there will be room for it

	Purchase *LastPurchase `db:"purchase"` // one that may have moved money, or has; else the last one; nil: none
	Refund   *PaymentRef   `db:"refund"`   // the live one, else the last; nil: none
}

// LastPurchase is the purchase that decides which actions a transaction allows.
type LastPurchase struct {
	PaymentRef
	ChainHash string `json:"chain_hash"`
}

// WorkflowID is the id of the workflow that drives the transaction.
func (t Transaction) WorkflowID() string { return lifecycle.TransactionID(t.Hash) }

// Facts are the inputs of the table's guards.
func (t Transaction) Facts() lifecycle.TransactionFacts { return t.Snapshot().Facts() }

// WaitsFor is what the transaction waits for, or empty.
func (t Transaction) WaitsFor() string { return t.Snapshot().WaitsFor() }

// spent reports whether a purchase may have moved money, or has.
func (t Transaction) spent() bool {
	return t.Purchase != nil && (t.Purchase.State == PaymentSigned || t.Purchase.State == PaymentPaid)
}

// Snapshot is a transaction at one moment: everything that its workflow needs to continue, and no more than its history
// may contain.
type Snapshot struct {
	// Revision is the number of the row's last event.
	Revision int64                      `json:"revision"`
	State    lifecycle.TransactionState `json:"status"`
	Attempt  int                        `json:"attempt"` // attempts to buy so far; a write identifies its attempt by it
	UserID   *int64                     `json:"user_id,omitempty"`
	// a pseudonym, the same for all transfers of one sender
	Sender      string               `json:"sender,omitempty"`
	ErrorClass  lifecycle.ErrorClass `json:"error_class,omitempty"`
	Error       string               `json:"error,omitempty"` // its message
	NeedsReview bool                 `json:"needs_review,omitempty"`
	// … because of a payment unknown to the record
	Lost bool `json:"lost,omitempty"`
	// … and the order may continue after it
	MayGoOn   bool        `json:"may_go_on,omitempty"`
	Quoted    bool        `json:"quoted,omitempty"`
	Since     *time.Time  `json:"since,omitempty"`      // when processing was last entered
	Purchase  *PaymentRef `json:"purchase,omitempty"`   // one that may have moved money, or has; else the last one
	Refund    *PaymentRef `json:"refund,omitempty"`     // the live one, else the last
	RefundDue int64       `json:"refund_due,omitempty"` // nanoTON owed to the sender and not in transit
	// when the system retries a failed one; nil: it does not
	RetryAt *time.Time `json:"retry_at,omitempty"`
	// when the 24-hour limit has room for its payment; nil: it is not the cause
	DeferredUntil *time.Time `json:"deferred_until,omitempty"`
	GivenUp       bool       `json:"given_up,omitempty"` // of a failed one: an operator was notified
}

// Ended reports whether an attempt to execute the order has ended.
func (s Snapshot) Ended() bool {
	return s.State == lifecycle.TransactionProcessed || s.State == lifecycle.TransactionFailed
}

// Facts are the inputs of the table's guards. After a lost payment the operator names the payment that bought the
// Stars.
func (s Snapshot) Facts() lifecycle.TransactionFacts {
	purchase := PaymentRef{}
	if s.Purchase != nil {
		purchase = *s.Purchase
	}

	signed, paid := purchase.State == PaymentSigned, purchase.State == PaymentPaid
	return lifecycle.TransactionFacts{
		Class: s.ErrorClass, NeedsReview: s.NeedsReview, Owed: s.RefundDue > 0, MayGoOn: s.MayGoOn, Priced: s.Quoted,
		Planned: s.RetryAt != nil, Signed: signed, Paid: paid || s.Lost && !signed, Kept: purchase.Kept,
	}
}

// WaitsFor is what a transaction waits for, or empty. A signed payment comes first: the chain decides it, whatever else
// was requested.
func (s Snapshot) WaitsFor() string {
	is := func(p *PaymentRef, state PaymentState) bool { return p != nil && p.State == state }
	switch {
	case is(s.Purchase, PaymentSigned):
		return lifecycle.WaitsForPurchase
	case is(s.Refund, PaymentSigned):
		return lifecycle.WaitsForRefund
	case s.State == lifecycle.TransactionFailed && is(s.Refund, PaymentPaid) && !s.Refund.Kept:
		return lifecycle.WaitsForRefund
	case s.NeedsReview:
		return lifecycle.WaitsForOperator
	case s.State == lifecycle.TransactionProcessed:
		return ""
	case s.State != lifecycle.TransactionFailed:
		return lifecycle.WaitsForPurchase
	case s.RefundDue > 0:
		return lifecycle.WaitsForRefund
	case s.ErrorClass == lifecycle.NonRetryable:
		return ""
	case s.RetryAt != nil:
		return lifecycle.WaitsForRetry
	default:
		return lifecycle.WaitsForOperator
	}
}

var noTransaction = fault.New(fault.TransactionNotFound, "there is no such transaction")

var transactionColumns = `id, hash, wallet, lt, amount_nano, sender, comment, username, user_id, stars, quote_nano, recipient, status,
	attempt, error_message, error_class, fragment_transaction_hash, refund_due_nano, needs_review, review_reason, processing_since,
	quoted_at, receipt_key, stuck_alerted_at, workflow_started_at, created_at, updated_at, row_version, refund_approved, dust_nano,
	failures, retry_at, given_up_at, stopped_before, taken_by, deposit_confirmed_at, deferred_at, deferred_until,
	` + decidingPurchase + ` AS purchase, ` + decidingRefund + ` AS refund`

// decidingPurchase is the LastPurchase of a transaction.
var decidingPurchase = `(SELECT ` + paymentRef + ` || jsonb_build_object('chain_hash', p.chain_hash) FROM payments p
	WHERE p.transaction_hash = hash AND p.` + isPurchase + ` ORDER BY p.state IN ` + spentPayments + ` DESC, p.live DESC, p.id DESC LIMIT 1)`

// decidingRefund is the live refund of a transaction, else the last.
var decidingRefund = `(SELECT ` + paymentRef + ` FROM payments p
	WHERE p.transaction_hash = hash AND p.` + isRefund + ` ORDER BY p.live DESC, p.id DESC LIMIT 1)`

// paymentRef is the PaymentRef of payment p. The index payments_of finds a transaction's few payments.
const paymentRef = `jsonb_build_object('id', p.id, 'kind', p.kind, 'state', p.state, 'attempt', p.attempt, 'kept', p.kept_at IS NOT NULL)`

var byHash = `SELECT ` + transactionColumns + ` FROM transactions WHERE hash = $1`

func (s *Store) ByHash(ctx context.Context, hash string) (Transaction, error) {
	return core.One[Transaction](ctx, s.db, noTransaction, byHash, hash)
}

var noReceipt = fault.New(fault.ReceiptNotFound, "there is no such receipt")

// ByReceipt returns the transaction with a receipt key. Served by the index transactions_receipt.
func (s *Store) ByReceipt(ctx context.Context, key string) (Transaction, error) {
	return core.One[Transaction](
		ctx, s.db, noReceipt, `SELECT `+transactionColumns+` FROM transactions WHERE receipt_key = $1`, key,
	)
}

// TransactionsFor lists transactions that buy Stars for a user, newest first, with ids below before; 0: from the
// newest. Served by the index transactions_user.
func (s *Store) TransactionsFor(ctx context.Context, userID, before int64, limit int) ([]Transaction, error) {
	return core.Chosen[Transaction](ctx, s.db, `SELECT `+transactionColumns+` FROM transactions
		WHERE user_id = $1 AND ($2::bigint = 0 OR id < $2) ORDER BY id DESC LIMIT $3`, userID, before, limit)
}

// TransactionsTo lists the last hour's transactions that buy Stars for a username in lower case, newest first, with ids
// below before; 0: from the newest. Served by the index transactions_username.
func (s *Store) TransactionsTo(ctx context.Context, username string, before int64, limit int) ([]Transaction, error) {
	return core.Chosen[Transaction](ctx, s.db, `SELECT `+transactionColumns+` FROM transactions
		WHERE created_at > now() - interval '1 hour' AND lower(username) = $1 AND ($2::bigint = 0 OR id < $2)
		ORDER BY id DESC LIMIT $3`, username, before, limit)
}

// Filter selects transactions; zero fields select all.
type Filter struct {
	Status      lifecycle.TransactionState
	NeedsReview bool
	Error       string        // failed with this message
	MayRetry    bool          // failed, but not for good; by transactions_retryable, which the next two narrow
	SeenFrom    *time.Time    // detected at or after
	SeenUntil   *time.Time    // detected before
	Owed        bool          // money is owed to the sender and not in transit
	Attention   bool          // a person has to decide: a review, or a debt
	HashBegins  string        // hex digits in lower case
	StuckFor    time.Duration // in processing for longer, excluding pauses and holds
	Before      int64         // ids below this one
	Limit       int
}

// List lists transactions, newest first. Served by the indexes transactions_status, _error, _review, _retryable, _live
// (also for those with a debt) and the key. "g" sorts after every hexadecimal digit, so it ends the range of a hash
// prefix.
func (s *Store) List(ctx context.Context, f Filter) ([]Transaction, error) {
	return core.Chosen[Transaction](ctx, s.db, `SELECT `+transactionColumns+` FROM transactions
		WHERE ($1 = '' OR status = $1) AND (NOT $2 OR needs_review)
		AND ($3::interval = '0' OR (`+isProcessing+` AND processing_since < now() - $3::interval AND `+processingFor+` > $3::interval))
		AND ($4::bigint = 0 OR id < $4) AND (NOT $6 OR (`+mayBeRetried+`))
		AND (NOT $7 OR refund_due_nano > 0) AND ($8 = '' OR (hash >= $8 AND hash < $8 || 'g'))
		AND ($9 = '' OR `+isFailed+` AND error_message = $9) AND ($10::timestamptz IS NULL OR created_at >= $10) AND ($11::timestamptz IS NULL OR created_at < $11)
		AND (NOT $12 OR needs_review OR refund_due_nano > 0)
		ORDER BY id DESC LIMIT $5`, f.Status, f.NeedsReview, f.StuckFor, f.Before, f.Limit, f.MayRetry, f.Owed, f.HashBegins,
		f.Error, f.SeenFrom, f.SeenUntil, f.Attention)
}

// EventsOf lists a transaction's events, oldest first.
func (s *Store) EventsOf(ctx context.Context, hash string) ([]core.StreamedEvent, error) {
	return core.EventsOfEntity(ctx, s.db, lifecycle.WorkloadTransaction, hash)
}

// Live lists transactions that a workflow must drive (pending, processing, with an open refund, or to be retried),
// created at least age ago, with ids above after, ascending.
func (s *Store) Live(
	ctx context.Context, age time.Duration, after int64, limit int,
) ([]Transaction, error) {
	const page = ` AND id > $1 AND created_at < now() - $2::interval ORDER BY id LIMIT $3`
	return core.List[Transaction](ctx, s.db, `SELECT `+transactionColumns+` FROM transactions WHERE id IN (
			(SELECT id FROM transactions WHERE (`+orderOrDebt+`)`+page+`)
			UNION (SELECT id FROM transactions WHERE `+retryPlanned+page+`)
			UNION (SELECT id FROM transactions WHERE hash IN (SELECT transaction_hash FROM payments p WHERE `+openRefund+`)`+page+`)
		) ORDER BY id LIMIT $3`, after, age, limit)
}

// Unstarted lists the transactions of Live whose workflow was never started, or not since they became live again.
// Served by the index transactions_unstarted.
func (s *Store) Unstarted(
	ctx context.Context, age time.Duration, after int64, limit int,
) ([]Transaction, error) {
	return core.List[Transaction](ctx, s.db, `SELECT `+transactionColumns+` FROM transactions
		WHERE workflow_started_at IS NULL AND (`+orderOrDebt+` OR `+retryPlanned+`) AND id > $1 AND created_at < now() - $2::interval
		ORDER BY id LIMIT $3`, after, age, limit)
}

// LiveOf returns the transactions of Live with these hashes. Served by the primary key.
func (s *Store) LiveOf(ctx context.Context, age time.Duration, hashes []string) ([]Transaction, error) {
	return core.List[Transaction](ctx, s.db, `SELECT `+transactionColumns+` FROM transactions t
		WHERE hash = ANY ($1::text[]) AND created_at < now() - $2::interval AND (`+orderOrDebt+` OR `+retryPlanned+`
			OR EXISTS (SELECT 1 FROM payments p WHERE p.transaction_hash = t.hash AND `+openRefund+`))`, hashes, age)
}

// MarkStarted records that the transaction's workflow runs.
func (s *Store) MarkStarted(ctx context.Context, hash string) error {
	return s.db.Do(ctx, `UPDATE transactions SET workflow_started_at = coalesce(workflow_started_at, now())
		WHERE hash = $1`, hash)
}

// SnapshotOf reads a transaction as its workflow needs it.
func (s *Store) SnapshotOf(ctx context.Context, hash string) (Snapshot, error) {
	t, err := s.ByHash(ctx, hash)
	return t.Snapshot(), err
}

// Snapshot returns the transaction as its workflow needs it.
func (t Transaction) Snapshot() Snapshot {
	mark := sha256.Sum256([]byte(t.Sender)) // distinguishes senders without naming them
	snapshot := Snapshot{
		Revision: t.RowVersion, State: t.State, Attempt: t.Attempt, UserID: t.UserID, ErrorClass: t.ErrorClass,
		Error: t.ErrorMessage, NeedsReview: t.NeedsReview,
		Lost: t.ReviewReason == ReviewLost, MayGoOn: t.ReviewReason == ReviewDeposit || t.ReviewReason == ReviewAsked, Quoted: t.QuoteNano > 0,
		Since: t.ProcessingSince, Refund: t.Refund, RefundDue: t.RefundDueNano,
		Sender: hex.EncodeToString(mark[:8]), RetryAt: t.RetryAt, GivenUp: t.GivenUpAt != nil, DeferredUntil: t.DeferredUntil,
	}

	if t.Purchase != nil {
		snapshot.Purchase = &t.Purchase.PaymentRef
	}
	return snapshot
}
