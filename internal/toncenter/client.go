// Package toncenter is a client for the part of the toncenter v3 API that transactions need: an account's history, its
// balance, the chain's clock, and the broadcast of a signed message. It never retries, because Temporal counts the
// attempts. It logs nothing, and its errors contain no address, key or link. A cancelled call returns context.Canceled;
// every other failure is a *fault.Error.
package toncenter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"

	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/outbound"
	"stagecoach/internal/ton"
)

const (
	maxAnswer    = 32 << 20 // bytes per answer; a transaction takes about 3 KiB
	maxPage      = 1000     // transactions per answer
	defaultPage  = 100
	rateNoKey    = 1 // requests per second allowed by toncenter
	rateWithKey  = 10
	messageLimit = 100             // transactions that one message may have caused; one is expected
	mostSkew     = 2 * time.Minute // between the chain's clock and ours
)

// Options configure a Client.
type Options struct {
	URL               string           // base address; default https://toncenter.com
	APIKey            string           // optional: more requests per second
	ConnectTimeout    time.Duration    // for the TCP and again for the TLS handshake; default 5 s
	CallTimeout       time.Duration    // for one call including its wait for the rate and its answer; default 15 s
	RequestsPerSecond float64          // 0: 1 without a key, 10 with one
	Now               func() time.Time // our clock; nil: the real one

	outbound.Observer // by operation: "transactions", "message", "broadcast", "wallet", "head"
}

// Client asks one toncenter. It is safe for concurrent use.
type Client struct {
	o       Options
	out     outbound.Client
	limiter *rate.Limiter
}

// New makes a Client; it connects to nothing yet.
func New(o Options) *Client {
	o.URL = strings.TrimRight(cmp.Or(o.URL, "https://toncenter.com"), "/")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 15*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}

	if o.RequestsPerSecond == 0 {
		o.RequestsPerSecond = rateNoKey
		if o.APIKey != "" {
			o.RequestsPerSecond = rateWithKey
		}
	}
	return &Client{
		o: o,
		out: outbound.Client{
			HTTP: &http.Client{
				CheckRedirect: outbound.RefuseRedirects, Transport: outbound.NewTransport(o.ConnectTimeout),
			},
			Timeout: o.CallTimeout, MaxAnswer: maxAnswer, Observer: o.Observer,
		},
		limiter: outbound.NewLimiter(o.RequestsPerSecond),
	}
}

// Page selects a part of an account's history, oldest first.
type Page struct {
	Account ton.Address
	FromLT  uint64 // inclusive: to continue after a known transaction, its LT + 1
	ToLT    uint64 // inclusive; 0: up to now
	Limit   int    // 1..1000; else 100
}

// Transactions returns a page of an account's history, oldest first, whatever its finality, and whether there may be
// more after it. All of them belong to the account and are in order; PrevLT shows whether one is missing in between. A
// page whose answer is too long has an error for which TooLong is true: a smaller one may work.
func (c *Client) Transactions(ctx context.Context, page Page) (found []Transaction, more bool, _ error) {
	if page.Limit < 1 || page.Limit > maxPage {
		page.Limit = defaultPage
	}

	query := url.Values{
		"account": {page.Account.Raw()}, "start_lt": {strconv.FormatUint(page.FromLT, 10)}, "sort": {"asc"},
		"limit": {strconv.Itoa(page.Limit)},
	}

	if page.ToLT != 0 {
		query.Set("end_lt", strconv.FormatUint(page.ToLT, 10))
	}

	found, rows, err := c.transactions(ctx, "transactions", query)
	if err != nil {
		return nil, false, err
	}

	// The answer may repeat the known transaction after which the page continues.
	found = slices.DeleteFunc(found, func(t Transaction) bool { return t.LT+1 == page.FromLT })

	last := page.FromLT
	for i, t := range found {
		if t.Account != page.Account || t.LT < last || i > 0 && t.LT == last || page.ToLT != 0 && t.LT > page.ToLT {
			return nil, false, protocolFault("a transaction of another account, or out of order")
		}
		last = t.LT
	}

	if more = rows >= page.Limit; more && len(found) == 0 {
		return nil, false, protocolFault("a full page without a new transaction")
	}
	return found, more, nil
}

// TransactionsByMessage returns the transactions caused by a message. hash is in hex; for an external message it may be
// the normalized one.
func (c *Client) TransactionsByMessage(ctx context.Context, hash string) ([]Transaction, error) {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != 32 {
		return nil, fault.New(fault.Validation, "a message's hash is 64 hex digits").WithField("hash")
	}
	found, _, err := c.transactions(ctx, "message", url.Values{
		"msg_hash": {base64.StdEncoding.EncodeToString(raw)}, "direction": {"in"}, "limit": {strconv.Itoa(messageLimit)},
	})
	return found, err
}

// transactions returns an answer's transactions without duplicates, and how many rows the answer had.
func (c *Client) transactions(ctx context.Context, op string, query url.Values) (found []Transaction, rows int, _ error) {
	endpoint := "/api/v3/transactions"
	if op == "message" {
		endpoint = "/api/v3/transactionsByMessage"
	}

	var answer struct {
		Transactions []wireTransaction `json:"transactions"`
	}
	if err := c.get(ctx, op, endpoint, query, &answer, "transactions"); err != nil {
		return nil, 0, err
	}

	for _, wire := range answer.Transactions {
		t, err := wire.transaction()
		if err != nil {
			return nil, 0, protocolFault(err.Error())
		}
		if t.At.After(c.o.Now().Add(mostSkew)) {
			return nil, 0, clockFault()
		}
		if !slices.ContainsFunc(found, func(known Transaction) bool { return known.LT == t.LT && known.Hash == t.Hash }) {
			found = append(found, t)
		}
	}

	return found, len(answer.Transactions), nil
}

// Outcome is the network's verdict on a broadcast.
type Outcome string

// No outcome proves whether the message is on the chain: an accepted one may never get there, and a rejected one may
// already be there.
const (
	Unknown  Outcome = "unknown" // no verdict arrived
	Accepted Outcome = "accepted"
	Rejected Outcome = "rejected"
)

// Receipt is the answer to a broadcast.
type Receipt struct {
	Outcome  Outcome
	ExitCode int // of the contract that rejected it: 133 wrong seqno, 136 too late, …; 0: unknown
}

// Broadcast sends a signed message to the network. An error means that the outcome is unknown: the message may have
// been sent. Repeating it with the same bytes is always safe.
func (c *Client) Broadcast(ctx context.Context, boc []byte) (Receipt, error) {
	unknown := Receipt{Outcome: Unknown}
	body, err := json.Marshal(map[string][]byte{"boc": boc})
	if err != nil {
		return unknown, protocolFault(err.Error())
	}

	answer, err := c.send(ctx, "broadcast", http.MethodPost, c.o.URL+"/api/v3/message", body, "message_hash")
	if err != nil {
		return unknown, err
	}

	var said struct {
		Hash  hash   `json:"message_hash"`
		Error string `json:"error"`
	}
	if json.Unmarshal(answer.Body, &said) != nil {
		said.Error = ""
	}

	switch {
	case answer.Status == http.StatusOK && said.Hash != "":
		return Receipt{Outcome: Accepted}, nil
	case answer.Status == http.StatusOK:
		return unknown, protocolFault("a broadcast was taken without a hash")
	case answer.Status == http.StatusUnprocessableEntity:
		return Receipt{Outcome: Rejected}, nil
	}

	if exitCode, ok := rejection(said.Error); ok && answer.Status >= 500 {
		return Receipt{Outcome: Rejected, ExitCode: exitCode}, nil
	}
	return unknown, statusFault(answer)
}

var exitCode = regexp.MustCompile(`exit\s?code\s?[=:]\s?(-?\d{1,9})\b`)

// rejection finds a node's rejection in an error's text: the contract's exit code, 0 if the node gives none.
func rejection(text string) (code int, ok bool) {
	text = strings.ToLower(text)
	if found := exitCode.FindStringSubmatch(text); found != nil {
		code, _ = strconv.Atoi(found[1])
		return code, true
	}
	return 0, strings.Contains(text, "was not accepted") || strings.Contains(text, "duplicate message")
}

// Wallet is the state of a wallet contract.
type Wallet struct {
	Balance  money.Nano
	Seqno    uint32 // of the next order; 0 before the contract exists
	Active   bool   // the contract exists
	LastLT   uint64
	LastHash string
}

// Wallet reads an account's balance and next seqno.
func (c *Client) Wallet(ctx context.Context, account ton.Address) (Wallet, error) {
	var answer struct {
		Balance  amount  `json:"balance"`
		Seqno    *number `json:"seqno"` // nil: there is no contract yet
		Status   string  `json:"status"`
		LastLT   number  `json:"last_transaction_lt"`
		LastHash hash    `json:"last_transaction_hash"`
	}
	if err := c.get(ctx, "wallet", "/api/v3/walletInformation", url.Values{"address": {account.Raw()}}, &answer,
		"balance", "status", "last_transaction_lt"); err != nil {
		return Wallet{}, err
	}
	active := answer.Status == "active"
	if answer.Status == "" || active && answer.Seqno == nil || answer.Seqno != nil && *answer.Seqno > 1<<32-1 {
		return Wallet{}, protocolFault("a wallet without a status, or without a possible seqno")
	}

	var seqno uint32
	if answer.Seqno != nil {
		seqno = uint32(*answer.Seqno)
	}
	return Wallet{
		Balance: money.Nano(answer.Balance), Seqno: seqno, Active: active,
		LastLT: uint64(answer.LastLT), LastHash: string(answer.LastHash),
	}, nil
}

// Head is the newest block of the masterchain.
type Head struct {
	Seqno uint32
	At    time.Time // the chain's clock: no transaction will ever be older
}

// Head reads the chain's clock. A time that differs by more than mostSkew from ours is refused with CHAIN_CLOCK: with a
// wrong time, payments that can still be made would count as dead, and new ones would be signed too late to be made.
func (c *Client) Head(ctx context.Context) (Head, error) {
	var answer struct {
		Last struct {
			Seqno number `json:"seqno"`
			At    number `json:"gen_utime"`
		} `json:"last"`
	}
	if err := c.get(ctx, "head", "/api/v3/masterchainInfo", nil, &answer, "last"); err != nil {
		return Head{}, err
	}

	last := answer.Last
	if last.Seqno == 0 || last.Seqno > 1<<32-1 || last.At == 0 || last.At > 1<<32-1 {
		return Head{}, protocolFault("a block without a number or a time")
	}

	head := Head{Seqno: uint32(last.Seqno), At: time.Unix(int64(last.At), 0).UTC()}
	if c.o.Now().Sub(head.At).Abs() > mostSkew {
		return Head{}, clockFault()
	}
	return head, nil
}

// get makes one call and reads its answer, which must have the needed fields.
func (c *Client) get(ctx context.Context, op, endpoint string, query url.Values, into any, needed ...string) error {
	answer, err := c.send(ctx, op, http.MethodGet, c.o.URL+endpoint+"?"+query.Encode(), nil, needed...)
	switch {
	case err != nil:
		return err
	case answer.Status != http.StatusOK:
		return statusFault(answer)
	}

	if err := json.Unmarshal(answer.Body, into); err != nil {
		return protocolFault(fmt.Sprintf("%s: not the JSON that is documented (%T)", op, err))
	}
	return nil
}

// send makes one request, within the rate limit, and reads its complete answer. A 200 without a needed field is an
// error.
func (c *Client) send(ctx context.Context, op, method, address string, body []byte, needed ...string) (outbound.Answer, error) {
	answer, err := c.request(ctx, op, method, address, body)
	if err == nil && answer.Status == http.StatusOK {
		err = incomplete(op, answer.Body, needed)
	}

	result := err
	if err == nil && answer.Status != http.StatusOK {
		result = statusFault(answer)
	}
	c.o.Ended(ctx, result)
	return answer, err
}

func (c *Client) request(ctx context.Context, op, method, address string, body []byte) (outbound.Answer, error) {
	callCtx, cancel := context.WithTimeout(ctx, c.o.CallTimeout)
	defer cancel()

	if err := c.limiter.Wait(callCtx); err != nil {
		return outbound.Answer{}, transportFault(ctx, errors.Join(context.DeadlineExceeded, err))
	}

	request, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		return outbound.Answer{}, protocolFault("the gateway's address cannot be used")
	}

	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}

	if c.o.APIKey != "" {
		request.Header.Set("X-API-Key", c.o.APIKey)
	}

	answer, err := c.out.Do(callCtx, op, request)
	switch {
	case errors.Is(err, outbound.ErrTooLong):
		return answer, protocolFault("").WithCause(outbound.ErrTooLong)
	case err != nil:
		return answer, transportFault(ctx, err)
	}

	return answer, nil
}
