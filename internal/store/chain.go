package store

import (
	"context"
	"time"
)

// Wallet is a wallet of ours and how far its history is known.
type Wallet struct {
	Address    string     `db:"address"`
	CursorLT   int64      `db:"cursor_lt"` // of the last transaction that is known; 0: none
	CursorHash string     `db:"cursor_hash"`
	ScannedTo  *time.Time `db:"scanned_to"` // chain time up to which the history is complete; nil: never scanned
	NextSeqno  int64      `db:"next_seqno"` // above every seqno that we know to be used
}

// WalletStart is where the record of a wallet begins: the zero value for its very first transaction, else after a
// transaction, with the balance that the wallet had then.
type WalletStart struct {
	LT          int64
	Hash        string
	BalanceNano int64
}

// OpenWallet begins the record of a wallet, unless it is there already.
func (s *Store) OpenWallet(ctx context.Context, address string, start WalletStart) (Wallet, error) {
	panic("not built yet") // the API comes first
}

// WalletByAddress finds a wallet: WALLET_NOT_FOUND when its record was never begun.
func (s *Store) WalletByAddress(ctx context.Context, address string) (Wallet, error) {
	panic("not built yet") // the API comes first
}

// ChainTransaction is a finalised transaction of a wallet of ours. Hashes are lower-case hex, addresses raw, amounts nanoTON.
type ChainTransaction struct {
	LT             int64
	Hash           string
	PrevLT         int64 // of the wallet's transaction before this one; 0: it is the first
	PrevHash       string
	At             time.Time // the chain's clock
	Aborted        bool
	ComputeOK      bool // the contract ran and ended well
	ExitCode       int
	ActionOK       bool // what it wanted to send was sent, but for what was skipped
	SkippedActions int
	FeeNano        int64 // all fees: those of the transaction and the forward fees of its messages, so that the balance moves by in − out − fee

	In  InMessage
	Out []OutMessage
	// Deposit is true of a transfer that asks for Stars. What the record knows better wins: no message that bounced, comes from the
	// wallet itself or from an address that Stars were bought at is one.
	Deposit bool
	Comment string // of a deposit
}

// InMessage is what a wallet was called with.
type InMessage struct {
	Hash     string
	HashNorm string // of a message from outside, else empty
	Source   string // empty: from outside
	Nano     int64
	Bounced  bool
}

// OutMessage is what a wallet sent.
type OutMessage struct {
	Hash        string
	Destination string
	Nano        int64
	BodyHash    string
}

// Ingested is what a page of history brought.
type Ingested struct {
	Written     int      // transactions that were new
	NewDeposits []string // hashes of new pending transactions
	Settled     []PaymentRef
	Granted     *QueueEntry // who has the turn now because of it
}

// IngestChain writes a page of a wallet's history, oldest first, in one database transaction: the chain's transactions, the
// cursor, new pending transactions, settled payments, the ledger. What is known already is passed over, if it is the same; a
// transaction that does not follow its predecessor is refused with CHAIN_GAP, and nothing of the page is written.
//
// head, when it is not zero, says that with this page every transaction up to that chain time is known and that none can come
// any more that is older. Then signed payments that were valid until before it and were not found are dead.
//
// At last the wallet's turn is given to the next in line, if it is free.
func (s *Store) IngestChain(ctx context.Context, wallet string, page []ChainTransaction, head time.Time) (Ingested, error) {
	panic("not built yet") // the API comes first
}

// Untold is what workflows should be told and may not have been. Each is told again until it is marked.
type Untold struct {
	Starts  []string         // transactions whose workflow was never started: MarkTransactionStarted
	Settled []SettledPayment // MarkSettledTold
	Turns   []QueueEntry     // MarkTurnTold
}

// SettledPayment is a payment that the chain has decided, and whose it is.
type SettledPayment struct {
	TransactionHash string `db:"transaction_hash"`
	PaymentID       int64  `db:"id"`
}

// UntoldOf lists up to limit of each kind.
func (s *Store) UntoldOf(ctx context.Context, wallet string, limit int) (Untold, error) {
	panic("not built yet") // the API comes first
}

// MarkSettledTold remembers that a transaction's workflow knows how its payment was settled.
func (s *Store) MarkSettledTold(ctx context.Context, paymentID int64) error {
	panic("not built yet") // the API comes first
}

// MarkTurnTold remembers that a transaction's workflow knows of its turn.
func (s *Store) MarkTurnTold(ctx context.Context, hash string, kind PaymentKind) error {
	panic("not built yet") // the API comes first
}
