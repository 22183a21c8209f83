// Package ton is our hand on the TON blockchain: addresses, text comments, and a V5R1 wallet that signs payments. It
// does no I/O but to read a key file; toncenter carries what it signs.
package ton

import (
	"errors"
	"time"

	"stagecoach/internal/money"
)

var errNotBuilt = errors.New("not built yet")

// Address is an account's address; two of them are equal when == says so. The zero Address is nobody's.
type Address struct {
	workchain int8
	hash      [32]byte
}

// ParseAddress reads a raw ("0:…") or a friendly address. bounceable is what a friendly one says of itself (EQ… true,
// UQ… false), and false for a raw one.
func ParseAddress(text string) (address Address, bounceable bool, err error) {
	return Address{}, false, errNotBuilt
}

// Raw gives "0:" and 64 lower-case hex digits.
func (a Address) Raw() string { return "" }

// Friendly gives the form that people copy: EQ… when bounceable, else UQ….
func (a Address) Friendly(bounceable bool) string { return "" }

// Key is a wallet's private key. It never prints itself.
type Key struct{}

// ParseKey reads 24 words, a seed of 32 bytes in hex, or a private key of 64 bytes in hex.
func ParseKey(text string) (Key, error) { return Key{}, errNotBuilt }

// ReadKey reads what ParseKey reads from a file that nobody but its owner may open.
func ReadKey(path string) (Key, error) { return Key{}, errNotBuilt }

// Networks, as their global ids.
const (
	Mainnet int32 = -239
	Testnet int32 = -3
)

// Wallet signs payments of a V5R1 wallet. It is safe for concurrent use and connects to nothing.
type Wallet struct{}

// NewWallet makes the V5R1 wallet that the key has in a network.
func NewWallet(key Key, network int32) (*Wallet, error) { return nil, errNotBuilt }

// Address gives the wallet's address.
func (w *Wallet) Address() Address { return Address{} }

// PublicKey gives the wallet's public key in hex.
func (w *Wallet) PublicKey() string { return "" }

// StateInit gives the contract's first state as a BoC: what a site asks for to know the wallet's owner.
func (w *Wallet) StateInit() []byte { return nil }

// Payment is one transfer out of the wallet.
type Payment struct {
	To     Address
	Amount money.Nano
	Body   []byte // a BoC, passed on as it is; nil: none
	Bounce bool   // the money comes back when the receiver cannot take it
}

// Signed is a payment order ready to be broadcast as often as needed: it can be carried out once at most.
type Signed struct {
	BoC        []byte
	Hash       string    // normalized message hash (TEP-467) in lower-case hex: toncenter's hash_norm
	ValidUntil time.Time // whole seconds; dead on a chain whose time is later
	Seqno      uint32
	BodyHash   string // hash of the payment's own body, as the chain will show it, in lower-case hex
}

// Sign makes the order for one payment. The same input always gives the same bytes. With seqno 0 the order brings the
// contract along, for a wallet that never paid before.
func (w *Wallet) Sign(seqno uint32, validUntil time.Time, payment Payment) (Signed, error) {
	return Signed{}, errNotBuilt
}

// Comment gives the text of a body that is a text comment, over as many cells as it takes; false when it is something
// else.
func Comment(body []byte) (text string, ok bool) { return "", false }

// CommentBody makes the body of a text comment, as a BoC.
func CommentBody(text string) ([]byte, error) { return nil, errNotBuilt }

// BodyHash gives the hash of a body's root cell in lower-case hex; an empty body has the hash of an empty cell.
func BodyHash(body []byte) (string, error) { return "", errNotBuilt }
