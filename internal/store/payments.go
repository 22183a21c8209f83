package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// PaymentKind says what a payment is for.
type PaymentKind string

// Kinds of payments.
const (
	Purchase PaymentKind = "purchase"
	Refund   PaymentKind = "refund"
)

// PaymentState is what is known of a payment.
type PaymentState string

// The states of a payment. Only the chain leads from one to another.
const (
	PaymentSigned  PaymentState = "signed"  // it may be on the chain, or come there
	PaymentPaid    PaymentState = "paid"    // found on the chain: the money has left the wallet
	PaymentDead    PaymentState = "dead"    // it paid nothing and never will
	PaymentBounced PaymentState = "bounced" // the destination sent the money back
)

// Payment is one order that we signed. Amounts are in nanoTON.
type Payment struct {
	ID              int64        `db:"id"`
	Kind            PaymentKind  `db:"kind"`
	TransactionHash string       `db:"transaction_hash"`
	Attempt         int          `db:"attempt"` // of the transaction, at the signature
	Wallet          string       `db:"wallet"`
	Seqno           int64        `db:"seqno"`
	ValidUntil      time.Time    `db:"valid_until"` // by the chain's clock
	BoC             []byte       `db:"boc"`
	HashNorm        string       `db:"hash_norm"`
	Destination     string       `db:"destination"`
	AmountNano      int64        `db:"amount_nano"`
	ReservedNano    int64        `db:"reserved_nano"` // while it is signed: the amount and room for gas
	BodyHash        string       `db:"body_hash"`
	RequestID       string       `db:"request_id"` // Fragment's
	State           PaymentState `db:"state"`
	SentAt          *time.Time   `db:"sent_at"`    // first broadcast
	ChainLT         *int64       `db:"chain_lt"`   // where it was found
	ChainHash       string       `db:"chain_hash"` // of the wallet's transaction; empty: not found
	PaidNano        int64        `db:"paid_nano"`  // what left the wallet by it
	GasNano         int64        `db:"gas_nano"`
	ReturnedNano    int64        `db:"returned_nano"` // what came back when it bounced
	OutHash         string       `db:"out_hash"`      // the message that carries the money
	SettledAt       *time.Time   `db:"settled_at"`
	KeptAt          *time.Time   `db:"kept_at"` // the destination took the money for good
	Late            bool         `db:"late"`    // found on the chain after it had passed for dead
	CreatedAt       time.Time    `db:"created_at"`
}

// Ref gives what a workflow may know of the payment.
func (p Payment) Ref() PaymentRef {
	return PaymentRef{ID: p.ID, Kind: p.Kind, State: p.State, Attempt: p.Attempt, Kept: p.KeptAt != nil}
}

// PaymentRef names a payment and its state, for workflows.
type PaymentRef struct {
	ID      int64        `json:"id"`
	Kind    PaymentKind  `json:"kind"`
	State   PaymentState `json:"state"`
	Attempt int          `json:"attempt"` // of the transaction, at the signature
	Kept    bool         `json:"kept,omitempty"`
}

// PaymentOrder is a payment that somebody wants to make.
type PaymentOrder struct {
	Hash        string // of the transaction
	Kind        PaymentKind
	Attempt     int    // of the transaction
	Destination string // raw address
	AmountNano  int64
	GasNano     int64  // set aside for gas
	ChainSeqno  uint32 // the wallet's next one as the chain tells it
	RequestID   string // Fragment's
}

// Signed is a payment order ready to be broadcast.
type Signed struct {
	BoC        []byte
	HashNorm   string
	BodyHash   string
	ValidUntil time.Time // whole seconds
}

// Limits bound purchases, in nanoTON; 0: no bound.
type Limits struct {
	PerPurchase int64
	PerDay      int64 // of what was signed in the last 24 hours and is not dead
}

const paymentColumns = `id, kind, transaction_hash, attempt, wallet, seqno, valid_until, boc, hash_norm, destination, amount_nano, reserved_nano,
	body_hash, request_id, state, sent_at, chain_lt, chain_hash, paid_nano, gas_nano, returned_nano, out_hash, settled_at, kept_at, late, created_at`

var noPayment = fault.New(fault.PaymentNotFound, "there is no such payment")

// PaymentByID finds a payment.
func (s *Store) PaymentByID(ctx context.Context, id int64) (Payment, error) {
	return one[Payment](ctx, s, noPayment, `SELECT `+paymentColumns+` FROM payments WHERE id = $1`, id)
}

// LivePayment finds the payment of an order that is signed or paid; nil: there is none.
func (s *Store) LivePayment(ctx context.Context, hash string, kind PaymentKind) (*Payment, error) {
	payment, err := one[Payment](ctx, s, noPayment, livePayment, hash, kind)
	if errors.Is(err, noPayment) {
		return nil, nil
	}
	return &payment, err
}

const livePayment = `SELECT ` + paymentColumns + ` FROM payments WHERE transaction_hash = $1 AND kind = $2 AND live`

// PaymentsOf lists the payments of a transaction from the first.
func (s *Store) PaymentsOf(ctx context.Context, hash string) ([]Payment, error) {
	return list[Payment](ctx, s, `SELECT `+paymentColumns+` FROM payments WHERE transaction_hash = $1 ORDER BY id`, hash)
}

// MarkPaymentSent remembers that the payment's bytes were let go. It is written before they are.
func (s *Store) MarkPaymentSent(ctx context.Context, id int64) error {
	_, err := s.pool.Exec(ctx, `UPDATE payments SET sent_at = coalesce(sent_at, now()) WHERE id = $1`, id)
	return unavailable(err)
}

// SignPayment makes the one payment of an order: in one database transaction it checks that it may be, takes the next seqno,
// lets sign make the bytes, and writes them down with the reservation of the money. An order that has a live payment
// already gets that one, and nothing is signed. Buying again within one processing counts as the transaction's next
// attempt: the payment says which one it is.
//
// Refusals: NO_TURN (the turn is not, or no longer, the order's), PAYMENTS_PAUSED, PAYMENTS_HELD, PAYMENT_LIMIT,
// DAILY_LIMIT, INSUFFICIENT_FUNDS (what is owed to others stays in the wallet), INVALID_TRANSITION, and errors of sign as
// they are. A purchase that was let through to try lifts the hold.
func (s *Store) SignPayment(ctx context.Context, want PaymentOrder, limits Limits, sign func(seqno uint32) (Signed, error)) (payment Payment, err error) {
	err = s.inTx(ctx, func(tx pgx.Tx) error {
		w, err := writeIn(ctx, tx, want.Hash)
		if err != nil {
			return err
		}
		live, err := listIn[Payment](ctx, tx, livePayment, want.Hash, want.Kind)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			payment = live[0]
			return nil
		}
		order := signing{writing: w, want: want}
		if err := order.admit(ctx, limits); err != nil {
			return err
		}
		payment, err = order.sign(ctx, sign)
		return err
	})
	return payment, err
}

// signing is one order on its way to a signature.
type signing struct {
	*writing
	want     PaymentOrder
	probe    bool  // the turn was granted in spite of a hold
	reserved int64 // nanoTON to set aside
}

// admit checks everything that must hold at the moment of the signature.
func (s *signing) admit(ctx context.Context, limits Limits) error {
	if err := s.stands(ctx); err != nil {
		return err
	}
	turns, err := listIn[QueueEntry](ctx, s.tx, `SELECT `+queueColumns+` FROM payment_queue q
		WHERE transaction_hash = $1 AND kind = $2 AND granted_at IS NOT NULL`, s.want.Hash, s.want.Kind)
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		return fault.New(fault.NoTurn, "it is not this order's turn to pay")
	}
	s.probe = turns[0].Probe
	switches, err := switchesIn(ctx, s.tx)
	if err != nil {
		return err
	}
	switch {
	case switches.pause.On():
		return fault.New(fault.PaymentsPaused, "payments are paused")
	case switches.hold.On() && s.want.Kind == Purchase && !s.probe:
		return fault.New(fault.PaymentsHeld, "purchases are held").With("reason", switches.hold.Reason)
	}
	if s.want.Kind == Purchase {
		if err := s.withinLimits(ctx, limits); err != nil {
			return err
		}
	}
	return s.covered(ctx)
}

// stands checks that the transaction is where such a payment belongs.
func (s *signing) stands(ctx context.Context) error {
	s.reserved = s.want.AmountNano + s.want.GasNano
	switch {
	case s.want.AmountNano <= 0 || s.want.GasNano < 0:
		return fault.New(fault.Validation, "a payment needs an amount").WithField("amount_nano")
	case s.NeedsReview:
		return fault.New(fault.InvalidTransition, "a person has to look at the transaction first").With("current", s.Status)
	case s.want.Kind == Purchase:
		if !s.during(s.want.Attempt) || s.QuoteNano == 0 {
			return fault.New(fault.InvalidTransition, "the transaction is not ready to buy in this attempt").With("current", s.Status)
		}
	case s.want.Destination != s.Sender:
		return fault.New(fault.Validation, "a refund goes to the sender").WithField("destination")
	case s.RefundDueNano == 0 || s.RefundDueNano < s.reserved:
		return fault.New(fault.InvalidTransition, "so much is not owed").With("current", s.Status)
	default:
		s.reserved = s.RefundDueNano // what it costs comes out of what is owed
	}
	return s.nothingSpent(ctx)
}

func (s *signing) withinLimits(ctx context.Context, limits Limits) error {
	if limits.PerPurchase > 0 && s.want.AmountNano > limits.PerPurchase {
		return fault.New(fault.PaymentLimit, "the purchase is above the limit for one").With("limit_nano", limits.PerPurchase)
	}
	var day int64
	err := s.tx.QueryRow(ctx, `SELECT coalesce(sum(amount_nano), 0)::bigint FROM payments WHERE wallet = $1 AND kind = 'purchase'
		AND state IN ('signed', 'paid') AND created_at > $2::timestamptz - interval '24 hours'`, s.Address, s.now).Scan(&day)
	if err == nil && limits.PerDay > 0 && s.want.AmountNano > limits.PerDay-day {
		return fault.New(fault.DailyLimit, "the limit for 24 hours is reached").With("limit_nano", limits.PerDay).With("spent_nano", day)
	}
	return err
}

// covered checks that the wallet holds the money besides what is owed to others. Nothing is signed at this moment, so
// nothing is reserved.
func (s *signing) covered(ctx context.Context) error {
	balances, err := balancesIn(ctx, s.tx, s.Address)
	if err != nil {
		return err
	}
	free := balances[AccountWallet] + balances[AccountReserved] + balances[AccountRefundDue]
	if s.want.Kind == Refund {
		free += s.RefundDueNano
	}
	if free < s.want.AmountNano+s.want.GasNano {
		return fault.New(fault.InsufficientFunds, "the wallet does not hold enough").With("free_nano", free)
	}
	return nil
}

// sign makes the payment and writes it down.
func (s *signing) sign(ctx context.Context, sign func(seqno uint32) (Signed, error)) (Payment, error) {
	seqno := max(int64(s.want.ChainSeqno), s.NextSeqno)
	signed, err := sign(uint32(seqno))
	if err != nil {
		return Payment{}, err
	}
	if s.ScannedTo != nil && !signed.ValidUntil.After(*s.ScannedTo) {
		return Payment{}, fault.New(fault.Validation, "the payment would be signed for a time that has passed").WithField("valid_until")
	}
	if s.want.Kind == Purchase {
		if err := s.countAgain(ctx); err != nil {
			return Payment{}, err
		}
	}
	payment, err := oneIn[Payment](ctx, s.tx, noPayment, `INSERT INTO payments (kind, transaction_hash, attempt, wallet, seqno, valid_until, boc,
		hash_norm, destination, amount_nano, reserved_nano, body_hash, request_id, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING `+paymentColumns,
		s.want.Kind, s.Hash, s.Attempt, s.Address, seqno, signed.ValidUntil, signed.BoC,
		signed.HashNorm, s.want.Destination, s.want.AmountNano, s.reserved, signed.BodyHash, s.want.RequestID, s.now)
	if err != nil {
		return Payment{}, err
	}
	if err := s.reserve(ctx, payment, "reserve", s.reserved); err != nil {
		return Payment{}, err
	}
	if s.probe && s.want.Kind == Purchase {
		if err := liftHold(ctx, s.tx); err != nil {
			return Payment{}, err
		}
	}
	return payment, s.note(ctx, TransactionSigned)
}

// countAgain makes a second purchase within one processing the next attempt.
func (s *signing) countAgain(ctx context.Context) error {
	var again bool
	err := s.tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM payments WHERE transaction_hash = $1 AND kind = 'purchase' AND attempt = $2)`,
		s.Hash, s.Attempt).Scan(&again)
	if again {
		s.Attempt++
	}
	return err
}

// reserve moves money between those it belongs to and the reservation; a negative amount moves it back.
func (w *writing) reserve(ctx context.Context, p Payment, cause string, nano int64) error {
	from := AccountReceived
	if p.Kind == Refund {
		from = AccountRefundDue
		w.RefundDueNano -= nano
	}
	return post(ctx, w.tx, w.Address, &w.Hash, paymentCause(cause, p.ID), amounts{from: nano, AccountReserved: -nano})
}

// Destination is what the destination of a payment did with the money, as its own finalised transaction shows.
type Destination struct {
	Kept         bool  // false: it bounced
	ReturnedNano int64 // what comes back, when it bounced
}

// SettleDestination records what became of a paid payment: kept, or bounced. The same answer again changes nothing; another
// one is refused with PAYMENT_DECIDED. What a bounced refund brings back is owed again.
func (s *Store) SettleDestination(ctx context.Context, id int64, d Destination) (ref PaymentRef, err error) {
	payment, err := s.PaymentByID(ctx, id)
	if err != nil {
		return PaymentRef{}, err
	}
	_, err = s.write(ctx, payment.TransactionHash, func(w *writing) error {
		payment, err = oneIn[Payment](ctx, w.tx, noPayment, `SELECT `+paymentColumns+` FROM payments WHERE id = $1`, id)
		if err != nil {
			return err
		}
		switch {
		case payment.State == PaymentSigned:
			return undecided(payment)
		case payment.State == PaymentBounced && !d.Kept, payment.KeptAt != nil && d.Kept:
			return nil
		case payment.State != PaymentPaid, payment.KeptAt != nil:
			return fault.New(fault.PaymentDecided, "the payment is %s", payment.State).With("state", payment.State)
		case d.Kept:
			payment.KeptAt = &w.now
			if _, err := w.tx.Exec(ctx, `UPDATE payments SET kept_at = $2 WHERE id = $1`, id, w.now); err != nil {
				return err
			}
			return w.note(ctx, TransactionKept)
		}
		payment.State, payment.ReturnedNano = PaymentBounced, d.ReturnedNano
		return w.bounce(ctx, payment)
	})
	return payment.Ref(), err
}

// bounce records that a payment's money is on its way back.
func (w *writing) bounce(ctx context.Context, p Payment) error {
	if p.ReturnedNano < 0 || p.ReturnedNano > p.PaidNano {
		return fault.New(fault.Validation, "no more can come back than was paid").WithField("returned_nano")
	}
	if _, err := w.tx.Exec(ctx, `UPDATE payments SET state = 'bounced', returned_nano = $2 WHERE id = $1`, p.ID, p.ReturnedNano); err != nil {
		return err
	}
	err := post(ctx, w.tx, w.Address, &w.Hash, paymentCause("bounce", p.ID), amounts{
		goneTo(p.Kind): -p.PaidNano, AccountReturning: p.ReturnedNano, AccountGas: p.PaidNano - p.ReturnedNano,
	})
	if err == nil && p.Kind == Refund {
		err = w.owe(ctx, paymentCause("due", p.ID), p.ReturnedNano)
	}
	if err != nil {
		return err
	}
	return w.note(ctx, TransactionBounced)
}
