package tonsim

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/dev/sim"
)

const (
	leastStars = 50
	mostStars  = 1_000_000
	priceStep  = 100_000 // nanoTON: prices have four decimals
	spillStars = 10_000  // from this number on the comment continues in a second cell
)

// fragmentMethods are the methods of the API. A search and the prices need no session.
var fragmentMethods = map[string]struct {
	session bool
	answer  func(*Fragment, *http.Request) (any, error)
}{
	"searchStarsRecipient": {false, (*Fragment).searchStarsRecipient},
	"updateStarsPrices":    {false, (*Fragment).updateStarsPrices},
	"updateStarsBuyState":  {true, (*Fragment).updateStarsBuyState},
	"initBuyStarsRequest":  {true, (*Fragment).initBuyStarsRequest},
	"getBuyStarsLink":      {true, (*Fragment).getBuyStarsLink},
	"confirmReq":           {true, (*Fragment).confirmReq},
}

// userKinds are the responses to a search for a username; empty: the user.
var userKinds = map[string]string{
	"user":         "",
	"verify":       "", // buying for this user requires the buyer to verify their identity
	"unknown":      noSuchUser,
	"channel":      notAUser,
	"bot":          notAUser,
	"not_giftable": notGiftable,
	"puzzling":     puzzling,
}

// says is a response that contains an error.
func says(text string) error { return &sim.Problem{Status: http.StatusOK, Text: text} }

var usernameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{3,31}$`)

func (f *Fragment) searchStarsRecipient(r *http.Request) (any, error) {
	username := plainUsername(r.PostForm.Get("query"))
	if !usernameForm.MatchString(username) {
		return nil, says(noSuchUser)
	}
	if text := userKinds[f.state.users[username]]; text != "" {
		return nil, says(text)
	}

	return map[string]any{"ok": true, "found": map[string]any{
		"myself": false, "recipient": recipientOf(username), "name": strings.ToUpper(username[:1]) + username[1:],
		"photo": `<img src="https://example.invalid/` + username + `.jpg" />`,
	}}, nil
}

// recipientOf is a user's id, which only the simulator interprets.
func recipientOf(username string) string {
	return base64.RawURLEncoding.EncodeToString([]byte("sim:" + username))
}

func usernameOf(recipient string) (string, bool) {
	data, err := base64.RawURLEncoding.DecodeString(recipient)
	username, ok := strings.CutPrefix(string(data), "sim:")
	return username, err == nil && ok
}

// quantity reads a number of Stars and checks that it can be bought.
func quantity(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < leastStars || n > mostStars {
		return 0, says("Invalid quantity")
	}
	return n, nil
}

// price is what Stars cost at a percentage of the price, in steps of four decimals.
func (f *Fragment) price(stars, percent int64) int64 {
	nano := f.state.settings.NanoPerStar * stars * percent / 100
	return (nano + priceStep - 1) / priceStep * priceStep
}

// inTON writes an amount with commas and four decimals.
func inTON(nano int64) (whole, decimals string) {
	return withCommas(nano / 1_000_000_000), strings.TrimRight(fmt.Sprintf("%09d", nano%1_000_000_000), "0")
}

func withCommas(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (f *Fragment) updateStarsPrices(r *http.Request) (any, error) {
	stars, err := quantity(r.PostForm.Get("quantity"))
	if err != nil {
		return nil, err
	}

	whole, decimals := inTON(f.price(stars, 100))
	if decimals != "" {
		whole += `<span class="mini-frac">.` + decimals + `</span>`
	}
	return map[string]any{
		"ok":        true,
		"cur_price": `<span class="tm-value icon-before icon-ton">` + whole + `</span> <span class="tm-price-usd">~&nbsp;&#036;0<span class="mini-frac">.75</span></span>`,
	}, nil
}

func (f *Fragment) initBuyStarsRequest(r *http.Request) (any, error) {
	username, ok := usernameOf(r.PostForm.Get("recipient"))
	if !ok || r.PostForm.Get("payment_method") != "ton" {
		return nil, says(badRequestText)
	}

	stars, err := quantity(r.PostForm.Get("quantity"))
	if err != nil {
		return nil, err
	}

	request := &starsRequest{
		ID: rand.Text(), Username: username, Stars: stars, AmountNano: f.price(stars, f.state.settings.InitPercent),
	}
	if err := f.commit(fragmentEntry{Request: request}); err != nil {
		return nil, err
	}

	amount, decimals := inTON(request.AmountNano)
	if decimals != "" {
		amount += "." + decimals
	}
	return map[string]any{"req_id": request.ID, "myself": false, "to_bot": false, "amount": amount}, nil
}

func (f *Fragment) getBuyStarsLink(r *http.Request) (any, error) {
	request := f.state.request(r.PostForm.Get("id"))
	wallet, ok := walletAddress(r.PostForm.Get("account"))
	if request == nil || !ok || r.PostForm.Get("transaction") != "1" || !json.Valid([]byte(r.PostForm.Get("device"))) {
		return nil, says(badRequestText)
	}
	if f.state.settings.Verify || f.state.users[request.Username] == "verify" {
		return map[string]any{"ok": true, "need_verify": true}, nil
	}
	if request.Paid != nil {
		return nil, says("This request has been completed")
	}

	now, err := f.chainTime(r.Context())
	if err != nil {
		return nil, err
	}

	to := f.address
	if own := f.state.settings.To; own != "" {
		if to, err = parseAccount(own); err != nil {
			return nil, err
		}
	}

	number := len(f.state.requests)
	linked := *request
	linked.Link = &starsLink{
		To:         to.StringRaw(),
		AmountNano: (request.AmountNano*f.state.settings.LinkPercent/100 + priceStep - 1) / priceStep * priceStep,
		Payload:    boc{payload(request.Stars, number)},
		ValidUntil: now.Add(time.Duration(f.state.settings.LinkSeconds) * time.Second),
	}

	if err := f.commit(fragmentEntry{Request: &linked}); err != nil {
		return nil, err
	}

	encoding := base64.StdEncoding
	if number%2 == 0 { // both forms occur
		encoding = base64.RawURLEncoding
	}
	return map[string]any{
		"ok": true,
		"transaction": map[string]any{
			"validUntil": linked.Link.ValidUntil.Unix(), "from": wallet,
			"messages": []any{map[string]any{
				"address": to.Bounce(f.state.settings.Bounceable).String(), "amount": strconv.FormatInt(linked.Link.AmountNano, 10),
				"payload": encoding.EncodeToString(linked.Link.Payload.root.ToBOC()),
			}},
		},
		"confirm_method": "confirmReq", "confirm_params": map[string]any{"id": request.ID},
	}, nil
}

// payload is the comment that a payment must carry. Some large numbers have commas. The text continues in a second cell
// long before the first is full.
func payload(stars int64, number int) *cell.Cell {
	count := strconv.FormatInt(stars, 10)
	if number%3 == 0 {
		count = withCommas(stars)
	}

	text := count + " Telegram Stars \n\nRef#" + rand.Text()[:9]
	first := len(text)
	if stars >= spillStars {
		first = len(count) + 9 // "10000 Telegram"
	}

	c := cell.BeginCell().MustStoreUInt(0, 32).MustStoreSlice([]byte(text[:first]), uint(first)*8)
	if rest := text[first:]; rest != "" {
		c.MustStoreRef(cell.BeginCell().MustStoreSlice([]byte(rest), uint(len(rest))*8).EndCell())
	}
	return c.EndCell()
}

func (f *Fragment) confirmReq(r *http.Request) (any, error) {
	request := f.state.request(r.PostForm.Get("id"))
	data, err := base64.StdEncoding.DecodeString(r.PostForm.Get("boc"))
	if request == nil || request.Link == nil || err != nil {
		return nil, says(badRequestText)
	}
	if _, err := cell.FromBOC(data); err != nil || f.state.superseded(request) {
		return nil, says(badRequestText)
	}

	confirmed := *request
	confirmed.Confirmed = true
	if err := f.commit(fragmentEntry{Request: &confirmed}); err != nil {
		return nil, err
	}

	return map[string]any{"ok": true}, nil
}

// updateStarsBuyState returns the state of the session's last purchase. A page that shows another state gets an update.
func (f *Fragment) updateStarsBuyState(r *http.Request) (any, error) {
	if err := f.lookForPayments(r.Context()); err != nil {
		return nil, err
	}

	mode := "new"
	if n := len(f.state.requests); n > 0 {
		if last := f.state.requests[n-1]; last.Link != nil {
			mode = "processing"
			if done, err := f.done(r.Context(), last); err != nil {
				return nil, err
			} else if done {
				mode = "done"
			}
		}
	}

	return map[string]any{"ok": true, "mode": mode, "need_update": mode != r.PostForm.Get("mode")}, nil
}

// done reports whether the Stars of a request were sent.
func (f *Fragment) done(ctx context.Context, request *starsRequest) (bool, error) {
	if request.Paid == nil || f.state.settings.Confirm && !request.Confirmed {
		return false, nil
	}
	now, err := f.chainTime(ctx)
	return err == nil && now.Sub(request.Paid.At) >= time.Duration(f.state.settings.DoneAfterMS)*time.Millisecond, err
}

// walletAddress returns the raw address from the JSON in which a wallet describes itself; ok is false for invalid JSON.
func walletAddress(text string) (raw string, ok bool) {
	var account struct {
		Address   string `json:"address"`
		PublicKey string `json:"publicKey"`
		Chain     string `json:"chain"`
		StateInit []byte `json:"walletStateInit"`
	}
	if json.Unmarshal([]byte(text), &account) != nil ||
		len(account.PublicKey) != 64 || account.Chain == "" || len(account.StateInit) == 0 {
		return "", false
	}

	_, err := parseAccount(account.Address)
	return account.Address, err == nil && strings.Contains(account.Address, ":")
}
