package fragment

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

const session = "stel_ssid=s3cr3t1; stel_dt=-180; stel_token=s3cr3t2; stel_ton_token=s3cr3t3"

// rig is a shop that sells Stars, a chain, and a wallet with 10 TON.
type rig struct {
	*Client
	t      *testing.T
	shop   *tonsim.Fragment
	chain  *tonsim.TonCenter
	center *toncenter.Client
	wallet *ton.Wallet
	seqno  uint32
	ahead  time.Duration // how far the chain is ahead of the real time
}

func newRig(t *testing.T, change func(*Options)) *rig {
	t.Helper()
	key, err := ton.ParseKey(strings.Repeat("5e", 32))
	if err != nil {
		t.Fatal(err)
	}

	w := &rig{t: t}
	if w.wallet, err = ton.NewWallet(key, ton.Mainnet); err != nil {
		t.Fatal(err)
	}
	if w.chain, err = tonsim.NewTonCenter(tonsim.TonCenterOptions{PublicKey: w.wallet.PublicKey(), Balance: 1000 * int64(money.TON)}); err != nil {
		t.Fatal(err)
	}

	chainURL := serve(t, w.chain)
	if w.shop, err = tonsim.NewFragment(tonsim.FragmentOptions{TonCenterURL: chainURL, Token: "s3cr3t2"}); err != nil {
		t.Fatal(err)
	}

	shopURL := serve(t, w.shop)
	t.Cleanup(func() { _ = errors.Join(w.shop.Close(), w.chain.Close()) })
	w.center = toncenter.New(toncenter.Options{
		URL: chainURL, RequestsPerSecond: 1e6, Now: func() time.Time { return time.Now().Add(w.ahead) },
	})

	o := Options{URL: shopURL, Cookies: cookies(t), Wallet: w.account(), RequestsPerSecond: 1e6}
	if change != nil {
		change(&o)
	}

	w.Client = New(o)
	return w
}

func (w *rig) account() Account {
	return Account{
		Address: w.wallet.Address(), PublicKey: w.wallet.PublicKey(), StateInit: w.wallet.StateInit(), Network: ton.Mainnet,
	}
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	url, stop, err := sim.Start("127.0.0.1:0", h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func cookies(t *testing.T) Cookies {
	t.Helper()
	c, err := ParseCookies(session)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// link takes a purchase up to its payment.
func (w *rig) link(username string, stars int) Link {
	w.t.Helper()
	recipient, err := w.Search(w.t.Context(), username, stars)
	if err != nil {
		w.t.Fatal(err)
	}

	request, err := w.Init(w.t.Context(), recipient, stars)
	if err != nil {
		w.t.Fatal(err)
	}

	link, err := w.Link(w.t.Context(), request)
	if err != nil {
		w.t.Fatal(err)
	}
	if link.Amount != request.Amount || link.Stars != stars {
		w.t.Fatalf("%+v for %+v", link, request)
	}

	return link
}

// pay sends a link's payment, as the shop will see it.
func (w *rig) pay(link Link) tonsim.Payment {
	w.t.Helper()
	signed, err := w.wallet.Sign(
		w.seqno, link.ValidUntil, ton.Payment{To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce},
	)
	if err != nil {
		w.t.Fatal(err)
	}

	w.seqno++
	if receipt, err := w.center.Broadcast(w.t.Context(), signed.BoC); err != nil || receipt.Outcome != toncenter.Accepted {
		w.t.Fatalf("%+v %v", receipt, err)
	}
	if err := w.Confirm(w.t.Context(), link.ConfirmID, signed.BoC); err != nil {
		w.t.Fatal(err)
	}

	found, err := w.center.TransactionsByMessage(w.t.Context(), signed.Hash)
	if err != nil || len(found) != 1 || len(found[0].Out) != 1 {
		w.t.Fatalf("%+v %v", found, err)
	}
	bodyHash, _ := ton.BodyHash(link.Body)
	if out := found[0].Out[0]; out.Destination != link.To || out.Value != link.Amount || out.BodyHash != bodyHash {
		w.t.Fatalf("%+v", found)
	}
	return tonsim.Payment{Hash: found[0].Hash, Message: found[0].Out[0].Hash, PaidNano: int64(link.Amount)}
}

func (w *rig) state(mode string) State {
	w.t.Helper()
	s, err := w.State(w.t.Context(), mode)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestPurchase(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	var want []tonsim.Purchase
	for _, stars := range []int{50, 51, 1234, 9_999, 10_000, 25_001} { // commas, both kinds of base64, one cell and two
		price, err := w.Price(t.Context(), stars)
		if err != nil {
			t.Fatal(err)
		}

		link := w.link("@Durov", stars)
		if link.Amount != price || link.To != toAddress(t, w.chain.Shop()) || link.Bounce || link.ConfirmID == "" || time.Until(link.ValidUntil) < time.Minute {
			t.Errorf("%+v at %s", link, price)
		}
		if s := w.state("processing"); s.Done() || s.Mode != "processing" {
			t.Errorf("before the payment: %+v", s)
		}

		payment := w.pay(link)
		if s := w.state("processing"); s.Done() || s.Mode != "done" || !s.NeedUpdate {
			t.Errorf("asked as if it was not done: %+v", s)
		}
		if s := w.state("done"); !s.Done() {
			t.Errorf("%+v", s)
		}

		want = append(want, tonsim.Purchase{Username: "durov", Stars: int64(stars), Payment: payment})
	}

	got, strays, err := w.shop.Purchases(t.Context())
	for i := range got {
		got[i].At = time.Time{}
	}

	if err != nil || !slices.Equal(got, want) || len(strays) != 0 {
		t.Errorf("%+v, strays %+v, %v; want %+v", got, strays, err, want)
	}
}

func toAddress(t *testing.T, text string) ton.Address {
	t.Helper()
	a, _, err := ton.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// From 10,000 Stars the text spans two cells, and rebuilding it from the text would give another body.
func TestBodyIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	link := w.link("durov", 10_000)
	text, ok := ton.Comment(link.Body)
	if !ok || !strings.HasPrefix(strings.ReplaceAll(text, ",", ""), "10000 Telegram Stars \n\nRef#") {
		t.Fatalf("%q %t", text, ok)
	}

	again, err := ton.CommentBody(text)
	if err != nil {
		t.Fatal(err)
	}

	link.Body = again
	w.pay(link)
	bought, strays, err := w.shop.Purchases(t.Context())
	if err != nil || len(bought) != 0 || len(strays) != 1 {
		t.Errorf("%+v %+v %v", bought, strays, err)
	}
}

func TestLatePaymentBuysNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	link := w.link("durov", 50)
	w.ahead = 11 * time.Minute
	if err := w.chain.Steer(tonsim.Steering{AdvanceMS: w.ahead.Milliseconds()}); err != nil {
		t.Fatal(err)
	}

	link.ValidUntil = link.ValidUntil.Add(time.Hour) // which an order must not do
	w.pay(link)
	bought, strays, err := w.shop.Purchases(t.Context())
	if err != nil || len(bought) != 0 || len(strays) != 1 || w.state("done").Done() {
		t.Errorf("%+v %+v %v", bought, strays, err)
	}
	if later := w.link("durov", 50); later.ValidUntil.Before(link.ValidUntil.Add(-time.Hour)) {
		t.Errorf("a new link is valid until %v", later.ValidUntil)
	}
}

// The amounts of a quote, a request and a link may differ: the payer compares them.
func TestPriceMoves(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	settings := w.shop.CurrentSettings()
	settings.InitPercent, settings.LinkPercent = 110, 120
	if err := w.shop.Set(settings); err != nil {
		t.Fatal(err)
	}

	price, err := w.Price(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}

	recipient, err := w.Search(t.Context(), "durov", 1000)
	if err != nil {
		t.Fatal(err)
	}

	request, err := w.Init(t.Context(), recipient, 1000)
	if err != nil || request.Amount != price*110/100 {
		t.Errorf("%+v after %s, %v", request, price, err)
	}

	link, err := w.Link(t.Context(), request)
	if err != nil || link.Amount <= request.Amount*119/100 || link.Amount > request.Amount*121/100 {
		t.Errorf("%+v after %+v, %v", link, request, err)
	}
}

// calls are all API calls, in the order of a purchase.
func calls(w *rig) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"searchStarsRecipient": func(ctx context.Context) error { _, err := w.Search(ctx, "durov", 50); return err },
		"updateStarsPrices":    func(ctx context.Context) error { _, err := w.Price(ctx, 50); return err },
		"initBuyStarsRequest": func(ctx context.Context) error {
			_, err := w.Init(ctx, Recipient{ID: base64.RawURLEncoding.EncodeToString([]byte("sim:durov"))}, 50)
			return err
		},
		"getBuyStarsLink":     func(ctx context.Context) error { _, err := w.Link(ctx, Request{ID: "x"}); return err },
		"confirmReq":          func(ctx context.Context) error { return w.Confirm(ctx, "x", []byte{1}) },
		"updateStarsBuyState": func(ctx context.Context) error { _, err := w.State(ctx, "new"); return err },
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]struct {
		code  fault.Code
		text  string
		class lifecycle.ErrorClass
	}{
		"unknown_user":         {fault.FragmentNoUser, "Username not found", lifecycle.NonRetryable},
		"not_a_user":           {fault.FragmentNotAUser, "Invalid username", lifecycle.NonRetryable},
		"not_giftable":         {fault.FragmentNoGift, "Fragment API error: the account cannot be gifted Stars at this moment", lifecycle.Retryable},
		"session_expired":      {fault.FragmentUnauthorized, "Authorization failed: Session expired", hold},
		"auth_session_expired": {fault.FragmentUnauthorized, "Authorization failed: Session expired", hold},
		"unauthorized":         {fault.FragmentUnauthorized, "Authorization failed: Session expired", hold},
		"access_denied":        {fault.FragmentUnauthorized, "Authorization failed: Session expired", hold},
		"something":            {fault.FragmentRefused, "Fragment API error: an unknown reason", lifecycle.UnknownError},
		"401":                  {fault.FragmentUnauthorized, "Authorization failed: Session expired", hold},
		"403":                  {fault.FragmentUnavailable, "Service unavailable: Fragment API returned 403", lifecycle.Retryable},
		"404":                  {fault.FragmentProtocol, "Fragment API error: the answer makes no sense", lifecycle.UnknownError},
		"429":                  {fault.FragmentUnavailable, "Service unavailable: Fragment API returned 429", lifecycle.Retryable},
		"500":                  {fault.FragmentUnavailable, "Service unavailable: Fragment API returned 500", lifecycle.Retryable},
		"503":                  {fault.FragmentUnavailable, "Service unavailable: Fragment API returned 503", lifecycle.Retryable},
		"html_502":             {fault.FragmentUnavailable, "Service unavailable: Fragment API returned 502", lifecycle.Retryable},
		"cut":                  {fault.FragmentUnreachable, "Failed to fetch: Network error", lifecycle.Retryable},
		"lost_answer":          {fault.FragmentUnreachable, "Failed to fetch: Network error", lifecycle.Retryable},
		"timeout":              {fault.FragmentUnreachable, "Failed to fetch: Network error", lifecycle.Retryable},
		"short_body":           {fault.FragmentProtocol, "Fragment API error: the answer makes no sense", lifecycle.UnknownError},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute // the others answer, however busy the machine is
			if kind == "timeout" {
				limit = 2 * time.Second
			}
			w := newRig(t, func(o *Options) { o.CallTimeout = limit })
			wait.Eventually(t, "the page's hash is known", func() bool { // an answer may take longer than the time-out
				_, err := w.Price(t.Context(), 50)
				return err == nil
			})
			for method, call := range calls(w) {
				w.shop.ClearFaults()
				w.shop.AddFault(sim.Fault{Match: " " + method, Kind: kind})
				wantFault(t, method, call(t.Context()), want.code, want.text, want.class)
			}
		})
	}
}

// TestUnknownSentenceHidesTheName keeps the unforeseen for the log, without the requested name.
func TestUnknownSentenceHidesTheName(t *testing.T) {
	t.Parallel()
	f := textFault("The user Durov cannot be served today, see https://x", "durov")
	if f.Code != fault.FragmentRefused || strings.Contains(strings.ToLower(f.Cause.Error()), "durov") || !strings.Contains(f.Cause.Error(), "cannot be served today") {
		t.Errorf("%v", f.Cause)
	}
	wantFault(
		t, "a name like a sentence", textFault("Session expired", "session"), fault.FragmentUnauthorized,
		"Authorization failed: Session expired", hold,
	)
}

// TestNamesLikeSentences requires that no name is mistaken for a sentence of Fragment.
func TestNamesLikeSentences(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]map[string]fault.Code{
		"unauthorized": {
			"The user @Unauthorized cannot be served": fault.FragmentRefused, "Unauthorized": fault.FragmentUnauthorized,
			"No Telegram users found for unauthorized.": fault.FragmentNoUser, "unauthorized: session expired": fault.FragmentUnauthorized,
		},
		"AUTH_SESSION_EXPIRED": {"auth_session_expired is busy": fault.FragmentRefused},
		"users":                {"No Telegram users found.": fault.FragmentNoUser},
	} {
		for text, want := range answers {
			w := site(t, 200, fmt.Sprintf(`{"error":%q}`, text))
			_, searched := w.Search(t.Context(), name, 50)
			_, begun := w.Init(t.Context(), Recipient{ID: "x", Username: name}, 50)
			_, linked := w.Link(t.Context(), Request{ID: "x", Username: name})
			for _, err := range []error{searched, begun, linked} {
				if fault.CodeOf(err) != want {
					t.Errorf("%s: %q is %v, want %s", name, text, err, want)
				}
			}
		}
	}

	_, err := site(t, 400, `{"error":"unauthorized is busy"}`).Search(t.Context(), "unauthorized", 50)
	if fault.CodeOf(err) == fault.FragmentUnauthorized {
		t.Errorf("with a status: %v", err)
	}
	_, err = site(t, 200, `{"need_ton":{"wallet":null}}`).Init(t.Context(), Recipient{ID: "x"}, 50)
	wantFault(t, "no wallet", err, fault.FragmentUnauthorized, "Authorization failed: No TON account is connected", hold)
}

// TestPageNumbers requires the numbers that Fragment's own pages send.
func TestPageNumbers(t *testing.T) {
	t.Parallel()
	for range 1000 {
		if n := pageNumber(); n < 100_000_000 || n > 2_147_483_647 {
			t.Fatalf("%d", n)
		}
	}
}

// hold stands for the class of errors that hold all purchases.
const hold lifecycle.ErrorClass = "hold"

func classOf(err error) lifecycle.ErrorClass {
	if Holds(err) {
		return hold
	}
	return row(fault.CodeOf(err)).means.Class
}

func wantFault(t *testing.T, what string, err error, code fault.Code, text string, class lifecycle.ErrorClass) {
	t.Helper()
	f := fault.As(err)
	if f == nil || f.Code != code || f.Message != text || classOf(err) != class || f.Retryable != (class == lifecycle.Retryable || class == lifecycle.UnknownError) {
		t.Errorf("%s: %v (%s), want %s %q %s", what, err, classOf(err), code, text, class)
	}

	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, shown := range []string{e.Error(), fmt.Sprintf("%+v", e), fmt.Sprintf("%#v", e)} {
			if strings.Contains(shown, "s3cr3t") || strings.Contains(shown, "://") || strings.Contains(strings.ToLower(shown), "durov") || strings.Contains(shown, "hash=") {
				t.Errorf("%s: the error shows something private: %s", what, shown)
			}
		}
	}
}

func TestPageFailures(t *testing.T) {
	t.Parallel()
	for kind, text := range map[string]string{
		"403": "Service unavailable: Fragment API returned 403", "503": "Service unavailable: Fragment API returned 503",
		"cut": "Failed to fetch: Network error", "short_body": "Fragment API error: the answer makes no sense",
	} {
		w := newRig(t, nil)
		w.shop.AddFault(sim.Fault{Match: "GET /stars", Kind: kind, Times: 1})
		_, err := w.Search(t.Context(), "durov", 50)
		if f := fault.As(err); f == nil || f.Message != text {
			t.Errorf("%s: %v", kind, err)
		}
		if _, err := w.Search(t.Context(), "durov", 50); err != nil {
			t.Errorf("%s: afterwards: %v", kind, err)
		}
	}

	nowhere := New(Options{URL: "http://127.0.0.1:1"})
	if _, err := nowhere.Price(t.Context(), 50); fault.CodeOf(err) != fault.FragmentUnreachable {
		t.Errorf("%v", err)
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for method, call := range calls(w) {
		if err := call(ctx); !errors.Is(err, context.Canceled) || fault.As(err) != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func TestKindsOfUsers(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	for kind, code := range map[string]fault.Code{
		"unknown": fault.FragmentNoUser, "channel": fault.FragmentNotAUser, "bot": fault.FragmentNotAUser, "not_giftable": fault.FragmentNoGift,
		"user": "", "verify": "",
	} {
		if err := w.shop.SetUser("@Some_One", kind); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Search(t.Context(), "some_one", 50); fault.CodeOf(err) != code {
			t.Errorf("%s: %v", kind, err)
		}
	}

	if err := w.shop.SetUser("some_one", "verify"); err != nil {
		t.Fatal(err)
	}

	recipient, _ := w.Search(t.Context(), "some_one", 50)
	request, err := w.Init(t.Context(), recipient, 50)
	if err != nil {
		t.Fatal(err)
	}

	_, err = w.Link(t.Context(), request)
	wantFault(t, "verify", err, fault.FragmentVerify, "Authorization failed: Fragment asks for verification", hold)
	if _, err := w.Init(t.Context(), recipient, 49); fault.CodeOf(err) != fault.FragmentRefused {
		t.Errorf("49 Stars: %v", err)
	}
}

// With an expired session the search still works, and nothing else does.
func TestSession(t *testing.T) {
	t.Parallel()
	w := newRig(t, nil)
	settings := w.shop.CurrentSettings()
	settings.SessionFailed = "AUTH_SESSION_EXPIRED"
	if err := w.shop.Set(settings); err != nil {
		t.Fatal(err)
	}

	for method, call := range calls(w) {
		open := method == "searchStarsRecipient" || method == "updateStarsPrices"
		if err := call(t.Context()); open != (err == nil) || !open && classOf(err) != hold {
			t.Errorf("%s: %v", method, err)
		}
	}

	settings.SessionFailed = ""
	if err := w.shop.Set(settings); err != nil {
		t.Fatal(err)
	}

	w.link("durov", 50)
	other := newRig(
		t, func(o *Options) { o.Cookies = Cookies{"stel_ssid": "a", "stel_token": "b", "stel_ton_token": "c"} },
	)
	if err := calls(other)["initBuyStarsRequest"](t.Context()); classOf(err) != hold {
		t.Errorf("a wrong token: %v", err)
	}
}

// A page with another hash is read anew, once.
func TestHashIsRenewed(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []string
	w := newRig(t, func(o *Options) {
		o.OnLatency = func(_ context.Context, method string, _ time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, method)
		}
	})
	if _, err := w.Price(t.Context(), 50); err != nil {
		t.Fatal(err)
	}

	answer, err := http.Post(w.o.URL+"/_/hash/renew", "", nil)
	if err != nil || answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%v %v", answer, err)
	}

	_ = answer.Body.Close()
	for range 2 {
		if _, err := w.Price(t.Context(), 50); err != nil {
			t.Fatal(err)
		}
	}

	const want = "page updateStarsPrices updateStarsPrices page updateStarsPrices updateStarsPrices"
	if got := strings.Join(told, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// site answers every call with one body.
func site(t *testing.T, status int, body string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api" {
			_, _ = io.WriteString(w, `"apiUrl":"\/api?hash=0a1b2c"`)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))

	t.Cleanup(server.Close)
	key, _ := ton.ParseKey(strings.Repeat("5e", 32))
	wallet, err := ton.NewWallet(key, ton.Mainnet)
	if err != nil {
		t.Fatal(err)
	}

	return New(Options{URL: server.URL, RequestsPerSecond: 1e6, Wallet: Account{Address: wallet.Address()}})
}

func TestOddLinks(t *testing.T) {
	t.Parallel()
	const to = "UQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVCgeF"
	good, err := ton.CommentBody("50 Telegram Stars \n\nRef#x")
	if err != nil {
		t.Fatal(err)
	}

	payload := base64.StdEncoding.EncodeToString(good)
	other := "0:" + strings.Repeat("1", 64)
	link := func(until, from, messages string) string {
		return fmt.Sprintf(`{"ok":true,"transaction":{"validUntil":%s,"from":%q,"messages":[%s]}}`, until, from, messages)
	}

	message := func(address, amount, payload string) string {
		return fmt.Sprintf(`{"address":%q,"amount":%s,"payload":%q}`, address, amount, payload)
	}

	fine := message(to, `"460,900,000"`, payload)
	for name, body := range map[string]string{
		"nothing": `{}`, "no transaction": `{"ok":true}`, "no payment": link("1900000000", "", ""), "two payments": link("1900000000", "", fine+","+fine),
		"no end": link("0", "", fine), "far end": link("4294967296", "", fine), "milliseconds": link("1900000000000", "", fine), "text as end": link(`"soon"`, "", fine),
		"another wallet": link("1900000000", other, fine), "odd wallet": link("1900000000", "me", fine),
		"no address": link("1900000000", "", message("", `"1"`, payload)), "username as address": link("1900000000", "", message("durov.ton", `"1"`, payload)),
		"no amount": link("1900000000", "", message(to, `""`, payload)), "zero": link("1900000000", "", message(to, `"0"`, payload)),
		"TON": link("1900000000", "", message(to, `"0.4609"`, payload)), "negative": link("1900000000", "", message(to, `"-5"`, payload)),
		"too much":   link("1900000000", "", message(to, `"9223372036854775808"`, payload)),
		"no payload": link("1900000000", "", message(to, `"1"`, "")), "text as payload": link("1900000000", "", message(to, `"1"`, "50 Telegram Stars")),
		"no cells": link("1900000000", "", message(to, `"1"`, "AAAA")), "list": `[]`, "other shape": `{"ok":true,"transaction":[]}`,
	} {
		if got, err := site(t, 200, body).Link(t.Context(), Request{ID: "x"}); fault.CodeOf(err) != fault.FragmentProtocol {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}

	got, err := site(t, 200, link("1900000000", "", fine)).Link(t.Context(), Request{ID: "x"})
	if err != nil || got.Amount != 460_900_000 || got.Bounce || got.Stars != 50 || got.ConfirmID != "" || got.ValidUntil.Unix() != 1_900_000_000 {
		t.Errorf("%+v %v", got, err)
	}

	fine = message(
		"EQC9bWZd29foipyPOGWlVNVCQzpGAjvi1rGWF7EbNcSVClpA", "460900000", base64.RawURLEncoding.EncodeToString(good),
	)

	got, err = site(t, 200, link(`"1900000000"`, "", fine)).Link(t.Context(), Request{ID: "x"})
	if err != nil || got.Amount != 460_900_000 || !got.Bounce || !slices.Equal(got.Body, good) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestPrices(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]money.Nano{
		`<b class=\"x icon-ton\">0<span class=\"mini-frac\">.4609</span></b> ~ <i>1<span class=\"mini-frac\">.50</span></i>`: 460_900_000,
		`<b>0<span class=\"mini-frac\">.4609</span></b>`:                                                                     460_900_000,
		`<i>~ $1.5</i><b class=\"icon-ton\">12,345</b>`:                                                                      12_345 * money.TON,
		`<b class=\"icon-ton icon-before\">1,234<span class=\"mini-frac\">.5</span></b>`:                                     1_234*money.TON + money.TON/2,
		`<b class=\"icon-ton\">free</b>`:                                                                                     0, ``: 0, `<b class=\"icon-ton\">0</b>`: 0, `<b class=\"icon-ton\">1,2</b>`: 0,
		`<b class=\"icon-ton\">0<span class=\"mini-frac\">.1234567890</span></b>`:                    0,
		`<i>0<span class=\"mini-frac\">.75</span></i><b>0<span class=\"mini-frac\">.4609</span></b>`: 0, // which is which?
	} {
		got, err := site(t, 200, `{"ok":true,"cur_price":"`+page+`"}`).Price(t.Context(), 50)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %s %v, want %s", page, got, err, want)
		}
	}
}

func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		code   fault.Code
	}{
		"escaped":     {200, `{"error":"You can&#39;t gift Telegram Stars to this account at this moment."}`, fault.FragmentNoGift},
		"other quote": {200, `{"error":"You can’t gift Telegram Stars to this account at this moment."}`, fault.FragmentNoGift},
		"capitals":    {200, `{"error":"NO TELEGRAM USERS FOUND"}`, fault.FragmentNoUser},
		"with status": {400, `{"error":"Access denied"}`, fault.FragmentUnauthorized},
		"private":     {200, `{"error":"User @durov2 of https://t.me/durov2 may not, durov_3"}`, fault.FragmentRefused},
		"numeric":     {200, `{"error":17}`, fault.FragmentRefused},
		"verify":      {200, `{"ok":true,"need_verify":true}`, fault.FragmentVerify},
		"no wallet":   {200, `{"need_ton":true}`, fault.FragmentUnauthorized},
		"no id":       {200, `{"amount":"1"}`, fault.FragmentProtocol},
		"no amount":   {200, `{"req_id":"a"}`, fault.FragmentProtocol},
		"page":        {200, `<html>`, fault.FragmentProtocol},
		"empty":       {200, ``, fault.FragmentProtocol},
	} {
		_, err := site(t, c.status, c.body).Init(t.Context(), Recipient{ID: "x"}, 50)
		f := fault.As(err)
		if f == nil || f.Code != c.code {
			t.Errorf("%s: %v", name, err)
		} else if f.Cause != nil && strings.Contains(f.Cause.Error(), "durov") {
			t.Errorf("%s: the cause shows a name: %v", name, f.Cause)
		}
	}

	for body, want := range map[string]money.Nano{`{"req_id":"a","amount":"1,234.5"}`: 1234*money.TON + money.TON/2, `{"req_id":7,"amount":0.4609}`: 460_900_000} {
		if got, err := site(t, 200, body).Init(t.Context(), Recipient{ID: "x"}, 50); err != nil || got.Amount != want || got.ID == "" {
			t.Errorf("%s: %+v %v", body, got, err)
		}
	}
}

func TestCookies(t *testing.T) {
	t.Parallel()
	c := cookies(t)
	if got := fmt.Sprintf("%v %+v %#v %s %q", c, c, c, c, c); strings.Contains(got, "s3cr3t") {
		t.Errorf("cookies show: %s", got)
	}
	if got := fmt.Sprintf("%v %+v", Options{Cookies: c}, &Options{Cookies: c}); strings.Contains(got, "s3cr3t") {
		t.Errorf("cookies show: %s", got)
	}

	for _, missing := range sessionCookies {
		kept := slices.DeleteFunc(
			strings.Split(session, "; "), func(part string) bool { return strings.HasPrefix(part, missing+"=") },
		)
		if _, err := ParseCookies(strings.Join(kept, ";")); err == nil || !strings.Contains(err.Error(), missing) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

func TestClassOfOthers(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, errors.New("x"), fault.New(fault.Internal, "x")} {
		if got := classOf(err); got != lifecycle.UnknownError {
			t.Errorf("%v is %s", err, got)
		}
	}
}
