package store

import (
	"context"
	"time"
)

// Account is an account of a wallet's ledger. Each entry sums to zero, and so do all accounts. A positive balance says where money
// is or went, a negative one where it came from.
type Account string

// The accounts.
const (
	AccountWallet    Account = "wallet"     // what the wallet holds: the chain's balance at the cursor
	AccountReceived  Account = "received"   // −: customers' deposits, but for what stands in the next two
	AccountReserved  Account = "reserved"   // −: set aside for the payment that is signed
	AccountRefundDue Account = "refund_due" // −: owed back to senders
	AccountPaid      Account = "paid"       // +: spent on Stars
	AccountGas       Account = "gas"        // +: spent on fees
	AccountRefunded  Account = "refunded"   // +: given back
	AccountReturning Account = "returning"  // +: bounced and on its way back; −: back, and not explained yet
	AccountOther     Account = "other"      // movements that belong to no customer, and what was there at the beginning
)

// Accounts lists all accounts.
var Accounts = []Account{
	AccountWallet, AccountReceived, AccountReserved, AccountRefundDue, AccountPaid, AccountGas,
	AccountRefunded, AccountReturning, AccountOther,
}

// Balance is an account's balance in nanoTON.
type Balance struct {
	Account     Account `db:"account"`
	BalanceNano int64   `db:"balance_nano"`
}

// LedgerBalances lists a wallet's accounts in the order of Accounts; those never used are zero.
func (s *Store) LedgerBalances(ctx context.Context, wallet string) ([]Balance, error) {
	panic("not built yet") // the API comes first
}

// Difference is one thing on which two records disagree.
type Difference struct {
	What    string `db:"what"`    // which rule is broken
	Subject string `db:"subject"` // an account, a hash, a number: what it is broken for
	Want    int64  `db:"want"`
	Got     int64  `db:"got"`
}

// LedgerCheck compares a wallet's ledger with the rest of the record, row by row. Nothing is as it should be.
func (s *Store) LedgerCheck(ctx context.Context, wallet string) ([]Difference, error) {
	panic("not built yet") // the API comes first
}

// CompareBalance compares the ledger with the balance that the chain tells of the wallet right after the transaction at lt. known
// is false while the record's cursor stands elsewhere: then there is nothing to compare.
func (s *Store) CompareBalance(ctx context.Context, wallet string, lt, balanceNano int64) (differences []Difference, known bool, err error) {
	panic("not built yet") // the API comes first
}

// PurchaseRecord is a purchase as the record has it, to be compared with Fragment's list.
type PurchaseRecord struct {
	TransactionHash string            `db:"transaction_hash"`
	ChainHash       string            `db:"chain_hash"`
	Username        string            `db:"username"`
	Stars           int64             `db:"stars"`
	AmountNano      int64             `db:"amount_nano"`
	Status          TransactionStatus `db:"status"`
	PaidAt          time.Time         `db:"paid_at"`
}

// Purchases lists the purchases that were paid since a moment, with payment ids above after, ascending.
func (s *Store) Purchases(ctx context.Context, wallet string, since time.Time, after int64, limit int) ([]PurchaseRecord, error) {
	panic("not built yet") // the API comes first
}
