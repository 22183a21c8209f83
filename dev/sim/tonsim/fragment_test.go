package tonsim

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"

	"stagecoach/dev/sim/simtest"
)

// shopper buys Stars as a browser would.
type shopper struct {
	*payer
	shop *Fragment
	base string
	hash string
	jar  string // the Cookie header
}

func shopTest(t testing.TB, change func(*FragmentOptions)) *shopper {
	t.Helper()
	s := &shopper{payer: chainTest(t, nil), jar: "stel_ssid=a; stel_dt=-180; stel_token=b; stel_ton_token=c"}
	o := FragmentOptions{TonCenterURL: s.url}
	if change != nil {
		change(&o)
	}
	s.open(o)
	return s
}

func (s *shopper) open(o FragmentOptions) {
	s.test.Helper()
	shop, err := NewFragment(o)
	if err != nil {
		s.test.Fatal(err)
	}

	s.test.Cleanup(func() { _ = shop.Close() })
	s.shop, s.base = shop, simtest.Serve(s.test, shop)
	_, page := simtest.Do(s.test, "GET", s.base+"/stars/buy", nil)
	found := regexp.MustCompile(`api\?hash=([a-f0-9]+)`).FindSubmatch(page)
	if found == nil {
		s.test.Fatalf("no hash in %s", page)
	}

	s.hash = string(found[1])
}

// ask calls a method and returns its answer.
func (s *shopper) ask(method string, form url.Values) map[string]any {
	s.test.Helper()
	status, data := s.send(method, form, nil)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil || status != http.StatusOK {
		s.test.Fatalf("%s: %d %q", method, status, data)
	}
	return answer
}

func (s *shopper) send(method string, form url.Values, change func(*http.Request)) (int, []byte) {
	s.test.Helper()
	form.Set("method", method)
	r, err := http.NewRequestWithContext(
		s.test.Context(), "POST", s.base+"/api?hash="+s.hash, strings.NewReader(form.Encode()),
	)
	if err != nil {
		s.test.Fatal(err)
	}

	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Requested-With", "XMLHttpRequest")
	r.Header.Set("Origin", s.base)
	r.Header.Set("Referer", s.base+"/stars/buy")
	r.Header.Set("Cookie", s.jar)
	if change != nil {
		change(r)
	}

	return simtest.Answer(s.test, r)
}

func (s *shopper) init(username string, stars int) (id, amount string) {
	s.test.Helper()
	found := s.ask("searchStarsRecipient", url.Values{"query": {username}, "quantity": {"50"}})
	recipient := found["found"].(map[string]any)["recipient"].(string)
	request := s.ask(
		"initBuyStarsRequest",
		url.Values{"recipient": {recipient}, "quantity": {strconv.Itoa(stars)}, "payment_method": {"ton"}},
	)
	return request["req_id"].(string), request["amount"].(string)
}

// accountForm is what a wallet sends about itself.
func (s *shopper) accountForm(id string) url.Values {
	s.test.Helper()
	account, _ := json.Marshal(map[string]any{
		"address": s.sim.wallet.StringRaw(), "chain": "-239", "publicKey": s.sim.options.PublicKey, "walletStateInit": []byte("state"),
	})
	return url.Values{
		"account": {string(account)}, "device": {`{}`}, "transaction": {"1"}, "id": {id}, "show_sender": {"0"},
	}
}

// linkOf requests a payment and reads it.
func (s *shopper) linkOf(id string) (order, string) {
	s.test.Helper()
	answer := s.ask("getBuyStarsLink", s.accountForm(id))
	transaction, ok := answer["transaction"].(map[string]any)
	if !ok {
		s.test.Fatalf("%v", answer)
	}

	message := transaction["messages"].([]any)[0].(map[string]any)
	text := message["payload"].(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		data, err = base64.RawURLEncoding.DecodeString(text)
	}

	if err != nil {
		s.test.Fatalf("payload %q", text)
	}

	body, err := cell.FromBOC(data)
	if err != nil {
		s.test.Fatal(err)
	}

	amount, err := strconv.ParseUint(message["amount"].(string), 10, 64)
	if err != nil {
		s.test.Fatal(err)
	}
	return order{ttl: time.Minute, to: message["address"].(string), amount: amount, body: body}, text
}

func (s *shopper) mode(asked string) (mode string, update bool) {
	s.test.Helper()
	answer := s.ask("updateStarsBuyState", url.Values{"mode": {asked}, "lv": {"false"}, "dh": {"1"}})
	return answer["mode"].(string), answer["need_update"].(bool)
}

func (s *shopper) purchases() (items []Purchase, unmatched []Payment) {
	s.test.Helper()
	status, data := simtest.Do(s.test, "GET", s.base+"/_/purchases", nil)
	var answer struct {
		Items     []Purchase `json:"items"`
		Unmatched []Payment  `json:"strays"`
	}
	if err := json.Unmarshal(data, &answer); err != nil || status != http.StatusOK {
		s.test.Fatalf("%d %s", status, data)
	}
	return answer.Items, answer.Unmatched
}

func (s *shopper) set(change func(*FragmentSettings)) {
	s.test.Helper()
	settings := s.shop.CurrentSettings()
	change(&settings)
	if err := s.shop.Set(settings); err != nil {
		s.test.Fatal(err)
	}
}

// A payment that differs from its link buys nothing.
func TestFragmentUnmatchedPayments(t *testing.T) {
	t.Parallel()
	s := shopTest(t, nil)
	seqno := uint32(0)
	pay := func(change func(*order)) {
		t.Helper()
		id, _ := s.init("durov", 50)
		o, _ := s.linkOf(id)
		o.seqno = seqno
		seqno++
		change(&o)
		message, _ := s.sign(o)
		if status, answer := s.broadcast(message); status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
	}

	text, _ := wallet.CreateCommentCell("50 Telegram Stars \n\nRef#made-up")
	pay(func(o *order) { o.amount-- })
	pay(func(o *order) { o.amount++ })
	pay(func(o *order) { o.body = text })
	pay(func(o *order) { o.body = nil })
	if items, unmatched := s.purchases(); len(items) != 0 || len(unmatched) != 4 ||
		unmatched[0].Why != "another amount" || unmatched[2].Why != "it names no request" {
		t.Errorf("%+v %+v", items, unmatched)
	}

	s.set(func(s *FragmentSettings) { s.LinkSeconds = 0 })
	pay(func(*order) {
		if err := s.sim.Steer(Steering{AdvanceMS: 2000}); err != nil {
			t.Fatal(err)
		}
	})

	if items, unmatched := s.purchases(); len(items) != 0 || len(unmatched) != 5 || unmatched[4].Why != "too late" {
		t.Errorf("%+v %+v", items, unmatched)
	}

	s.set(func(s *FragmentSettings) { s.LinkSeconds = 600 })
	id, _ := s.init("durov", 50)
	o, _ := s.linkOf(id)
	for range 2 {
		o.seqno = seqno
		seqno++
		message, _ := s.sign(o)
		if status, answer := s.broadcast(message); status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
	}

	if items, unmatched := s.purchases(); len(items) != 1 || len(unmatched) != 6 || unmatched[5].Why != "the request was paid already" {
		t.Errorf("%+v %+v", items, unmatched)
	}
}

// A payment to an address without a contract is returned if it may be, and buys nothing.
func TestFragmentBouncedPayment(t *testing.T) {
	t.Parallel()
	s := shopTest(t, nil)
	nobody := "0:" + strings.Repeat("9", 64)
	s.set(func(s *FragmentSettings) { s.To = nobody; s.Bounceable = true })
	id, _ := s.init("durov", 50)
	o, _ := s.linkOf(id)
	if o.to[0] != 'E' {
		t.Errorf("to %s", o.to)
	}

	o.bounce = true
	message, _ := s.sign(o)
	if status, answer := s.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if items, unmatched := s.purchases(); len(items)+len(unmatched) != 0 {
		t.Errorf("%+v %+v", items, unmatched)
	}
	if mode, _ := s.mode("done"); mode != "processing" {
		t.Errorf("mode %s", mode)
	}

	o.seqno, o.bounce = 1, false
	message, _ = s.sign(o)
	if status, answer := s.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if items, _ := s.purchases(); len(items) != 1 {
		t.Errorf("%+v", items)
	}
}

func TestFragmentDoneLaterAndConfirmed(t *testing.T) {
	t.Parallel()
	s := shopTest(t, nil)
	s.set(func(s *FragmentSettings) { s.Confirm = true; s.DoneAfterMS = 60_000 })
	id, _ := s.init("durov", 50)
	o, _ := s.linkOf(id)
	message, _ := s.sign(o)
	if status, answer := s.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	check := func(want string) {
		t.Helper()
		if mode, _ := s.mode("done"); mode != want {
			t.Errorf("mode %s, want %s", mode, want)
		}
	}

	check("processing")
	if err := s.sim.Steer(Steering{AdvanceMS: 61_000}); err != nil {
		t.Fatal(err)
	}

	check("processing")
	s.ask("confirmReq", url.Values{"id": {id}, "boc": {base64.StdEncoding.EncodeToString(message.ToBOC())}})
	check("done")
	s.init("other", 50)
	check("new") // the session's last purchase is another one now
}

func TestFragmentTexts(t *testing.T) {
	t.Parallel()
	s := shopTest(t, nil)
	if err := s.sim.SetBalance("", 1_000_000*ton); err != nil {
		t.Fatal(err)
	}

	plain, commas, urlSafe := false, false, false
	for _, stars := range []int{9_999, 10_000, 10_001, 250_000, 1_000_000, 10_000} {
		id, amount := s.init("durov", stars)
		if nano := int64(stars) * 9_218_000; (nano >= 1000*ton) != strings.Contains(amount, ",") {
			t.Errorf("%d Stars for %s", stars, amount)
		}

		o, text := s.linkOf(id)
		urlSafe = urlSafe || !strings.HasSuffix(text, "=") && len(text)%4 != 0
		if cells := o.body.RefsNum(); (stars >= 10_000) != (cells == 1) {
			t.Errorf("%d Stars: %d more cells", stars, cells)
		}

		slice := o.body.MustBeginParse()
		_ = slice.MustLoadUInt(32)
		comment := slice.MustLoadStringSnake()
		if !strings.HasPrefix(strings.ReplaceAll(comment, ",", ""), strconv.Itoa(stars)+" Telegram Stars \n\nRef#") {
			t.Errorf("%d Stars: %q", stars, comment)
		}

		commas, plain = commas || strings.Contains(comment, ","), plain || !strings.Contains(comment, ",")
	}

	if !plain || !commas || !urlSafe {
		t.Errorf("not every form was seen: %t %t %t", plain, commas, urlSafe)
	}
}

// TestFragmentUsersAreSteeredOverHTTP gives usernames every kind, and refuses unknown kinds.
func TestFragmentUsersAreSteeredOverHTTP(t *testing.T) {
	t.Parallel()
	s := shopTest(t, nil)
	for kind, text := range userKinds {
		status, answer := simtest.Do(t, "POST", s.base+"/_/users", map[string]any{"username": " @Some_One", "kind": kind})
		if status != http.StatusNoContent {
			t.Errorf("%s: %d %s", kind, status, answer)
		}
		if found := s.ask("searchStarsRecipient", url.Values{"query": {"some_one"}}); text != "" && found["error"] != text || text == "" && found["found"] == nil {
			t.Errorf("%s: %v", kind, found)
		}
	}

	for body, want := range map[string]string{
		`{"username":"durov","kind":"ghost"}`:           "allowed: bot, channel, not_giftable, puzzling, unknown, user, verify",
		`{"username":"durov"}`:                          `unknown kind \"\"`,
		`{"kind":"unknown"}`:                            "invalid username",
		`{"username":" @ ","kind":"unknown"}`:           "invalid username",
		`{"username":"a b c","kind":"unknown"}`:         "invalid username",
		`{"username":"durov","kind":"bot","name":"x"}`:  "unknown field",
		`{"username":7,"kind":"bot"}`:                   "username",
		`[{"username":"durov","kind":"bot"}]`:           "cannot unmarshal",
		`{"username":"durov","kind":"bot"} {"kind":""}`: "more than one",
		``: "EOF",
	} {
		status, answer := simtest.Do(t, "POST", s.base+"/_/users", json.RawMessage(body))
		if status != http.StatusBadRequest || !strings.Contains(string(answer), want) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	if found := s.ask("searchStarsRecipient", url.Values{"query": {"durov"}}); found["found"] == nil {
		t.Errorf("a refused call has changed a user: %v", found)
	}
}

func TestFragmentSurvivesRestart(t *testing.T) {
	t.Parallel()
	o := FragmentOptions{Dir: t.TempDir()}
	s := shopTest(t, func(own *FragmentOptions) { o.TonCenterURL = own.TonCenterURL; *own = o })
	if err := s.shop.SetUser("nobody", "unknown"); err != nil {
		t.Fatal(err)
	}

	id, _ := s.init("durov", 50)
	o1, _ := s.linkOf(id)
	message, _ := s.sign(o1)
	if status, answer := s.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	unlinked, _ := s.sign(order{seqno: 1, ttl: time.Minute, to: s.sim.Shop(), amount: 1})
	if status, answer := s.broadcast(unlinked); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}

	items, unmatched := s.purchases()
	second, _ := s.init("durov", 60)
	o2, _ := s.linkOf(second)
	hash := s.hash
	if err := s.shop.Close(); err != nil {
		t.Fatal(err)
	}

	s.open(o)
	again, unmatchedAgain := s.purchases()
	if s.hash != hash || len(items) != 1 || len(again) != 1 || items[0] != again[0] ||
		len(unmatched) != 1 || len(unmatchedAgain) != 1 || unmatched[0] != unmatchedAgain[0] {
		t.Errorf("%+v %+v, %+v %+v", items, again, unmatched, unmatchedAgain)
	}
	if answer := s.ask("searchStarsRecipient", url.Values{"query": {"nobody"}}); answer["error"] != noSuchUser {
		t.Errorf("%v", answer)
	}

	o2.seqno = 2
	message, _ = s.sign(o2)
	if status, answer := s.broadcast(message); status != http.StatusOK {
		t.Fatalf("%d %v", status, answer)
	}
	if items, _ := s.purchases(); len(items) != 2 {
		t.Errorf("a link from before is worth nothing: %+v", items)
	}
}
