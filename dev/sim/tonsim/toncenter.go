// Package tonsim simulates the TON blockchain, two toncenters that report it, and Fragment, which is paid on it.
package tonsim

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tvm"

	"stagecoach/dev/sim"
)

// TonCenterOptions are the settings of the simulated TON blockchain behind a toncenter.
type TonCenterOptions struct {
	Dir        string // keeps the chain across restarts; empty: memory only
	PublicKey  string // of the service's V5R1 wallet, in hex
	Balance    int64  // initial balance of the wallet in nanoTON; 0 means 10 TON, negative none
	Undeployed bool   // the wallet's contract is deployed by its first payment
	// from a broadcast, and from each hop, to the next block; 0: everything happens immediately
	BlockTime time.Duration
	Finality  time.Duration    // from a transaction until it is final
	Latency   time.Duration    // added to every call
	Clock     func() time.Time `json:"-"` // the chain's clock before it is advanced; nil: the real one
}

// TonCenter simulates the toncenter v3 API. Real contracts run in an emulator behind it: the service's own wallet,
// Fragment's, and the accounts that people use.
type TonCenter struct {
	sim.Control
	options TonCenterOptions
	system  *http.ServeMux

	mu      sync.Mutex
	chain   *chain
	journal *sim.Journal[chainEntry]
	wallet  *address.Address
	shop    *address.Address
}

// NewTonCenter opens the simulator with the chain that an earlier one left in the same folder.
func NewTonCenter(o TonCenterOptions) (*TonCenter, error) {
	if o.Balance == 0 {
		o.Balance = 10_000_000_000
	}

	if o.Clock == nil {
		o.Clock = time.Now
	}

	publicKey, err := hex.DecodeString(o.PublicKey)
	if err != nil || len(publicKey) != ed25519.PublicKeySize {
		return nil, errors.New("toncenter simulator: the wallet's public key must be 64 hex digits")
	}

	rules, err := chainRules()
	if err != nil {
		return nil, fmt.Errorf("toncenter simulator: %w", err)
	}

	t := &TonCenter{options: o}
	t.chain = &chain{rules: rules, machine: tvm.NewTVM(), clock: o.Clock, state: newChainState()}
	if t.journal, err = sim.OpenJournal(o.Dir, t.chain.state.apply); err != nil {
		return nil, fmt.Errorf("toncenter simulator: %w", err)
	}

	t.chain.save = t.journal.Add
	if err := t.found(publicKey); err != nil {
		return nil, errors.Join(fmt.Errorf("toncenter simulator: %w", err), t.journal.Close())
	}

	t.addRoutes(t.SetUp(sim.Protocol{
		Mask: func(path string) string { return path }, Fail: failTonCenter, Named: tonCenterFaults,
	}))
	return t, nil
}

// found creates the first accounts of the chain: the service's wallet and the one that Fragment is paid to.
func (t *TonCenter) found(publicKey []byte) (err error) {
	settings := t.chain.state.settings
	settings.BlockTime, settings.Finality = t.options.BlockTime, t.options.Finality
	if settings != t.chain.state.settings {
		if err := t.chain.commit(chainEntry{Settings: &settings}); err != nil {
			return err
		}
	}

	balance, deployed := max(0, t.options.Balance), !t.options.Undeployed
	if t.wallet, err = t.chain.openWallet(publicKey, balance, deployed); err != nil {
		return err
	}

	t.shop, err = t.chain.openWallet(shopKey().Public().(ed25519.PublicKey), 1_000_000_000, true)
	return err
}

// shopKey is the key of the wallet that Fragment is paid to.
func shopKey() ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("the shop of the stand-in for Fragment"))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Close releases held connections and closes the journal; the handler must no longer be served.
func (t *TonCenter) Close() error {
	t.ClearFaults()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.journal.Close()
}

// Wallet returns the address of the service's wallet in the user-friendly form.
func (t *TonCenter) Wallet() string { return t.wallet.Bounce(false).String() }

// Shop returns the address of the wallet contract that Fragment is paid to.
func (t *TonCenter) Shop() string { return t.shop.Bounce(false).String() }

// tonCenterFaults are refusals of a broadcast that differ from the usual one of their status, and useless responses
// with status 200 to any call. Nothing is applied.
var tonCenterFaults = map[string]sim.Problem{
	"exit_133":  {Status: 500, Text: refusal("exitcode=133, steps=24, gas_used=0")},
	"exit_136":  {Status: 500, Text: refusal("exitcode=136, steps=24, gas_used=0")},
	"duplicate": {Status: 500, Text: duplicateMessage},
	"not_ok":    {Status: 200, Text: `{"ok":false}`},
	"empty":     {Status: 200, Text: `{}`},
	"null":      {Status: 200, Text: `null`},
}

const (
	notApplied       = "LITE_SERVER_UNKNOWN: cannot apply external message to current state : "
	duplicateMessage = notApplied + "duplicate message"
)

// refusal is a node's text for a message that a contract did not accept.
func refusal(how string) string {
	return notApplied + "External message was not accepted\nCannot run message on account: inbound external message rejected by transaction " +
		strings.Repeat("0", 64) + ":\n" + how + "\nVM Log (truncated):\n..."
}

// failTonCenter responds with an error as toncenter does.
func failTonCenter(w http.ResponseWriter, _ *http.Request, p sim.Problem) {
	switch {
	case p.Status == http.StatusOK:
		sim.WriteJSON(w, p.Status, json.RawMessage(p.Text))
	case p.Text != "":
		sim.WriteJSON(w, p.Status, map[string]string{"error": p.Text})
	case p.Status == http.StatusTooManyRequests:
		sim.WriteJSON(w, p.Status, map[string]any{"ok": false, "result": "Ratelimit exceed", "code": p.Status})
	default:
		sim.WriteJSON(w, p.Status, map[string]string{"error": http.StatusText(p.Status)})
	}
}

// ServeHTTP serves toncenter's API at the root and the control routes under /_/.
func (t *TonCenter) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.Serve(w, r, t.system) }
