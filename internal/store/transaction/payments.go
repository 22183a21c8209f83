package transaction

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// PaymentKind is the purpose of a payment.
type PaymentKind string

// Kinds of payments.
const (
	Purchase PaymentKind = "purchase"
	Refund   PaymentKind = "refund"
)

// PaymentState is the known state of a payment.
type PaymentState string

// The states of a payment. Only the chain changes them.
const (
	PaymentSigned  PaymentState = "signed"  // may be on the chain, or may reach it
	PaymentPaid    PaymentState = "paid"    // found on the chain: the money has left the wallet
	PaymentDead    PaymentState = "dead"    // paid nothing and never will
	PaymentBounced PaymentState = "bounced" // the destination sent the money back
)

// Payment is one signed payment. Amounts are in nanoTON.
type Payment struct {
	ID              int64        `db:"id"`
	Kind            PaymentKind  `db:"kind"`
	TransactionHash string       `db:"transaction_hash"`
	Attempt         int          `db:"attempt"` // of the transaction, when signed
	Wallet          string       `db:"wallet"`
	Seqno           int64        `db:"seqno"`
	ValidUntil      time.Time    `db:"valid_until"` // by the chain's clock
	BoC             []byte       `db:"boc"`
	HashNorm        string       `db:"hash_norm"`
	Destination     string       `db:"destination"`
	AmountNano      int64        `db:"amount_nano"`
	ReservedNano    int64        `db:"reserved_nano"` // while signed: the amount and room for gas
	BodyHash        string       `db:"body_hash"`
	RequestID       string       `db:"request_id"` // Fragment's
	State           PaymentState `db:"state"`
	SentAt          *time.Time   `db:"sent_at"`    // first broadcast
	ChainLT         *int64       `db:"chain_lt"`   // where it was found
	ChainHash       string       `db:"chain_hash"` // of the wallet's transaction; empty: not found
	PaidNano        int64        `db:"paid_nano"`  // what left the wallet
	GasNano         int64        `db:"gas_nano"`
	ReturnedNano    int64        `db:"returned_nano"` // what came back if it bounced
	OutHash         string       `db:"out_hash"`      // the message that carries the money
	SettledAt       *time.Time   `db:"settled_at"`
	KeptAt          *time.Time   `db:"kept_at"` // when the destination had finally kept the money
	Late            bool         `db:"late"`    // found on the chain after it was declared dead
	CreatedAt       time.Time    `db:"created_at"`

	// For a purchase, to prove its Stars; zero or nil: unknown.
	RequestNumber *int64     `db:"request_number"` // of its request, among all requests with the wallet's session
	LinkUntil     *time.Time `db:"link_until"`     // until when Fragment accepts money, by the chain's clock
	ArrivedAt     *time.Time `db:"arrived_at"`     // when the destination kept the money, by the chain's clock
	ConfirmedAt   *time.Time `db:"confirmed_at"`   // when Fragment had accepted the confirmation
	Last          bool       `db:"last"`           // its request is the session's last one: Fragment reports its state
}

// Ref returns what a workflow may know about the payment.
func (p Payment) Ref() PaymentRef {
	return PaymentRef{ID: p.ID, Kind: p.Kind, State: p.State, Attempt: p.Attempt, Kept: p.KeptAt != nil}
}

// PaymentRef names a payment and its state, for workflows.
type PaymentRef struct {
	ID      int64        `json:"id"`
	Kind    PaymentKind  `json:"kind"`
	State   PaymentState `json:"state"`
	Attempt int          `json:"attempt"` // of the transaction, when signed
	Kept    bool         `json:"kept,omitempty"`
}

const paymentColumns = `id, kind, transaction_hash, attempt, wallet, seqno, valid_until, boc, hash_norm, destination, amount_nano, reserved_nano,
	body_hash, request_id, state, sent_at, chain_lt, chain_hash, paid_nano, gas_nano, returned_nano, out_hash, settled_at, kept_at, late, created_at,
	request_number, link_until, arrived_at, confirmed_at, ` + isLast + ` AS last`

// isLast is true of a purchase whose request is the last one of its wallet's session. An adopted purchase has no
// number.
const isLast = `(request_number IS NULL OR request_number = (SELECT requests FROM ton_wallets WHERE address = wallet))`

var noPayment = fault.New(fault.NotFound, "there is no such payment")

// PaymentByID returns a payment.
func (s *Store) PaymentByID(ctx context.Context, id int64) (Payment, error) {
	return core.One[Payment](ctx, s.db, noPayment, `SELECT `+paymentColumns+` FROM payments WHERE id = $1`, id)
}

// LivePayment returns an order's signed or paid payment; nil: none.
func (s *Store) LivePayment(ctx context.Context, hash string, kind PaymentKind) (*Payment, error) {
	payment, err := core.One[Payment](ctx, s.db, noPayment, livePayment, hash, kind)
	if errors.Is(err, noPayment) {
		return nil, nil
	}
	return &payment, err
}

const livePayment = `SELECT ` + paymentColumns + ` FROM payments WHERE transaction_hash = $1 AND kind = $2 AND live`

// PaymentsOf lists a transaction's payments, oldest first.
func (s *Store) PaymentsOf(ctx context.Context, hash string) ([]Payment, error) {
	return core.List[Payment](
		ctx, s.db, `SELECT `+paymentColumns+` FROM payments WHERE transaction_hash = $1 ORDER BY id`, hash,
	)
}

// MarkPaymentSent records the broadcast of the payment's bytes. Call it before the broadcast.
func (s *Store) MarkPaymentSent(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE payments SET sent_at = coalesce(sent_at, now()) WHERE id = $1`, id)
}

// MarkPurchaseConfirmed records that Fragment has accepted the confirmation of a payment.
func (s *Store) MarkPurchaseConfirmed(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE payments SET confirmed_at = coalesce(confirmed_at, now()) WHERE id = $1`, id)
}

// Destination is what a payment's destination did with the money, according to its own finalized transaction.
type Destination struct {
	Kept         bool      // false: it bounced
	At           time.Time // by the chain's clock
	ReturnedNano int64     // what comes back if it bounced
	Refund       bool      // if it bounced, refund the purchase of a transaction that has failed for good
}

func (d Destination) at() *time.Time {
	if d.At.IsZero() {
		return nil
	}
	return &d.At
}

// SettleDestination records the outcome of a paid payment: kept, or bounced. Repeating an outcome changes nothing; a
// different one is refused with INVALID_TRANSITION. A bounced refund's money is owed again.
func (s *Store) SettleDestination(ctx context.Context, payment Payment, d Destination) (PaymentRef, error) {
	_, err := s.write(ctx, payment.TransactionHash, func(w *writing) (err error) {
		payment, err = core.One[Payment](ctx, w.DB, noPayment, `SELECT `+paymentColumns+` FROM payments WHERE id = $1`, payment.ID)
		if err != nil {
			return err
		}

		switch {
		case payment.State == PaymentSigned:
			return fault.New(fault.PaymentUndecided, "a %s of this transaction is %s", payment.Kind, payment.State).
				With("state", payment.State)
		case payment.State == PaymentBounced && !d.Kept, payment.KeptAt != nil && d.Kept:
			return nil
		case payment.State != PaymentPaid, payment.KeptAt != nil:
			return fault.New(fault.InvalidTransition, "the payment is %s", payment.State).With("state", payment.State)
		case d.Kept:
			payment.KeptAt = &w.Now
			w.Note(lifecycle.TransactionKept)
			_, err := w.DB.Exec(ctx, `UPDATE payments SET kept_at = $2, arrived_at = $3 WHERE id = $1`, payment.ID, w.Now, d.at())
			return err
		}

		payment.State, payment.ReturnedNano = PaymentBounced, d.ReturnedNano
		return w.bounce(ctx, payment, d.Refund)
	})

	return payment.Ref(), err
}

// bounce records that a payment's money is on its way back. If a person resolved the purchase as failed before that was
// known, the deposit is owed. If it was resolved as processed, it needs another review, because nothing was paid.
func (w *writing) bounce(ctx context.Context, p Payment, refund bool) error {
	if p.ReturnedNano < 0 || p.ReturnedNano > p.PaidNano {
		return fault.Invalid("returned_nano", "a refund cannot exceed the payment")
	}

	_, err := w.DB.Exec(ctx, `UPDATE payments SET state = $3, returned_nano = $2 WHERE id = $1`,
		p.ID, p.ReturnedNano, PaymentBounced)
	if err != nil {
		return err
	}

	w.Note(lifecycle.TransactionBounced)

	err = post(ctx, w.DB, w.Address, &w.Hash, paymentCause("bounce", p.ID), amounts{
		goneTo(p.Kind): -p.PaidNano, AccountReturning: p.ReturnedNano, AccountGas: p.PaidNano - p.ReturnedNano,
	})
	if err != nil {
		return err
	}
	if p.Kind == Refund {
		return w.owe(ctx, paymentCause("due", p.ID), p.ReturnedNano)
	}
	return w.bouncePurchase(ctx, refund)
}

// bouncePurchase decides what follows for an order whose purchase bounced after its end.
func (w *writing) bouncePurchase(ctx context.Context, refund bool) error {
	purchase := w.DB.QueryRow(ctx, `SELECT `+decidingPurchase+` FROM transactions WHERE hash = $1`, w.Hash) // as it is now
	if err := purchase.Scan(&w.Purchase); err != nil {
		return err
	}

	switch {
	case w.State == lifecycle.TransactionProcessed:
		batch := &pgx.Batch{}
		notice.QueueAlerts(batch, notice.AlertTransactionReview) // no workflow is running to raise it
		if err := w.DB.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return w.review(ctx, ReviewBounced)
	case refund && w.State == lifecycle.TransactionFailed && w.ErrorClass == lifecycle.NonRetryable:
		// The order's workflow may have ended: the reconciler starts it as if it had never been started.
		if _, err := w.DB.Exec(ctx, `UPDATE transactions SET workflow_started_at = NULL WHERE hash = $1`, w.Hash); err != nil {
			return err
		}
		return w.oweDeposit(ctx)
	}

	return nil
}
