package shape

import (
	"time"
)

// Switches are what stops payments.
type Switches struct {
	Pause *Switch `json:"pause" doc:"An administrator's: no payment is signed; null: off"`
	Hold  *Switch `json:"hold" doc:"The program's own: the order that has the turn waits until its cause is gone; null: off"`
}

// Switch is a switch that is on.
type Switch struct {
	Since  time.Time `json:"since" example:"2026-03-01T12:00:00Z"`
	Reason string    `json:"reason" example:"FRAGMENT_UNAUTHORIZED"`
	UserID *string   `json:"user_id" example:"1" doc:"Who did it; null: the program"`
}

// Queue is the queue for the wallet's turn.
type Queue struct {
	Switches
	Items []Turn `json:"items" doc:"Who has the wallet's turn, then who waits for it, in the order of the turns"`
}

// Turn is a payment that has the wallet's turn or waits for it.
type Turn struct {
	Place     int        `json:"place" example:"1"`
	Hash      string     `json:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Of the transaction"`
	Kind      string     `json:"kind" enum:"purchase,refund"`
	Sender    string     `json:"sender" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8" doc:"Senders take turns"`
	AskedAt   time.Time  `json:"asked_at" example:"2026-03-01T12:00:00Z"`
	GrantedAt *time.Time `json:"granted_at" example:"2026-03-01T12:00:05Z" doc:"null: it waits"`
	NotBefore *time.Time `json:"not_before" example:"2026-03-02T07:00:00Z" doc:"It does not fit into what is left of the limit for 24 hours: others pass it until then; null: it fits, as far as known"`
}

// Ledger is where the money is.
type Ledger struct {
	Wallet    string     `json:"wallet" example:"0:83dfd552e63729b472fcbcc8c45ebcc6691702558b68ec7527e1ba403a0f31a8"`
	ScannedTo *time.Time `json:"scanned_to" example:"2026-03-01T12:00:00Z" doc:"Chain time up to which the wallet's history is known"`
	Balances  []Balance  `json:"balances" doc:"They sum to zero"`
}

// Balance is what the ledger has for one account.
type Balance struct {
	Account     string `json:"account" example:"wallet"`
	BalanceNano int64  `json:"balance_nano" example:"12500000000" doc:"nanoTON. Positive: the money is there, or went there; negative: it came from there"`
}

// Solvency is what the wallet has by the chain and by the ledger.
type Solvency struct {
	Ledger
	LedgerNano     int64      `json:"ledger_nano" example:"12500000000" doc:"What the wallet has by the ledger"`
	ChainNano      *int64     `json:"chain_nano" example:"12500000000" doc:"What it has on the chain; null: the chain did not answer"`
	Compared       bool       `json:"compared" doc:"false: the chain was not read, or the record is at another transaction of it at this moment; ask again"`
	DifferenceNano *int64     `json:"difference_nano" example:"0" doc:"What the chain has more than the ledger, 0 as it should be; null: not compared"`
	ReadAt         *time.Time `json:"read_at" example:"2026-03-01T12:00:00Z" doc:"When the chain was read: some seconds ago at most, once for all who ask; null: it did not answer"`
	AgeSeconds     *float64   `json:"age_seconds" example:"4.2" doc:"How long ago that was"`
	Failure        *string    `json:"failure" example:"CHAIN_UNAVAILABLE" doc:"Why the chain did not answer; null: it did"`
}

// Reconciliation is the ledger, compared with the record, the chain and Fragment.
type Reconciliation struct {
	Ledger
	ChainCompared     bool         `json:"chain_compared" doc:"false: the record is not up to the chain's head at this moment; ask again"`
	PurchasesCompared int          `json:"purchases_compared" example:"97"`
	Differences       []Difference `json:"differences" doc:"Empty, as it should be"`
}

// Difference is one point at which two sources do not agree.
type Difference struct {
	What    string `json:"what" example:"balance on the chain" doc:"What does not agree"`
	Subject string `json:"subject" example:"wallet" doc:"An account, a hash or a number"`
	Want    int64  `json:"want" example:"12500000000"`
	Got     int64  `json:"got" example:"12400000000"`
}

// Purchase is one purchase as Fragment lists it; a request brings it.
type Purchase struct {
	PaymentHash string `json:"payment_hash" pattern:"^[0-9a-f]{64}$" patternDescription:"64 digits of lower-case hex" doc:"Of the wallet's transaction"`
	Stars       int64  `json:"stars" minimum:"0"`
	PaidNano    int64  `json:"paid_nano" minimum:"0"`
}
