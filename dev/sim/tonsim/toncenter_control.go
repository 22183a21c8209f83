package tonsim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/dev/sim"
)

// Deposit is a transfer to the service's wallet.
type Deposit struct {
	From       string `json:"from"` // an address in any form, or a name that stands for one; empty: some sender
	AmountNano int64  `json:"amount_nano"`
	Comment    string `json:"comment"`
	// the kind of body, see depositKinds; empty: a text comment, or no body without a comment
	Kind string `json:"kind"`
}

// depositKinds make the bodies of deposits. All but the first two only look like deposits.
var depositKinds = map[string]func(Deposit) (*cell.Cell, error){
	"": func(d Deposit) (*cell.Cell, error) {
		if d.Comment == "" {
			return cell.BeginCell().EndCell(), nil
		}
		return wallet.CreateCommentCell(d.Comment)
	},
	"binary": func(Deposit) (*cell.Cell, error) { // text without the prefix of a comment
		return cell.BeginCell().MustStoreUInt(0, 32).MustStoreSlice([]byte{0xff, 0xfe, 0, 0x80}, 32).EndCell(), nil
	},
	"opcode": func(Deposit) (*cell.Cell, error) { // the request of a contract
		return cell.BeginCell().MustStoreUInt(0xd53276db, 32).MustStoreUInt(1, 64).EndCell(), nil
	},
	"encrypted": func(d Deposit) (*cell.Cell, error) {
		secret := sha256.Sum256([]byte(d.Comment))
		return cell.BeginCell().MustStoreUInt(
			wallet.EncryptedCommentOpcode, 32,
		).MustStoreSlice(secret[:], 256).MustStoreSlice(secret[:], 256).EndCell(), nil
	},
	"jetton": jettonNotice,
	"bounced": func(d Deposit) (*cell.Cell, error) { // the beginning of the body that was sent is returned
		text := []byte(d.Comment)
		text = text[:min(len(text), 28)]
		return cell.BeginCell().MustStoreUInt(0xffffffff, 32).MustStoreUInt(0, 32).MustStoreSlice(
			text, uint(len(text))*8,
		).EndCell(), nil
	},
}

// jettonNotice is the message with which a wallet receives tokens. The comment is the token sender's; its TON are
// change.
func jettonNotice(d Deposit) (*cell.Cell, error) {
	comment, err := wallet.CreateCommentCell(d.Comment)
	if err != nil {
		return nil, err
	}
	owner := sha256.Sum256([]byte("owner of tokens"))
	return cell.BeginCell().MustStoreUInt(0x7362d09c, 32).MustStoreUInt(1, 64).MustStoreCoins(1_000_000).
		MustStoreAddr(address.NewAddress(0, 0, owner[:])).MustStoreBoolBit(true).MustStoreRef(comment).EndCell(), nil
}

// Deposit makes a deposit, which is in a block immediately. It returns the hash of the wallet's transaction in hex.
func (t *TonCenter) Deposit(d Deposit) (string, error) {
	body, ok := depositKinds[d.Kind]
	if !ok {
		return "", fmt.Errorf(
			"unknown kind of deposit %q; allowed: %s", d.Kind, strings.Join(slices.Sorted(maps.Keys(depositKinds))[1:], ", "),
		)
	}
	if d.AmountNano < 0 {
		return "", errors.New("amount_nano must not be negative")
	}

	payload, err := body(d)
	if err != nil {
		return "", err
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	if err := t.chain.catchUp(); err != nil {
		return "", err
	}

	from, err := t.sender(d.From)
	if err != nil {
		return "", err
	}

	now := t.chain.now()
	message, err := tlb.ToCell(&tlb.InternalMessage{
		IHRDisabled: true, Bounced: d.Kind == "bounced", SrcAddr: from, DstAddr: t.wallet,
		Amount: tlb.FromNanoTON(big.NewInt(d.AmountNano)), FwdFee: tlb.FromNanoTONU(400_000),
		CreatedLT: t.chain.state.lt, CreatedAt: uint32(now.Unix()), Body: payload,
	})
	if err != nil {
		return "", err
	}

	made, err := t.chain.take(message, now, chainEntry{})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(made.view.Hash[:]), t.chain.catchUp()
}

// sender returns the address that a deposit is from.
func (t *TonCenter) sender(text string) (*address.Address, error) {
	if strings.Contains(text, ":") || len(text) == 48 {
		return parseAccount(text)
	}
	if text == "" {
		text = strconv.Itoa(len(t.chain.state.transactions) % 16)
	}
	id := sha256.Sum256([]byte("sender " + text))
	return address.NewAddress(0, 0, id[:]), nil
}

func (t *TonCenter) postDeposit(w http.ResponseWriter, r *http.Request) {
	var d Deposit
	if !sim.ReadControl(w, r, &d) {
		return
	}
	id, err := t.Deposit(d)
	if err != nil {
		sim.WriteControlError(w, http.StatusBadRequest, err)
		return
	}
	sim.WriteJSON(w, http.StatusOK, map[string]string{"hash": id})
}

// SetBalance sets an account's balance without a transfer; an empty address is the service's wallet.
func (t *TonCenter) SetBalance(at string, nano int64) error {
	return t.ChangeBalance(at, func(int64) int64 { return nano })
}

// ChangeBalance is SetBalance with a new value computed from the current one, atomically.
func (t *TonCenter) ChangeBalance(at string, change func(nano int64) int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	if err := t.chain.catchUp(); err != nil {
		return err
	}

	address := t.wallet
	if at != "" {
		var err error
		if address, err = parseAccount(at); err != nil {
			return err
		}
	}

	now, err := t.chain.account(address)
	if err != nil {
		return err
	}

	var held int64
	if state := now.State(); state.IsValid {
		held = state.Balance.Nano().Int64()
	}

	nano := change(held)
	if nano < 0 {
		return errors.New("balance_nano must not be negative")
	}
	return t.chain.setAccount(address, nano, nil)
}

// Steering changes the behaviour of the chain; a nil field changes nothing.
type Steering struct {
	AdvanceMS   int64  `json:"advance_ms"`    // advances the clock
	BlockTimeMS *int64 `json:"block_time_ms"` // see TonCenterOptions
	FinalityMS  *int64 `json:"finality_ms"`   // see TonCenterOptions
	DelayMS     *int64 `json:"delay_ms"`      // until a broadcast is included, in addition to the block time
	Drop        *int   `json:"drop"`          // number of broadcasts that are accepted and then dropped
	Hide        *int   `json:"hide"`          // number of transactions that are missing in all responses until revealed
	Reveal      bool   `json:"reveal"`        // shows hidden transactions and stops hiding
	Twice       *bool  `json:"twice"`         // lists have each transaction twice
	Unsettled   *bool  `json:"unsettled"`     // lists contain no final transaction, although the chain continues
	// true: queued messages stay out of blocks; false: those of them that are due go into the next block
	Hold *bool `json:"hold"`
}

// Steer changes the behaviour of the chain.
func (t *TonCenter) Steer(s Steering) error {
	t.mu.Lock()
	defer t.mu.Unlock()

	if err := t.chain.catchUp(); err != nil {
		return err
	}

	next := t.chain.state.settings
	var advance time.Duration
	if err := errors.Join(
		sim.Milliseconds("advance_ms", &advance, &s.AdvanceMS),
		sim.Milliseconds("block_time_ms", &next.BlockTime, s.BlockTimeMS),
		sim.Milliseconds("finality_ms", &next.Finality, s.FinalityMS),
		sim.Milliseconds("delay_ms", &next.Delay, s.DelayMS),
	); err != nil {
		return err
	}

	next.Offset += advance
	if s.Reveal {
		next.Hide = 0
	}

	for into, n := range map[*int]*int{&next.Drop: s.Drop, &next.Hide: s.Hide} {
		if n != nil {
			*into = *n
		}
	}

	for into, on := range map[*bool]*bool{&next.Twice: s.Twice, &next.Unsettled: s.Unsettled} {
		if on != nil {
			*into = *on
		}
	}

	if min(next.Drop, next.Hide) < 0 {
		return errors.New("drop and hide must not be negative")
	}

	entry := chainEntry{Settings: &next, Reveal: s.Reveal}
	if s.Hold != nil {
		if next.Hold = *s.Hold; !next.Hold && t.chain.state.settings.Hold {
			entry.Released = t.chain.nextBlock(t.chain.clock().Add(next.Offset)) // no block is added to the past
		}
	}
	if err := t.chain.commit(entry); err != nil {
		return err
	}

	return t.chain.catchUp()
}

// getChain names the two wallets, and the times that postChain can change.
func (t *TonCenter) getChain(w http.ResponseWriter, _ *http.Request) {
	t.mu.Lock()
	now := t.chain.state.settings
	t.mu.Unlock()
	sim.WriteJSON(w, http.StatusOK, map[string]any{
		"wallet": t.Wallet(), "shop": t.Shop(),
		"block_time_ms": now.BlockTime.Milliseconds(), "finality_ms": now.Finality.Milliseconds(),
	})
}

func (t *TonCenter) postChain(w http.ResponseWriter, r *http.Request) {
	var s Steering
	if !sim.ReadControl(w, r, &s) {
		return
	}
	if err := t.Steer(s); err != nil {
		sim.WriteControlError(w, http.StatusBadRequest, err)
		return
	}
	t.getChain(w, r)
}

// Hold keeps queued messages out of blocks until Release. Broadcasts are accepted, and deposits are not queued.
func (t *TonCenter) Hold() error { return t.hold(true) }

// Release puts the held messages into the next block, in the order of their arrival.
func (t *TonCenter) Release() error { return t.hold(false) }

func (t *TonCenter) hold(held bool) error { return t.Steer(Steering{Hold: &held}) }
