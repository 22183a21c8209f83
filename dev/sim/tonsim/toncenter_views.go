package tonsim

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// hash identifies a cell. JSON shows it in base64.
type hash [32]byte

func toHash(b []byte) (h hash) {
	copy(h[:], b)
	return h
}

// MarshalText encodes base64.
func (h hash) MarshalText() ([]byte, error) {
	return []byte(base64.StdEncoding.EncodeToString(h[:])), nil
}

// parseHash reads the forms that toncenter accepts: hex, base64 and URL-safe base64.
func parseHash(text string) (hash, bool) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == 32 {
		return toHash(b), true
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	b, err := base64.RawStdEncoding.DecodeString(text)
	return toHash(b), err == nil && len(b) == 32
}

// boc is a cell that JSON shows as a bag of cells in base64.
type boc struct{ root *cell.Cell }

// MarshalText encodes base64.
func (b boc) MarshalText() ([]byte, error) {
	return []byte(base64.StdEncoding.EncodeToString(b.root.ToBOC())), nil
}

// UnmarshalText is the inverse of MarshalText.
func (b *boc) UnmarshalText(text []byte) error {
	data, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return err
	}
	b.root, err = cell.FromBOC(data)
	return err
}

// rawAddress is an address as toncenter v3 shows it; nil means null.
func rawAddress(a *address.Address) *string {
	if a == nil || a.IsAddrNone() {
		return nil
	}
	text := strings.ToUpper(a.StringRaw())
	return &text
}

// chainTransaction is a transaction with what the API needs to find and show it.
type chainTransaction struct {
	view     transactionView
	at       time.Time
	messages map[hash]direction // its messages, by hash and by normalized hash
	hidden   bool
}

type direction string

const (
	in  direction = "in"
	out direction = "out"
)

type contentView struct {
	Hash    hash         `json:"hash"`
	Body    boc          `json:"body"`
	Decoded *decodedView `json:"decoded"`
}

type decodedView struct {
	Type    string `json:"type"`
	Comment string `json:"comment"`
}

func readTransaction(stored storedTransaction) (*chainTransaction, error) {
	var t tlb.Transaction
	if err := tlb.Parse(&t, stored.Cell.root); err != nil {
		return nil, err
	}

	ordinary, ok := t.Description.(tlb.TransactionDescriptionOrdinary)
	if !ok {
		return nil, fmt.Errorf("a transaction of kind %T", t.Description)
	}

	result := &chainTransaction{
		at: time.Unix(int64(t.Now), 0), hidden: stored.Hidden, messages: map[hash]direction{},
		view: transactionView{
			Account: strings.ToUpper(stored.Account), Hash: toHash(stored.Cell.root.Hash()), LT: t.LT, Now: int64(t.Now),
			PrevHash: toHash(t.PrevTxHash), PrevLT: t.PrevTxLT, TotalFees: t.TotalFees.Coins.Nano().String(),
			Description: describe(ordinary), OutMsgs: []messageView{},
		},
	}

	message, sent, err := messageCells(stored.Cell.root)
	if err != nil {
		return nil, err
	}
	if result.view.InMsg, err = viewMessage(message); err != nil {
		return nil, err
	}

	result.messages[result.view.InMsg.Hash] = in
	if norm := result.view.InMsg.HashNorm; norm != nil {
		result.messages[*norm] = in
	}

	for _, message := range sent {
		view, err := viewMessage(message)
		if err != nil {
			return nil, err
		}
		result.view.OutMsgs = append(result.view.OutMsgs, view)
		result.messages[view.Hash] = out
	}

	return result, nil
}

// messageCells returns the messages of a transaction as they are stored: a message that is parsed and written again may
// be split into other cells and have another hash.
func messageCells(transaction *cell.Cell) (message *cell.Cell, sent []*cell.Cell, err error) {
	messages, err := transaction.PeekRef(0)
	if err != nil {
		return nil, nil, err
	}

	s, err := messages.BeginParse()
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.LoadBoolBit(); err != nil {
		return nil, nil, err
	}
	if message, err = s.LoadRefCell(); err != nil {
		return nil, nil, err
	}

	dict, err := s.LoadDict(15)
	if err != nil || dict == nil {
		return message, nil, err
	}

	items, err := dict.LoadAll()
	for _, item := range items {
		sentCell, refErr := item.Value.LoadRefCell()
		sent, err = append(sent, sentCell), errors.Join(err, refErr)
	}
	return message, sent, err
}

// blockSeqno numbers the masterchain's blocks: one per second.
func blockSeqno(t time.Time) uint32 { return uint32(t.Unix() - 1_700_000_000) }

func accountStatus(s tlb.AccountStatus) string {
	switch s {
	case tlb.AccountStatusActive:
		return "active"
	case tlb.AccountStatusUninit:
		return "uninit"
	case tlb.AccountStatusFrozen:
		return "frozen"
	}
	return "nonexist"
}

func viewMessage(whole *cell.Cell) (messageView, error) {
	var m tlb.Message
	if err := tlb.Parse(&m, whole); err != nil {
		return messageView{}, err
	}

	body := m.Msg.Payload()
	if body == nil {
		body = cell.BeginCell().EndCell()
	}

	view := messageView{
		Hash: toHash(whole.Hash()), Source: rawAddress(m.Msg.SenderAddr()), Destination: rawAddress(m.Msg.DestAddr()),
		Content: contentView{Hash: toHash(body.Hash()), Body: boc{body}},
	}

	if slice, err := body.BeginParse(); err == nil {
		if opcode, err := slice.LoadUInt(32); err == nil {
			text := fmt.Sprintf("0x%08x", opcode)
			view.Opcode = &text
			if comment, err := slice.LoadStringSnake(); err == nil && opcode == 0 {
				view.Content.Decoded = &decodedView{Type: "text_comment", Comment: comment}
			}
		}
	}

	switch msg := m.Msg.(type) {
	case *tlb.InternalMessage:
		value, forward, ihr := msg.Amount.Nano().String(), msg.FwdFee.Nano().String(), msg.IHRFee.Nano().String()
		view.Value, view.FwdFee, view.IHRFee = &value, &forward, &ihr
		view.Bounce, view.Bounced = &msg.Bounce, &msg.Bounced
	case *tlb.ExternalMessage:
		norm := toHash(msg.NormalizedHash())
		view.HashNorm = &norm
	}

	return view, nil
}

// transactionView is a transaction as toncenter v3 shows it, with the fields that our clients read.
type transactionView struct {
	Account     string        `json:"account"`
	Hash        hash          `json:"hash"`
	LT          uint64        `json:"lt,string"`
	Now         int64         `json:"now"`
	PrevHash    hash          `json:"prev_trans_hash"`
	PrevLT      uint64        `json:"prev_trans_lt,string"`
	TotalFees   string        `json:"total_fees"`
	Description orderView     `json:"description"`
	InMsg       messageView   `json:"in_msg"`
	OutMsgs     []messageView `json:"out_msgs"`
	Emulated    bool          `json:"emulated"`
	Finality    string        `json:"finality"`
}

// orderView is the description of an ordinary transaction.
type orderView struct {
	Type    string      `json:"type"`
	Aborted bool        `json:"aborted"`
	Compute computeView `json:"compute_ph"`
	Action  *actionView `json:"action,omitempty"`
}

type computeView struct {
	Skipped  bool   `json:"skipped"`
	Reason   string `json:"reason,omitempty"`
	Success  *bool  `json:"success,omitempty"`
	ExitCode *int32 `json:"exit_code,omitempty"`
}

type actionView struct {
	Success        bool   `json:"success"`
	ResultCode     int32  `json:"result_code"`
	TotalActions   uint16 `json:"tot_actions"`
	SkippedActions uint16 `json:"skipped_actions"`
	MsgsCreated    uint16 `json:"msgs_created"`
}

// messageView is a message as toncenter v3 shows it.
type messageView struct {
	Hash        hash        `json:"hash"`
	Source      *string     `json:"source"`
	Destination *string     `json:"destination"`
	Value       *string     `json:"value"`
	FwdFee      *string     `json:"fwd_fee"`
	IHRFee      *string     `json:"ihr_fee"`
	Opcode      *string     `json:"opcode"`
	Bounce      *bool       `json:"bounce"`
	Bounced     *bool       `json:"bounced"`
	Content     contentView `json:"message_content"`
	HashNorm    *hash       `json:"hash_norm,omitempty"`
}

func describe(d tlb.TransactionDescriptionOrdinary) orderView {
	view := orderView{Type: "ord", Aborted: d.Aborted}
	switch phase := d.ComputePhase.Phase.(type) {
	case tlb.ComputePhaseVM:
		view.Compute = computeView{Success: &phase.Success, ExitCode: &phase.Details.ExitCode}
	case tlb.ComputePhaseSkipped:
		view.Compute = computeView{Skipped: true, Reason: strings.ToLower(string(phase.Reason.Type))}
	}

	if a := d.ActionPhase; a != nil {
		view.Action = &actionView{
			Success: a.Success, ResultCode: a.ResultCode, TotalActions: a.TotalActions, SkippedActions: a.SkippedActions,
			MsgsCreated: a.MessagesCreated,
		}
	}
	return view
}
