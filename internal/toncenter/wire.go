package toncenter

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/money"
	"stagecoach/internal/ton"
)

// number is an integer, which toncenter quotes if it has 64 bits. null is 0.
type number uint64

// UnmarshalJSON reads a number with or without quotation marks.
func (n *number) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	v, err := strconv.ParseUint(text, 10, 64)
	*n = number(v)
	return err
}

// amount is nanoTON, as a quoted or unquoted number. null is 0.
type amount money.Nano

// UnmarshalJSON reads an amount; a negative one is refused.
func (a *amount) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	v, err := money.ParseNano(text)
	*a = amount(v)
	return err
}

// hash is a hash in base64 on the wire, and in lower-case hex in memory; empty: none.
type hash string

// UnmarshalText reads base64.
func (h *hash) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || len(raw) != 32 {
		return errors.New("not a hash")
	}
	*h = hash(hex.EncodeToString(raw))
	return nil
}

// account is an address that may be null or empty.
type account ton.Address

// UnmarshalText reads any form of an address.
func (a *account) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	parsed, _, err := ton.ParseAddress(string(text))
	*a = account(parsed)
	return err
}

type wireTransaction struct {
	Account     account `json:"account"`
	Hash        hash    `json:"hash"`
	LT          number  `json:"lt"`
	Now         number  `json:"now"`
	PrevHash    hash    `json:"prev_trans_hash"`
	PrevLT      number  `json:"prev_trans_lt"`
	Fees        amount  `json:"total_fees"`
	Emulated    bool    `json:"emulated"`
	Finality    string  `json:"finality"`
	Description *struct {
		Aborted bool `json:"aborted"`
		Compute *struct {
			Skipped  bool  `json:"skipped"`
			Success  bool  `json:"success"`
			ExitCode int32 `json:"exit_code"`
		} `json:"compute_ph"`
		Action *struct {
			Success bool  `json:"success"`
			Skipped int32 `json:"skipped_actions"`
		} `json:"action"`
	} `json:"description"`
	In  *wireMessage  `json:"in_msg"`
	Out []wireMessage `json:"out_msgs"`
}

type wireMessage struct {
	Hash        hash    `json:"hash"`
	NormHash    hash    `json:"hash_norm"`
	Source      account `json:"source"`
	Destination account `json:"destination"`
	Value       amount  `json:"value"`
	FwdFee      amount  `json:"fwd_fee"`
	IHRFee      amount  `json:"ihr_fee"`
	Bounced     bool    `json:"bounced"`
	Opcode      string  `json:"opcode"`
	Content     struct {
		Body    []byte          `json:"body"`
		Decoded json.RawMessage `json:"decoded"` // any JSON: the message's sender decides
	} `json:"message_content"`
}

func (w wireTransaction) transaction() (Transaction, error) {
	if w.Hash == "" || w.LT == 0 || w.Account == (account{}) || w.Now == 0 || w.Now > 1<<32-1 || w.Description == nil || w.Out == nil {
		return Transaction{}, errors.New("a transaction without a hash, a time, an account, a description or its messages")
	}

	t := Transaction{
		Account: ton.Address(w.Account), Hash: string(w.Hash), LT: uint64(w.LT), At: time.Unix(int64(w.Now), 0).UTC(),
		PrevHash: string(w.PrevHash), PrevLT: uint64(w.PrevLT), Aborted: w.Description.Aborted, Fees: money.Nano(w.Fees),
		Finality: Pending, // if the answer has no finality
	}

	if f := Finality(w.Finality); !w.Emulated && (f == Confirmed || f == Finalized) {
		t.Finality = f
	}

	if c := w.Description.Compute; c != nil && !c.Skipped {
		t.Compute = &Compute{Success: c.Success, ExitCode: int(c.ExitCode)}
	}

	if a := w.Description.Action; a != nil {
		t.Action = &Action{Success: a.Success, Skipped: int(a.Skipped)}
	}

	if w.In != nil {
		m, err := w.In.message()
		if err != nil {
			return Transaction{}, err
		}
		t.In = &m
	}

	for _, out := range w.Out {
		m, err := out.message()
		if err == nil && m.Unreadable {
			err = errors.New("a message out that cannot be read")
		}
		if err != nil {
			return Transaction{}, err
		}
		t.Out = append(t.Out, m)
	}

	return t, nil
}

// message reads a message. The body is what the chain has. toncenter's own reading of the body is used only if the body
// is missing, which happens.
func (w wireMessage) message() (Message, error) {
	m := Message{
		Hash: string(w.Hash), NormHash: string(w.NormHash), Source: ton.Address(w.Source),
		Destination: ton.Address(w.Destination), Value: money.Nano(w.Value), Fee: money.Nano(w.FwdFee + w.IHRFee),
		Bounced: w.Bounced, Body: w.Content.Body,
	}
	if m.Hash == "" {
		return Message{}, errors.New("a message without a hash")
	}

	if len(m.Body) == 0 {
		if opcode, err := strconv.ParseUint(w.Opcode, 0, 32); err == nil {
			first := uint32(opcode)
			m.Opcode = &first
		}

		var decoded struct {
			Type    string  `json:"type"`
			Comment *string `json:"comment"`
		}
		if json.Unmarshal(w.Content.Decoded, &decoded) == nil && decoded.Type == "text_comment" {
			m.Comment = decoded.Comment
		}
		return m, nil
	}

	var err error
	if m.BodyHash, err = ton.BodyHash(m.Body); err != nil {
		if m.Source == (ton.Address{}) {
			return Message{}, err // one of our own payments must not be overlooked
		}
		m.Unreadable = true
		return m, nil
	}

	if opcode, ok := ton.Opcode(m.Body); ok {
		m.Opcode = &opcode
	}

	if text, ok := ton.Comment(m.Body); ok {
		m.Comment = &text
	}
	return m, nil
}
