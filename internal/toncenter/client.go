// Package toncenter is a client for the part of the toncenter v3 API that transactions need: an account's history, its
// balance, the chain's clock, and the broadcast of a signed message. It never retries on its own, because Temporal
// counts the tries. A call that its caller cancelled returns context.Canceled, every other failure is a *fault.Error.
package toncenter

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/money"
)

var errNotBuilt = errors.New("not built yet")

// Options configure a Client.
type Options struct {
	URL               string        // base address; default https://toncenter.com
	APIKey            string        // optional: more requests per second
	ConnectTimeout    time.Duration // for the TCP and again for the TLS handshake; default 5 s
	CallTimeout       time.Duration // for one call with its answer; default 15 s
	RequestsPerSecond float64       // 0: 1 without a key, 10 with one

	// OnLatency, when set, is told how long each request took, by operation: "transactions", "message", "broadcast",
	// "wallet", "head".
	OnLatency func(op string, d time.Duration)
}

// Client asks one toncenter. It is safe for concurrent use.
type Client struct{}

// New makes a Client; it connects to nothing yet.
func New(o Options) *Client { return &Client{} }

// Finality says how sure it is that a transaction stays.
type Finality string

// Only a finalized transaction is there for good.
const (
	Pending   Finality = "pending"
	Confirmed Finality = "confirmed"
	Finalized Finality = "finalized"
)

// Transaction is what an account did with one message. Hashes are lower-case hex, addresses raw ("0:…").
type Transaction struct {
	Account  string
	Hash     string
	LT       uint64
	At       time.Time
	PrevHash string
	PrevLT   uint64 // the account's transaction before this one: a gap shows here
	Finality Finality
	Aborted  bool
	Compute  *Compute // nil: the contract was not run
	Action   *Action  // nil: there was no action phase
	Fees     money.Nano
	In       *Message
	Out      []Message
}

// Compute is how the contract ended.
type Compute struct {
	Success  bool
	ExitCode int
}

// Action is what became of the messages that the contract wanted to send.
type Action struct {
	Success    bool
	ResultCode int
	Total      int
	Skipped    int // above 0 something was not sent, however successful the rest looks
	Created    int
}

// Message is one message into or out of an account.
type Message struct {
	Hash        string
	NormHash    string // of an external message: the hash that ton.Signed names
	Source      string // empty for a message from outside
	Destination string
	Value       money.Nano
	Bounce      bool
	Bounced     bool    // the money of an earlier message, coming back
	Opcode      *uint32 // nil: the body has none
	Comment     *string // nil: no text comment
	Body        []byte  // a BoC
	BodyHash    string
	CreatedLT   uint64
}

// Page says which part of an account's history is wanted, oldest first.
type Page struct {
	Account string // raw or friendly
	FromLT  uint64 // inclusive
	ToLT    uint64 // inclusive; 0: up to now
	Limit   int    // 1..1000; 0: 100
	Offset  int
}

// Transactions gives a page of an account's history, oldest first, whatever its finality.
func (c *Client) Transactions(ctx context.Context, page Page) ([]Transaction, error) {
	return nil, errNotBuilt
}

// TransactionsByMessage gives the transactions that a message with this hash (normalized or not, hex) caused.
func (c *Client) TransactionsByMessage(ctx context.Context, hash string) ([]Transaction, error) {
	return nil, errNotBuilt
}

// Outcome is what is known about a broadcast.
type Outcome string

// None of them says whether the message is on the chain: an accepted one may never get there, and a rejected one may
// be there already.
const (
	Unknown  Outcome = "unknown" // no verdict came
	Accepted Outcome = "accepted"
	Rejected Outcome = "rejected"
)

// Receipt is the answer to a broadcast.
type Receipt struct {
	Outcome  Outcome
	Hash     string // when accepted
	NormHash string // when accepted
	ExitCode int    // when the contract rejected it: 133 wrong seqno, 136 too late, …; else 0
}

// Broadcast hands a signed message to the network. With an error the outcome is Unknown.
func (c *Client) Broadcast(ctx context.Context, boc []byte) (Receipt, error) {
	return Receipt{Outcome: Unknown}, errNotBuilt
}

// Wallet is the state of a wallet contract.
type Wallet struct {
	Balance  money.Nano
	Seqno    uint32 // 0 for a contract that is not there yet
	Active   bool   // the contract is there
	LastLT   uint64
	LastHash string
}

// Wallet asks for an account's balance and next seqno.
func (c *Client) Wallet(ctx context.Context, account string) (Wallet, error) {
	return Wallet{}, errNotBuilt
}

// Head is the newest block of the masterchain: what is older than it is final.
type Head struct {
	Seqno uint32
	At    time.Time // the chain's clock
}

// Head asks for the chain's clock.
func (c *Client) Head(ctx context.Context) (Head, error) { return Head{}, errNotBuilt }
