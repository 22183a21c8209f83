package store

import (
	"context"
)

// Writes to a transaction name the attempt that they are about, so that a late repeat of an older one changes nothing. Each
// gives where the record stands afterwards: who repeats a write, or comes late, reads there what became of it. Refusals are
// INVALID_TRANSITION for what the status does not allow, and PAYMENT_UNDECIDED where a payment forbids it.

// LockTransaction takes a pending transaction into processing, as attempt 1. Any other it leaves as it is.
func (s *Store) LockTransaction(ctx context.Context, hash string) (Standing, error) {
	panic("not built yet") // the API comes first
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

// SaveQuote keeps what was found out about an order: all of it, or as much as there is before the order is refused. It moves no
// money. Once a purchase is signed the order stays as it was.
func (s *Store) SaveQuote(ctx context.Context, q Quote) (Standing, error) {
	panic("not built yet") // the API comes first
}

// FinishTransaction ends a transaction as processed. It needs a purchase that is paid and kept, and writes its hash.
func (s *Store) FinishTransaction(ctx context.Context, hash string, attempt int) (Standing, error) {
	panic("not built yet") // the API comes first
}

// Failure says why a transaction failed.
type Failure struct {
	Hash    string
	Attempt int
	Message string // for people, spelled as the specification spells it
	Class   ErrorClass
	Refund  bool // owe the amount to the sender; only for a non-retryable failure
}

// FailTransaction ends the try: processing becomes failed, and the place in the queue is free. It is refused while a
// purchase is signed or paid: then only the chain, or an operator, leads on.
func (s *Store) FailTransaction(ctx context.Context, f Failure) (Standing, error) {
	panic("not built yet") // the API comes first
}

// TransactionRequest is what a person wants of a transaction.
type TransactionRequest struct {
	Hash    string
	Attempt int // that the person saw
	ActorID *int64
	Comment string
}

// RetryTransaction takes a failed transaction back into processing, as the next attempt. It is refused for a non-retryable
// failure, and while a purchase is signed or paid.
func (s *Store) RetryTransaction(ctx context.Context, r TransactionRequest) (Standing, error) {
	panic("not built yet") // the API comes first
}

// ReviewTransaction asks for a person to look at a transaction in processing; reason is a word for machines.
func (s *Store) ReviewTransaction(ctx context.Context, hash string, attempt int, reason string) (Standing, error) {
	panic("not built yet") // the API comes first
}

// ResolveTransaction ends a transaction that needs review as a person decided: processed, which needs a paid purchase, or
// failed, for good and with the given message. A payment that the chain has not decided cannot be resolved.
func (s *Store) ResolveTransaction(ctx context.Context, r TransactionRequest, outcome TransactionStatus, message string) (Standing, error) {
	panic("not built yet") // the API comes first
}

// AlertStuck remembers that people were told of a transaction that is in processing for too long. It is true once for each time
// that processing is entered.
func (s *Store) AlertStuck(ctx context.Context, hash string, attempt int) (bool, error) {
	panic("not built yet") // the API comes first
}
