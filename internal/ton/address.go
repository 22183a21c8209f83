// Package ton has addresses and text comments of the TON blockchain, and a V5R1 wallet that signs payments. Its only
// I/O is to read a key file; package toncenter sends what it signs.
package ton

import (
	"errors"
	"strings"

	"github.com/xssnick/tonutils-go/address"
)

// Address is an account's address, comparable with ==. The zero Address belongs to no account.
type Address struct {
	workchain int8
	hash      [32]byte
}

var errAddress = errors.New("this is not a TON address")

// ParseAddress reads a raw ("0:…") or a friendly address. bounceable is a friendly address's flag (EQ… true, UQ…
// false), and false for a raw one.
func ParseAddress(text string) (parsed Address, bounceable bool, err error) {
	var a *address.Address
	if strings.Contains(text, ":") {
		a, err = address.ParseRawAddr(text)
	} else {
		a, err = address.ParseAddr(strings.NewReplacer("+", "-", "/", "_").Replace(text))
		bounceable = err == nil && a.IsBounceable()
	}

	if err != nil {
		return Address{}, false, errAddress // the library's own error contains the text
	}
	return fromLibrary(a), bounceable, nil
}

// Raw returns the workchain, a colon and 64 lower-case hex digits.
func (a Address) Raw() string { return a.library(false).StringRaw() }

// Friendly returns the form that people copy, for the main network: EQ… if bounceable, otherwise UQ….
func (a Address) Friendly(bounceable bool) string { return a.library(bounceable).String() }

func (a Address) library(bounceable bool) *address.Address {
	return address.NewAddress(0, byte(a.workchain), a.hash[:]).Bounce(bounceable)
}

func fromLibrary(a *address.Address) (own Address) {
	own.workchain = int8(a.Workchain())
	copy(own.hash[:], a.Data())
	return own
}
