package tonsim

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

// seenTransaction is the part of a transaction that Fragment reads on the chain.
type seenTransaction struct {
	Hash     hash   `json:"hash"`
	LT       uint64 `json:"lt,string"`
	PrevLT   uint64 `json:"prev_trans_lt,string"`
	Now      int64  `json:"now"`
	Finality string `json:"finality"`
	InMsg    struct {
		Hash    hash    `json:"hash"`
		Source  *string `json:"source"`
		Value   string  `json:"value"`
		Bounced bool    `json:"bounced"`
		Content struct {
			Hash hash `json:"hash"`
		} `json:"message_content"`
	} `json:"in_msg"`
	OutMsgs []seenMessage `json:"out_msgs"`
}

type seenMessage struct {
	Bounced bool `json:"bounced"`
}

// UnmarshalText is the inverse of MarshalText.
func (h *hash) UnmarshalText(text []byte) error {
	parsed, ok := parseHash(string(text))
	if !ok {
		return fmt.Errorf("%q is not a hash", text)
	}
	*h = parsed
	return nil
}

// ask calls the simulated toncenter.
func (f *Fragment) ask(ctx context.Context, path string, query url.Values, into any) error {
	r, err := http.NewRequestWithContext(
		ctx, http.MethodGet, strings.TrimRight(f.options.TonCenterURL, "/")+path+"?"+query.Encode(), nil,
	)
	if err != nil {
		return err
	}

	answer, err := f.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()

	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("toncenter answered %s", answer.Status)
	}

	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}

	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	if len(fields) == 0 || string(fields["ok"]) == "false" {
		return errors.New("toncenter gave no answer")
	}
	return json.Unmarshal(body, into)
}

// chainTime is the time on the chain, whose clock a test may have advanced.
func (f *Fragment) chainTime(ctx context.Context) (time.Time, error) {
	var info struct {
		Last struct {
			At int64 `json:"gen_utime,string"`
		} `json:"last"`
	}
	err := f.ask(ctx, "/api/v3/masterchainInfo", nil, &info)
	return time.Unix(info.Last.At, 0).UTC(), err
}

// lookForPayments reads what has arrived since its last call, at its own address and at every address that a link
// named, and completes the paid requests; f.mu is held.
func (f *Fragment) lookForPayments(ctx context.Context) error {
	addresses := []string{f.address.StringRaw()}
	for _, r := range f.state.requests {
		if r.Link != nil && !slices.Contains(addresses, r.Link.To) {
			addresses = append(addresses, r.Link.To)
		}
	}

	for _, account := range addresses {
		if err := f.lookAt(ctx, account); err != nil {
			return err
		}
	}
	return nil
}

// lookAt reads what has arrived at one address.
func (f *Fragment) lookAt(ctx context.Context, account string) error {
	for {
		var page struct {
			Transactions []seenTransaction `json:"transactions"`
		}

		err := f.ask(ctx, "/api/v3/transactions", url.Values{
			"account": {account}, "start_lt": {strconv.FormatUint(f.state.seenLT[account]+1, 10)}, "sort": {"asc"}, "limit": {strconv.Itoa(maxTransactions)},
		}, &page)
		if err != nil {
			return err
		}

		for _, t := range page.Transactions {
			if t.LT <= f.state.seenLT[account] {
				continue // the previous row again
			}
			if t.Finality != "finalized" || t.PrevLT > f.state.seenLT[account] {
				return nil // or an earlier one is not visible yet
			}
			if err := f.takePayment(ctx, account, t); err != nil {
				return err
			}
		}

		if len(page.Transactions) < maxTransactions {
			return nil
		}
	}
}

// takePayment reads one transaction of the account that is paid to.
func (f *Fragment) takePayment(ctx context.Context, account string, t seenTransaction) error {
	entry := fragmentEntry{SeenAt: account, SeenLT: t.LT}
	sentBack := slices.ContainsFunc(t.OutMsgs, func(m seenMessage) bool { return m.Bounced })
	if t.InMsg.Source == nil || t.InMsg.Bounced || sentBack {
		return f.commit(entry) // no money arrived, or it was returned
	}

	paid, err := strconv.ParseInt(t.InMsg.Value, 10, 64)
	if err != nil {
		return err
	}

	var senders struct {
		Transactions []seenTransaction `json:"transactions"`
	}
	sentBy := url.Values{"msg_hash": {hex.EncodeToString(t.InMsg.Hash[:])}, "direction": {"out"}}
	if err := f.ask(ctx, "/api/v3/transactionsByMessage", sentBy, &senders); err != nil {
		return err
	}

	payment := &Payment{Message: hex.EncodeToString(t.InMsg.Hash[:]), PaidNano: paid, At: time.Unix(t.Now, 0).UTC()}
	if len(senders.Transactions) > 0 {
		payment.Hash = hex.EncodeToString(senders.Transactions[0].Hash[:])
	}

	request := f.payee(account, t.InMsg.Content.Hash)
	switch {
	case request != nil && request.Paid != nil && request.Paid.Hash == payment.Hash:
		return f.commit(entry) // read before
	case request == nil:
		payment.Why = "it names no request"
	case request.Paid != nil:
		payment.Why = "the request was paid already"
	case paid != request.Link.AmountNano:
		payment.Why = "another amount"
	case payment.At.After(request.Link.ValidUntil):
		payment.Why = "too late"
	case f.state.superseded(request):
		payment.Why = "a later request was made"
		refused := *request
		refused.Refused = true
		entry.Request = &refused
	}

	if payment.Why != "" {
		entry.Unmatched = payment
	} else {
		done := *request
		done.Paid = payment
		entry.Request = &done
	}

	return f.commit(entry)
}

// payee returns the request that waits for a payment with this body, or nil.
func (f *Fragment) payee(account string, body hash) *starsRequest {
	for _, r := range f.state.requests {
		if r.Link != nil && r.Link.To == account && toHash(r.Link.Payload.root.Hash()) == body {
			return r
		}
	}
	return nil
}

// Purchases reads the chain. It returns what was bought and the unmatched payments, each in order of payment.
func (f *Fragment) Purchases(ctx context.Context) (bought []Purchase, unmatched []Payment, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if err := f.lookForPayments(ctx); err != nil {
		return nil, nil, err
	}

	bought = []Purchase{}
	for _, r := range f.state.requests {
		if r.Paid != nil {
			bought = append(bought, Purchase{Username: r.Username, Stars: r.Stars, Payment: *r.Paid})
		}
	}
	return bought, append([]Payment{}, f.state.unmatched...), nil
}

func (f *Fragment) getPurchases(w http.ResponseWriter, r *http.Request) {
	bought, unmatched, err := f.Purchases(r.Context())
	if err != nil {
		sim.WriteControlError(w, http.StatusBadGateway, err)
		return
	}
	sim.WriteJSON(w, http.StatusOK, map[string]any{"items": bought, "strays": unmatched})
}
