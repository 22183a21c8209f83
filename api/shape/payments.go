package shape

import (
	"time"
)

// Switches are what blocks payments.
type Switches struct {
	Pause *Switch `json:"pause" doc:"Set by an administrator: no payment is signed; null: off"`
	Hold  *Switch `json:"hold" doc:"Automatic: orders queue until its cause is gone; null: off"`
}

// Switch is a switch that is on.
type Switch struct {
	Since  time.Time `json:"since" example:"2026-03-01T12:00:00Z"`
	Reason string    `json:"reason" example:"FRAGMENT_UNAUTHORIZED"`
	UserID *string   `json:"user_id" example:"1" doc:"User who set it; null: the service"`
}

// Queue is the queue for the wallet.
type Queue struct {
	Switches
	Items []Turn `json:"items" doc:"The order that holds the wallet, then those waiting for it"`
}

// Turn is a payment that holds the wallet or waits for it.
type Turn struct {
	Place     int        `json:"place" example:"1"`
	Hash      string     `json:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Transaction hash"`
	Kind      string     `json:"kind" enum:"purchase,refund"`
	Sender    string     `json:"sender" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8" doc:"Senders take turns"`
	AskedAt   time.Time  `json:"asked_at" example:"2026-03-01T12:00:00Z"`
	GrantedAt *time.Time `json:"granted_at" example:"2026-03-01T12:00:05Z" doc:"null: it is waiting"`
	NotBefore *time.Time `json:"not_before" example:"2026-03-02T07:00:00Z" doc:"Exceeds what is left of the 24-hour limit: others pass it until then; null: it fits, as far as known"`
}

// Ledger is where the money is.
type Ledger struct {
	Wallet    string     `json:"wallet" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8"`
	ScannedTo *time.Time `json:"scanned_to" example:"2026-03-01T12:00:00Z" doc:"Chain time up to which the wallet's history has been read"`
	Balances  []Balance  `json:"balances" doc:"They sum to zero"`
}

// Balance is one account's balance in the ledger.
type Balance struct {
	Account     string `json:"account" example:"wallet"`
	BalanceNano int64  `json:"balance_nano" example:"12500000000" doc:"nanoTON. Positive: money is here or went here; negative: money came from here"`
}

// Solvency is the wallet's balance on the chain and in the ledger.
type Solvency struct {
	Ledger
	LedgerNano     int64      `json:"ledger_nano" example:"12500000000" doc:"Wallet balance by the ledger"`
	ChainNano      *int64     `json:"chain_nano" example:"12500000000" doc:"Wallet balance on the chain; null: the chain did not respond"`
	Compared       bool       `json:"compared" doc:"false: the chain was not read, or the record is currently at another transaction; retry"`
	DifferenceNano *int64     `json:"difference_nano" example:"0" doc:"Chain balance minus ledger balance, 0 as expected; null: not compared"`
	ReadAt         *time.Time `json:"read_at" example:"2026-03-01T12:00:00Z" doc:"When the chain was read, at most a few seconds ago and shared by all callers; null: it did not respond"`
	AgeSeconds     *float64   `json:"age_seconds" example:"4.2" doc:"Age of read_at"`
	Failure        *string    `json:"failure" example:"CHAIN_UNAVAILABLE" doc:"Why the chain did not respond; null: it did"`
}

// Reconciliation compares the ledger with the record, the chain and Fragment.
type Reconciliation struct {
	Ledger
	ChainCompared     bool         `json:"chain_compared" doc:"false: the record has not caught up with the chain's head; retry"`
	PurchasesCompared int          `json:"purchases_compared" example:"97"`
	Differences       []Difference `json:"differences" doc:"Empty, as expected"`
}

// Difference is a point on which two sources disagree.
type Difference struct {
	What    string `json:"what" example:"balance on the chain" doc:"What does not agree"`
	Subject string `json:"subject" example:"wallet" doc:"An account, a hash or a number"`
	Want    int64  `json:"want" example:"12500000000"`
	Got     int64  `json:"got" example:"12400000000"`
}

// Purchase is one purchase as Fragment lists it; a request can return it.
type Purchase struct {
	PaymentHash string `json:"payment_hash" pattern:"^[0-9a-f]{64}$" patternDescription:"64 digits of lower-case hex" doc:"Hash of the wallet's transaction"`
	Stars       int64  `json:"stars" minimum:"0"`
	PaidNano    int64  `json:"paid_nano" minimum:"0"`
}
