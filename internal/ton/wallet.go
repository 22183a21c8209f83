package ton

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/internal/money"
)

// Networks, as their global ids.
const (
	Mainnet int32 = wallet.MainnetGlobalID
	Testnet int32 = wallet.TestnetGlobalID
)

// signedExternal marks a V5R1 request that comes as a signed external message ("sign").
const signedExternal = 0x7369676e

// Wallet signs payments of a V5R1 wallet. It is safe for concurrent use and makes no connections.
type Wallet struct {
	key     Key
	id      wallet.V5R1ID
	address Address
	init    *tlb.StateInit
	initBoC []byte
}

// NewWallet makes the key's V5R1 wallet in a network.
func NewWallet(key Key, network int32) (*Wallet, error) {
	if key.private == nil || network == 0 {
		return nil, errors.New("a wallet needs a key and a network")
	}

	public := key.private().Public().(ed25519.PublicKey)
	version := wallet.ConfigV5R1Final{NetworkGlobalID: network}
	init, err := wallet.GetStateInit(public, version, 0)
	if err != nil {
		return nil, errWallet
	}

	root, err := tlb.ToCell(init)
	if err != nil {
		return nil, errWallet
	}

	at, err := wallet.AddressFromPubKey(public, version, 0)
	if err != nil {
		return nil, errWallet
	}
	return &Wallet{
		key: key, id: wallet.V5R1ID{NetworkGlobalID: network}, address: fromLibrary(at), init: init, initBoC: root.ToBOC(),
	}, nil
}

var errWallet = errors.New("the wallet's address cannot be made of this key")

func (w *Wallet) Address() Address { return w.address }

// PublicKey returns the wallet's public key in lower-case hex.
func (w *Wallet) PublicKey() string {
	return hex.EncodeToString(w.key.private().Public().(ed25519.PublicKey))
}

// StateInit returns the contract's initial state as a BoC, by which a site identifies the wallet's owner.
func (w *Wallet) StateInit() []byte { return w.initBoC }

// Network returns the global id of the wallet's network.
func (w *Wallet) Network() int32 { return w.id.NetworkGlobalID }

// Payment is one transfer out of the wallet.
type Payment struct {
	To     Address
	Amount money.Nano
	Body   []byte // a BoC, passed on unchanged; nil: none
	Bounce bool   // the money comes back if the receiver cannot accept it
}

// Signed is a payment order that may be broadcast as often as needed: the wallet executes it at most once. An executed
// order may have paid nothing, because the wallet silently skips what it cannot afford.
type Signed struct {
	BoC        []byte
	Hash       string    // normalized message hash (TEP-467) in lower-case hex: toncenter's hash_norm
	ValidUntil time.Time // dead on a chain whose time is this or later
}

// Sign makes the order for a payment, which the wallet skips if it cannot afford it. The same input always gives the
// same bytes. validUntil has no fractional seconds. With seqno 0 the order contains the contract, for a wallet that has
// never paid before.
func (w *Wallet) Sign(seqno uint32, validUntil time.Time, payment Payment) (Signed, error) {
	until := validUntil.Unix()
	if until <= 0 || until > math.MaxUint32 || validUntil.Nanosecond() != 0 {
		return Signed{}, errors.New("an order's last moment must be a whole second of this century")
	}

	transfer, err := payment.message()
	if err != nil {
		return Signed{}, err
	}

	// The library's function for complete messages reads the clock; its parts do not.
	actions, err := wallet.PackV5OutActions([]*wallet.Message{transfer})
	if err != nil {
		return Signed{}, errSign
	}

	request := cell.BeginCell()
	for _, number := range []uint64{signedExternal, uint64(w.id.Serialized()), uint64(until), uint64(seqno)} {
		err = errors.Join(err, request.StoreUInt(number, 32))
	}

	if err = errors.Join(err, request.StoreBuilder(actions)); err != nil {
		return Signed{}, errSign
	}
	if err := request.StoreSlice(request.Copy().EndCell().Sign(w.key.private()), 8*ed25519.SignatureSize); err != nil {
		return Signed{}, errSign
	}

	message := &tlb.ExternalMessage{DstAddr: w.address.library(true), Body: request.EndCell()}
	if seqno == 0 {
		message.StateInit = w.init
	}

	root, err := tlb.ToCell(message)
	if err != nil {
		return Signed{}, errSign
	}
	return Signed{
		BoC: root.ToBOC(), Hash: hex.EncodeToString(message.NormalizedHash()), ValidUntil: validUntil,
	}, nil
}

// message is the wallet's message that makes a payment.
func (p Payment) message() (*wallet.Message, error) {
	if p.Amount <= 0 || p.To == (Address{}) {
		return nil, errors.New("a payment needs a receiver and an amount")
	}
	body, err := parseBody(p.Body)
	if err != nil {
		return nil, err
	}

	return &wallet.Message{
		Mode: wallet.PayGasSeparately + wallet.IgnoreErrors, // V5R1 accepts no external request without "ignore errors"
		InternalMessage: &tlb.InternalMessage{
			IHRDisabled: true, Bounce: p.Bounce, DstAddr: p.To.library(p.Bounce),
			Amount: tlb.FromNanoTONU(uint64(p.Amount)), Body: body,
		},
	}, nil
}

var errSign = errors.New("the payment does not fit into a message")
