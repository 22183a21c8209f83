package toncenter

import (
	"time"

	"stagecoach/internal/money"
	"stagecoach/internal/ton"
)

// Finality is how certain a transaction is.
type Finality string

// Only a finalized transaction is permanent.
const (
	Pending   Finality = "pending"
	Confirmed Finality = "confirmed"
	Finalized Finality = "finalized"
)

// Transaction is what an account did with one message. Hashes are lower-case hex.
type Transaction struct {
	Account  ton.Address
	Hash     string
	LT       uint64
	At       time.Time
	PrevHash string
	PrevLT   uint64 // of the account's previous transaction: a gap shows here
	Finality Finality
	Aborted  bool
	Compute  *Compute // nil: the contract was not run
	Action   *Action  // nil: there was no action phase
	Fees     money.Nano
	In       *Message
	Out      []Message
}

// Compute is the result of running the contract.
type Compute struct {
	Success  bool
	ExitCode int
}

// Action is the result of sending the contract's messages.
type Action struct {
	Success bool
	Skipped int // above 0: a message was not sent, even if everything else reports success
}

// Message is one message into or out of an account.
type Message struct {
	Hash        string
	NormHash    string      // of an external message: the hash in ton.Signed; otherwise empty
	Source      ton.Address // zero for an external message
	Destination ton.Address // zero for a message to outside
	Value       money.Nano
	Fee         money.Nano // forwarding fee, paid by the sender besides the value and the transaction's fees
	Bounced     bool       // an earlier message's money, coming back
	Opcode      *uint32    // the body's first four bytes; nil: it is shorter
	Comment     *string    // nil: no text comment
	Body        []byte     // a BoC; nil: not in toncenter's answer
	BodyHash    string     // empty without a Body, or if it is unreadable
	Unreadable  bool       // the Body, made by another contract, is unreadable
}

// SentBack reports whether the account returned the incoming message's money and kept nothing.
func (t Transaction) SentBack() bool {
	for _, out := range t.Out {
		if out.Bounced {
			return true
		}
	}
	return false
}

// A comment is a body with one of these opcodes. Only the owner of the receiving key can decrypt the second.
const (
	textComment      = 0
	encryptedComment = 0x2167da4b
)

// IsDeposit reports whether plain TON came in and stayed, with or without a comment. It ignores the amount and the
// finality. An aborted transaction may keep the money too: a wallet that was never used has no contract to run yet. An
// unreadable message is no deposit; one whose comment is encrypted is, without a Comment.
func (t Transaction) IsDeposit() bool {
	m := t.In
	return m != nil && !m.Unreadable && m.Source != (ton.Address{}) && !m.Bounced && !t.SentBack() &&
		(m.Opcode == nil || *m.Opcode == textComment || *m.Opcode == encryptedComment)
}
