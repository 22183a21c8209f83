// Package fragment is a client for the part of Fragment's web API that buys Telegram Stars for TON. None of its calls
// moves money: the payment described by Link is signed elsewhere. It never retries, with one exception: a changed page
// hash is read again once. It logs nothing, and its errors contain no cookie, name or link. A cancelled call returns
// context.Canceled; every other failure is a *fault.Error with the message of a stars.Failure.
package fragment

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"stagecoach/internal/money"
	"stagecoach/internal/outbound"
	"stagecoach/internal/ton"
)

const defaultRate = 2 // requests per second

// device names the wallet program to Fragment, as TON Connect defines it.
const device = `{"platform":"linux","appName":"Tonkeeper","appVersion":"4.0.0","maxProtocolVersion":2,` +
	`"features":["SendTransaction",{"name":"SendTransaction","maxMessages":255}]}`

// Options configure a Client.
type Options struct {
	URL               string        // base address; default https://fragment.com
	Cookies           Cookies       // the session
	Wallet            Account       // the paying account
	ConnectTimeout    time.Duration // for the TCP and again for the TLS handshake; default 5 s
	CallTimeout       time.Duration // for one call including its answer; default 15 s
	RequestsPerSecond float64       // 0: 2

	outbound.Observer // by Fragment's method; "page" for the page
}

// Account is the paying wallet in the form that Fragment needs.
type Account struct {
	Address   ton.Address
	PublicKey string // hex
	StateInit []byte // a BoC
	Network   int32  // ton.Mainnet
}

// Cookies are a session with Fragment, by name. Printing never shows them.
type Cookies map[string]string

// sessionCookies belong to a session whose owner is logged in and has connected a wallet.
var sessionCookies = []string{"stel_ssid", "stel_dt", "stel_token", "stel_ton_token"}

// ParseCookies reads cookies as a browser sends them: "stel_ssid=…; stel_dt=…; stel_token=…; stel_ton_token=…".
func ParseCookies(text string) (Cookies, error) {
	cookies := Cookies{}
	for part := range strings.SplitSeq(text, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		if ok && name != "" && !strings.ContainsAny(name+value, "\r\n\x00") {
			cookies[name] = value
		}
	}

	for _, name := range sessionCookies {
		if cookies[name] == "" {
			return nil, fmt.Errorf("the cookie %s is missing", name)
		}
	}
	return cookies, nil
}

// Format hides the cookies from every verb of package fmt.
func (Cookies) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[cookies]") }

func (c Cookies) header() string {
	parts := make([]string, 0, len(c))
	for name, value := range c {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

// Client is one session with Fragment. It is safe for concurrent use.
type Client struct {
	o       Options
	account string // JSON
	out     outbound.Client
	limiter *rate.Limiter

	mu   sync.Mutex
	hash string // of the page; empty: not yet read
}

// New makes a Client; it does not connect yet.
func New(o Options) *Client {
	o.URL = strings.TrimRight(cmp.Or(o.URL, "https://fragment.com"), "/")
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, 5*time.Second)
	o.CallTimeout = cmp.Or(o.CallTimeout, 15*time.Second)
	o.RequestsPerSecond = cmp.Or(o.RequestsPerSecond, defaultRate)
	account, _ := json.Marshal(map[string]any{ // of strings and bytes: cannot fail
		"address": o.Wallet.Address.Raw(), "chain": strconv.Itoa(int(o.Wallet.Network)),
		"walletStateInit": o.Wallet.StateInit, "publicKey": o.Wallet.PublicKey,
	})

	return &Client{
		o: o, account: string(account),
		out: outbound.Client{
			HTTP: &http.Client{
				CheckRedirect: outbound.RefuseRedirects, Transport: outbound.NewTransport(o.ConnectTimeout),
			},
			Timeout: o.CallTimeout, MaxAnswer: maxAnswer, Observer: o.Observer,
		},
		limiter: outbound.NewLimiter(o.RequestsPerSecond),
	}
}

// Recipient is the receiver of Stars.
type Recipient struct {
	ID       string // Fragment's own id: opaque
	Username string // answers may repeat it
}

// Search finds a user. It works without a valid session, so it does not check the session.
func (c *Client) Search(ctx context.Context, username string, stars int) (Recipient, error) {
	var answer struct {
		Found struct {
			Recipient string `json:"recipient"`
		} `json:"found"`
	}
	form := url.Values{"query": {username}, "quantity": {strconv.Itoa(stars)}}
	err := c.call(ctx, "searchStarsRecipient", username, form, &answer)
	if err == nil && answer.Found.Recipient == "" {
		err = protocolFault("a search that found nobody, without saying so")
	}
	return Recipient{ID: answer.Found.Recipient, Username: username}, err
}

// Price returns the current price of a number of Stars.
func (c *Client) Price(ctx context.Context, stars int) (money.Nano, error) {
	var answer struct {
		Price string `json:"cur_price"`
	}

	count := strconv.Itoa(stars)
	if err := c.call(ctx, "updateStarsPrices", "", url.Values{"stars": {count}, "quantity": {count}}, &answer); err != nil {
		return 0, err
	}

	price, ok := readPrice(answer.Price)
	if !ok {
		return 0, protocolFault("a price that cannot be read")
	}
	return price, nil
}

// prices match a price in TON: it is marked as one, or is the only amount with small decimals. A price in dollars may
// be next to it.
var prices = []*regexp.Regexp{
	regexp.MustCompile(`icon-ton\b[^>]*>\s*([0-9][0-9,]*)(?:<span class="mini-frac">(\.[0-9]+)</span>)?\s*<`),
	regexp.MustCompile(`>\s*([0-9][0-9,]*)<span class="mini-frac">(\.[0-9]+)</span>`),
}

func readPrice(page string) (money.Nano, bool) {
	for _, form := range prices {
		switch found := form.FindAllStringSubmatch(page, 2); len(found) {
		case 0:
			continue
		case 1:
			price, err := money.ParseTON(found[0][1] + found[0][2])
			return price, err == nil && price > 0
		default:
			return 0, false
		}
	}
	return 0, false
}

// Request is a purchase recorded by Fragment; it costs nothing until it is paid.
type Request struct {
	ID       string
	Amount   money.Nano
	Username string // of the receiver
}

// Init creates a purchase.
func (c *Client) Init(ctx context.Context, recipient Recipient, stars int) (Request, error) {
	var answer struct {
		ID     anything `json:"req_id"`
		Amount anything `json:"amount"`
	}

	err := c.call(ctx, "initBuyStarsRequest", recipient.Username, url.Values{
		"recipient": {recipient.ID}, "quantity": {strconv.Itoa(stars)}, "payment_method": {"ton"},
	}, &answer)
	if err != nil {
		return Request{}, err
	}

	amount, err := money.ParseTON(string(answer.Amount))
	if err != nil || amount <= 0 || answer.ID == "" {
		return Request{}, protocolFault("a request without an id or an amount")
	}
	return Request{ID: string(answer.ID), Amount: amount, Username: recipient.Username}, nil
}

// Link is the payment that completes a request.
type Link struct {
	ValidUntil time.Time // the latest end of the payment order
	To         ton.Address
	Bounce     bool
	Amount     money.Nano
	Body       []byte // a BoC: pass it on unchanged
	Stars      int    // the number in Body's text: "50 Telegram Stars \n\nRef#…"; 0: none
	ConfirmID  string // for Confirm; empty: nothing to confirm
}

// Link requests the payment of a purchase request.
func (c *Client) Link(ctx context.Context, request Request) (Link, error) {
	var answer struct {
		Transaction struct {
			ValidUntil anything `json:"validUntil"`
			From       string   `json:"from"`
			Messages   []struct {
				Address string   `json:"address"`
				Amount  anything `json:"amount"`
				Payload string   `json:"payload"`
			} `json:"messages"`
		} `json:"transaction"`
		ConfirmMethod string `json:"confirm_method"`
		ConfirmParams struct {
			ID anything `json:"id"`
		} `json:"confirm_params"`
	}

	err := c.call(ctx, "getBuyStarsLink", request.Username, url.Values{
		"account": {c.account}, "device": {device}, "transaction": {"1"}, "id": {request.ID},
		"show_sender": {"0"}, // the receiver has bought from us, and knows
	}, &answer)
	if err != nil {
		return Link{}, err
	}
	if len(answer.Transaction.Messages) != 1 {
		return Link{}, protocolFault("a link with other than one payment")
	}

	message := answer.Transaction.Messages[0]
	link := Link{}
	until, err := strconv.ParseUint(string(answer.Transaction.ValidUntil), 10, 32)
	if err != nil || until == 0 {
		return Link{}, protocolFault("a link without an end")
	}

	link.ValidUntil = time.Unix(int64(until), 0).UTC()
	if link.To, link.Bounce, err = ton.ParseAddress(message.Address); err != nil {
		return Link{}, protocolFault("a link without an address")
	}
	link.Amount, err = money.ParseNano(strings.ReplaceAll(string(message.Amount), ",", ""))
	if err != nil || link.Amount <= 0 {
		return Link{}, protocolFault("a link without an amount")
	}

	if from := answer.Transaction.From; from != "" {
		if payer, _, err := ton.ParseAddress(from); err != nil || payer != c.o.Wallet.Address {
			return Link{}, protocolFault("a link for another wallet")
		}
	}

	// In either alphabet, padded or not.
	payload := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(message.Payload, "="))
	if link.Body, err = base64.RawStdEncoding.DecodeString(payload); err != nil || len(link.Body) == 0 {
		return Link{}, protocolFault("a link without a payload")
	}
	if _, err := ton.BodyHash(link.Body); err != nil {
		return Link{}, protocolFault("a link whose payload is no cell")
	}

	text, _ := ton.Comment(link.Body)
	if found := starsText.FindStringSubmatch(text); found != nil {
		link.Stars, _ = strconv.Atoi(strings.ReplaceAll(found[1], ",", "")) // 0 if it is not a number
	}
	if answer.ConfirmMethod == "confirmReq" {
		link.ConfirmID = string(answer.ConfirmParams.ID)
	}
	return link, nil
}

var starsText = regexp.MustCompile(`^([0-9][0-9,]*) Telegram Stars\b`)

// Confirm notifies Fragment that the signed payment is broadcast. Repeating it with the same BoC has no further effect.
func (c *Client) Confirm(ctx context.Context, confirmID string, boc []byte) error {
	var answer struct {
		OK bool `json:"ok"`
	}
	err := c.call(ctx, "confirmReq", "", url.Values{
		"id": {confirmID}, "boc": {base64.StdEncoding.EncodeToString(boc)}, "account": {c.account}, "device": {device},
	}, &answer)
	if err == nil && !answer.OK {
		err = protocolFault("a confirmation that was not taken")
	}
	return err
}

// State is the state of the session's last purchase.
type State struct {
	Mode       string // "new", "processing", "done"
	NeedUpdate bool   // Mode differs from the requested one
}

// Done reports whether the Stars have been sent.
func (s State) Done() bool { return s.Mode == "done" && !s.NeedUpdate }

// State queries the state of the session's last purchase. mode is the last known one, "processing" at first: Fragment
// confirms "done" without NeedUpdate only to a caller that sends it as mode.
func (c *Client) State(ctx context.Context, mode string) (State, error) {
	var answer struct {
		Mode       string `json:"mode"`
		NeedUpdate bool   `json:"need_update"`
	}

	form := url.Values{"mode": {mode}, "lv": {"false"}, "dh": {strconv.Itoa(pageNumber())}}
	err := c.call(ctx, "updateStarsBuyState", "", form, &answer)
	if err == nil && answer.Mode == "" {
		err = protocolFault("a purchase without a state")
	}

	return State{Mode: answer.Mode, NeedUpdate: answer.NeedUpdate}, err
}

// pageNumber draws the number by which Fragment distinguishes pages, from the range used by its own pages.
func pageNumber() int {
	const least, most = 100_000_000, 2_147_483_647
	return least + rand.IntN(most-least+1)
}

// anything is a string or a number, as text.
type anything string

// UnmarshalJSON removes the quotation marks.
func (a *anything) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil { // null too
		*a = anything(text)
		return nil
	}
	var number json.Number
	err := json.Unmarshal(data, &number)
	*a = anything(number)
	return err
}
