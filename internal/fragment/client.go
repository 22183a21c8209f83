// Package fragment is a client for the part of Fragment's web API that buys Telegram Stars for TON. None of its calls
// moves money: the payment that Link describes does, and that is signed elsewhere. It never retries on its own, but
// for one thing: a page hash that has changed is read anew once. A call that its caller cancelled returns
// context.Canceled, every other failure is a *fault.Error whose class ClassOf tells.
package fragment

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/money"
	"stagecoach/internal/ton"
)

var errNotBuilt = errors.New("not built yet")

// Options configure a Client.
type Options struct {
	URL               string            // base address; default https://fragment.com
	Cookies           map[string]string // the session: stel_ssid, stel_dt, stel_token, stel_ton_token
	Wallet            Account           // who pays
	ShowSender        bool              // whether the receiver is told who sent the Stars
	ConnectTimeout    time.Duration     // for the TCP and again for the TLS handshake; default 5 s
	CallTimeout       time.Duration     // for one call with its answer; default 15 s
	RequestsPerSecond float64           // 0: 2

	// OnLatency, when set, is told how long each request took, by Fragment's method; "page" for the page.
	OnLatency func(method string, d time.Duration)
}

// Account is the wallet that pays, as Fragment wants to know it.
type Account struct {
	Address   ton.Address
	PublicKey string // hex
	StateInit []byte // a BoC
	Network   int32  // ton.Mainnet
}

// Client is one session with Fragment. It is safe for concurrent use.
type Client struct{}

// New makes a Client; it connects to nothing yet.
func New(o Options) *Client { return &Client{} }

// Class says what to do about an error.
type Class string

// A retryable error may pass by itself, a non-retryable one never does. Nobody knows about an unknown one. At hold the
// session or the account needs an operator: no try of any purchase can succeed before.
const (
	Retryable    Class = "retryable"
	NonRetryable Class = "non-retryable"
	UnknownClass Class = "unknown"
	Hold         Class = "hold"
)

// ClassOf tells the class of an error of this package; UnknownClass for any other.
func ClassOf(err error) Class { return UnknownClass }

// Recipient is who gets Stars.
type Recipient struct {
	ID string // Fragment's own id: opaque
}

// Search finds a user. It works without a valid session too, so it is no check of one.
func (c *Client) Search(ctx context.Context, username string, stars int) (Recipient, error) {
	return Recipient{}, errNotBuilt
}

// Price tells what that many Stars cost now.
func (c *Client) Price(ctx context.Context, stars int) (money.Nano, error) { return 0, errNotBuilt }

// Request is a purchase that Fragment has noted; it costs nothing until it is paid.
type Request struct {
	ID     string
	Amount money.Nano
}

// Init notes a purchase.
func (c *Client) Init(ctx context.Context, recipient Recipient, stars int) (Request, error) {
	return Request{}, errNotBuilt
}

// Link is the payment that completes a request.
type Link struct {
	ValidUntil time.Time // a payment order must not live longer
	To         ton.Address
	Bounce     bool
	Amount     money.Nano
	Body       []byte // a BoC: pass it on as it is
	Comment    string // the text in Body: "50 Telegram Stars \n\nRef#…"
	ConfirmID  string // what Confirm wants; empty: there is nothing to confirm
}

// Link asks for the payment of a request.
func (c *Client) Link(ctx context.Context, requestID string) (Link, error) {
	return Link{}, errNotBuilt
}

// Confirm tells Fragment that the signed payment is on its way. Repeating it with the same BoC is harmless.
func (c *Client) Confirm(ctx context.Context, confirmID string, boc []byte) error { return errNotBuilt }

// State is how far the session's purchase has come.
type State struct {
	Mode       string // "new", "processing", "done"
	NeedUpdate bool
}

// Done tells whether the Stars have been sent.
func (s State) Done() bool { return s.Mode == "done" && !s.NeedUpdate }

// State asks how far the session's purchase has come. mode is the one that was answered last, "new" at first.
func (c *Client) State(ctx context.Context, mode string) (State, error) { return State{}, errNotBuilt }
