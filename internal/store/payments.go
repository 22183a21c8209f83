package store

import (
	"context"
	"time"
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
	OutHash         string       `db:"out_hash"` // the message that carries the money
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

// SignPayment makes the one payment of an order: in one database transaction it checks that it may be, takes the next seqno,
// lets sign make the bytes, and writes them down with the reservation of the money. When the order has a live payment already
// it gives that one and signs nothing. The payment's attempt is the transaction's from now on: buying again within one
// processing counts as the next.
//
// Refusals: NO_TURN (the turn is not, or no longer, the order's), PAYMENTS_PAUSED, PAYMENTS_HELD, PAYMENT_LIMIT,
// DAILY_LIMIT, INSUFFICIENT_FUNDS (what is owed to others stays in the wallet), INVALID_TRANSITION, and errors of sign as they are.
// A purchase signed as a probe lifts the hold.
func (s *Store) SignPayment(ctx context.Context, want PaymentOrder, limits Limits, sign func(seqno uint32) (Signed, error)) (Payment, error) {
	panic("not built yet") // the API comes first
}

// PaymentByID finds a payment.
func (s *Store) PaymentByID(ctx context.Context, id int64) (Payment, error) {
	panic("not built yet") // the API comes first
}

// LivePayment finds the payment of an order that is signed or paid; nil: there is none.
func (s *Store) LivePayment(ctx context.Context, hash string, kind PaymentKind) (*Payment, error) {
	panic("not built yet") // the API comes first
}

// PaymentsOf lists the payments of a transaction from the first.
func (s *Store) PaymentsOf(ctx context.Context, hash string) ([]Payment, error) {
	panic("not built yet") // the API comes first
}

// MarkPaymentSent remembers that the payment's bytes were let go. It is written before they are.
func (s *Store) MarkPaymentSent(ctx context.Context, id int64) error {
	panic("not built yet") // the API comes first
}

// Destination is what the destination of a payment did with the money, as its own finalised transaction shows.
type Destination struct {
	Kept         bool  // false: it bounced
	ReturnedNano int64 // what comes back, when it bounced
}

// SettleDestination records what became of a paid payment: kept, or bounced. The same answer again changes nothing; another
// one is refused with PAYMENT_DECIDED. A bounced refund is owed again.
func (s *Store) SettleDestination(ctx context.Context, id int64, d Destination) (PaymentRef, error) {
	panic("not built yet") // the API comes first
}
