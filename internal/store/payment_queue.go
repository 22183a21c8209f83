package store

import (
	"context"
	"time"
)

// QueueEntry is one who waits for the wallet's turn, or has it.
type QueueEntry struct {
	TransactionHash string      `db:"transaction_hash"`
	Kind            PaymentKind `db:"kind"`
	Wallet          string      `db:"wallet"`
	Sender          string      `db:"sender"`
	AskedAt         time.Time   `db:"asked_at"`
	GrantedAt       *time.Time  `db:"granted_at"` // nil: it waits
	Probe           bool        `db:"probe"`      // granted in spite of a hold, to see whether it is over
	Place           int         `db:"place"`      // 1: has the turn, or is next
}

// EnterQueue puts an order in line for the wallet's turn, and gives it the turn when nobody is before it. Who is in line
// already keeps the place. A purchase needs a transaction in processing, a refund one that is owed; an order with a live
// payment is refused with PAYMENT_UNDECIDED.
func (s *Store) EnterQueue(ctx context.Context, hash string, kind PaymentKind) (QueueEntry, error) {
	panic("not built yet") // the API comes first
}

// GrantNext gives the wallet's turn to the next in line; nil when there is none or the turn is taken, or while payments are
// stopped. Senders take turns, so that one sender's thousand transfers never hold up another's one.
func (s *Store) GrantNext(ctx context.Context, wallet string) (*QueueEntry, error) {
	panic("not built yet") // the API comes first
}

// ReturnTurn gives a turn back without having used it: the order waits again at its old place. It is not granted to anyone here: call
// GrantNext, or leave it to the monitor.
func (s *Store) ReturnTurn(ctx context.Context, hash string, kind PaymentKind) error {
	panic("not built yet") // the API comes first
}

// LeaveQueue takes an order out of the line, unless its payment is signed: then only the chain ends its turn.
func (s *Store) LeaveQueue(ctx context.Context, hash string, kind PaymentKind) error {
	panic("not built yet") // the API comes first
}

// PaymentQueue lists a wallet's line in the order of the turns, with who has the turn first.
func (s *Store) PaymentQueue(ctx context.Context, wallet string, limit int) ([]QueueEntry, error) {
	panic("not built yet") // the API comes first
}
