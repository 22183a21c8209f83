package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/rest"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// TestHowToPay requests the terms, with and without a recipient.
func TestHowToPay(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.bank()
	terms := func(query string) map[string]any {
		return w.send(w.adaToken, "GET", "/v1/stars"+query, nil).ok(http.StatusOK).body
	}

	const address = "UQ"
	base := terms("")
	for name, want := range map[string]any{
		"least_stars": 50.0, "most_stars": 1e6, "reserve_nano": 20e6, "slippage_percent": 1.0, "price_nano": 460_900_000.0,
		"least_nano": 490e6, "username": nil, "stars": 0.0, "amount_nano": nil, "comment": nil, "link": nil,
	} {
		if base[name] != want {
			t.Errorf("%s is %v, want %v", name, base[name], want)
		}
	}

	if !strings.HasPrefix(fmt.Sprint(base["address"]), address) || base["good_until"] == nil {
		t.Errorf("terms %v", base)
	}

	wallet := fmt.Sprint("ton://transfer/", base["address"])
	for query, want := range map[string][3]any{
		"?username=durov&stars=100":   {960e6, "durov 100", wallet + "?amount=960000000&text=durov%20100"}, // 921.8 + 1 % + 20
		"?username=%40durov&stars=50": {490e6, "durov 50", wallet + "?amount=490000000&text=durov%2050"},
		"?username=durov":             {nil, "durov", wallet + "?text=durov"},
		"?stars=100":                  {960e6, nil, nil},
	} {
		got := terms(query)
		if [3]any{got["amount_nano"], got["comment"], got["link"]} != want {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}

	for query, field := range map[string]string{
		"?username=d": "username", "?username=durov%2060": "username", "?username=%40%40durov": "username", "?username=%00abcd": "username",
		"?stars=49": "stars", "?stars=1000001": "stars", "?stars=-1": "stars", "?stars=x": "stars", "?x=1": "x",
	} {
		w.send(w.adaToken, "GET", "/v1/stars"+query, nil).refused(unprocessable, fault.Validation, field)
	}
}

// TestHowToPayWithoutAPrice requests the terms while Fragment does not answer: then the comment names no number of
// Stars.
func TestHowToPayWithoutAPrice(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.bank()
	w.chain.fail(fault.New(fault.FragmentUnreachable, "Fragment is slow"))
	got := w.send(w.adaToken, "GET", "/v1/stars?username=durov&stars=100", nil).ok(http.StatusOK).body
	for _, name := range []string{"price_nano", "least_nano", "good_until", "amount_nano", "comment", "link"} {
		if got[name] != nil {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

// receipt opens a receipt without authentication.
func (w *rig) receipt(hash string) (body map[string]any, steps []string) {
	w.t.Helper()
	t := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body
	if t["receipt_url"] != fmt.Sprint("https://pages.example/receipts/", t["receipt_key"]) {
		w.t.Errorf("the receipt is at %v", t["receipt_url"])
	}

	body = w.send("", "GET", fmt.Sprint("/v1/receipts/", t["receipt_key"]), nil).ok(http.StatusOK).body
	for _, s := range body["steps"].([]any) {
		step := s.(map[string]any)
		text := fmt.Sprint(step["step"])
		if step["done"] != true {
			text += " later"
		} else if step["at"] == nil {
			w.t.Errorf("%s has no time", text)
		}

		if step["hash"] != nil {
			text += "#"
		}

		steps = append(steps, text)
	}

	return body, steps
}

// TestReceipts follows a purchase from the deposit to its end, and others to theirs.
func TestReceipts(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	pending, processing := b.deposit(), b.processing()
	failed, waiting := b.failed("Username not found", lifecycle.NonRetryable), b.failed("Authorization failed: Session expired", lifecycle.Retryable)
	signed, _ := b.signed() // the last one: nothing else begins meanwhile

	for _, c := range []struct {
		hash, state, reason string
		final               bool
		steps               string
	}{
		{pending, "received", "", false, "deposit# price later signed later chain later bought later"},
		{processing, "received", "", false, "deposit# price signed later chain later bought later"},
		{signed, "paying", "", false, "deposit# price signed# chain later bought later"},
		{failed, "failed", "Username not found", true, "deposit# price failed"},
		{waiting, "waiting", "", false, "deposit# price failed"},
	} {
		got, steps := w.receipt(c.hash)
		if got["state"] != c.state || got["final"] != c.final || strings.Join(steps, " ") != c.steps {
			t.Errorf("got %v %v, want %v", got, steps, c)
		}
		if reason, _ := got["reason"].(string); reason != c.reason {
			t.Errorf("%s: the reason is %q, want %q", c.state, reason, c.reason)
		}
	}
}

// TestReceiptsOfPayments have money in transit: a wallet has one such payment at a time.
func TestReceiptsOfPayments(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	bought := b.processed()
	got, steps := w.receipt(bought)
	if got["state"] != "bought" || got["final"] != true || strings.Join(steps, " ") != "deposit# price signed# chain# bought#" {
		t.Errorf("bought: %v %v", got, steps)
	}

	for _, hidden := range []string{"sender", "error", "hash", "wallet", "user_id", "attempt", "recipient", "review_reason"} {
		if _, shown := got[hidden]; shown {
			t.Errorf("the receipt shows %s", hidden)
		}
	}

	paid, _ := b.paid()
	if got, steps := w.receipt(paid); got["state"] != "paid" || strings.Join(steps, " ") != "deposit# price signed# chain# bought later" {
		t.Errorf("paid: %v %v", got, steps)
	}

	b.must(w.store.Transactions.Review(t.Context(), paid, 1, "not_confirmed"))
	if got, steps := w.receipt(paid); got["state"] != "review" || strings.Join(steps, " ") != "deposit# price signed# chain# review" {
		t.Errorf("in review: %v %v", got, steps)
	}
}

// TestReceiptsOfOthers lists transfers for a username: in full for that user, and for others without the key and
// internal details.
func TestReceiptsOfOthers(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	if err := w.store.Accounts.SaveUsername(t.Context(), w.ada.ID, "Durov"); err != nil {
		t.Fatal(err)
	}

	b := w.bank()
	b.processed()
	b.failed("Username not found", lifecycle.NonRetryable)
	inReview, _ := b.paid()
	b.must(w.store.Transactions.Review(t.Context(), inReview, 1, "not_confirmed"))
	seen := func(token, username string) (seen []string) {
		for _, r := range w.send(token, "GET", "/v1/receipts?username="+username, nil).ok(http.StatusOK).items() {
			seen = append(seen, fmt.Sprint(r["state"], " ", r["reason"], " ", r["key"] != nil))
		}
		return seen
	}

	for token, want := range map[string][]string{
		w.adaToken: {"review <nil> true", "failed Username not found true", "bought <nil> true"},
		w.bobToken: {"received <nil> false", "failed Username not found false", "bought <nil> false"},
	} {
		if got := seen(token, "@Durov"); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := seen(w.bobToken, "durov_2"); len(got) != 0 {
		t.Errorf("of somebody else: %q", got)
	}
	for _, none := range []string{"@", "_", "%E2%80%8B", "t.me/"} {
		w.send(w.bobToken, "GET", "/v1/receipts?username="+none, nil).refused(http.StatusUnprocessableEntity, fault.Validation, "username")
	}
}

// TestReceiptsAreNotGuessed sends unknown keys, and too many of them.
func TestReceiptsAreNotGuessed(t *testing.T) {
	t.Parallel()
	w := newRigWith(t, func(o *rest.Options) { o.Open = allowance.NewAddresses(allowance.LimitReceipts, 2) })
	hash := w.bank().deposit()
	for _, key := range []string{"1", "x", hash, hash[:32], strings.Repeat("0", 32), "%00", "..%2fstars"} {
		w.send("", "GET", "/v1/receipts/"+key, nil).refused(http.StatusNotFound, fault.ReceiptNotFound, "")
	}

	for range 500 { // more than a slow machine sends within the rate
		if w.send("", "GET", "/v1/receipts/1", nil).status == http.StatusTooManyRequests {
			return
		}
	}

	t.Error("nobody limits who asks for receipts")
}

// TestOwnReceipts lists what was bought for a user, and nothing for others.
func TestOwnReceipts(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	if err := w.store.Accounts.SaveUsername(t.Context(), w.ada.ID, "Durov"); err != nil {
		t.Fatal(err)
	}

	b := w.bank()
	first, second := b.processed(), b.failed("Username not found", lifecycle.NonRetryable)
	page := w.send(w.adaToken, "GET", "/v1/receipts?limit=1", nil).ok(http.StatusOK)
	if got := page.items(); len(got) != 1 || got[0]["state"] != "failed" || got[0]["sender"] != nil {
		t.Errorf("the last one: %v", got)
	}

	next := w.send(
		w.adaToken, "GET", fmt.Sprint("/v1/receipts?limit=1&cursor=", page.body["next_cursor"]), nil,
	).ok(http.StatusOK).items()
	if len(next) != 1 || next[0]["state"] != "bought" || next[0]["username"] != "durov" {
		t.Errorf("the one before: %v", next)
	}
	if got := w.send(w.bobToken, "GET", "/v1/receipts", nil).ok(http.StatusOK).items(); len(got) != 0 {
		t.Errorf("Bob sees %v", got)
	}

	for _, hash := range []string{first[:8], first[:63], first} {
		if got := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body; got["hash"] != first {
			t.Errorf("%s is %v", hash, got["hash"])
		}
	}
	w.send(w.bobToken, "GET", "/v1/transactions/"+first[:8], nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	if audited := fmt.Sprint(w.audited()); !strings.Contains(audited, "transaction/"+first[:8]+" refused") {
		t.Errorf("the audit log has %s", audited)
	}
	w.send(w.adminToken, "GET", "/v1/transactions/"+first[:7], nil).refused(http.StatusNotFound, fault.TransactionNotFound, "")

	w.send(w.adaToken, "GET", "/v1/transactions/"+first, nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	attention := w.send(w.adminToken, "GET", "/v1/transactions?attention=true", nil).ok(http.StatusOK).items()
	if len(attention) != 0 {
		t.Errorf("%v needs nobody, as %s", attention, second)
	}

	review := b.inReview()
	attention = w.send(w.adminToken, "GET", "/v1/transactions?attention=true", nil).ok(http.StatusOK).items()
	if len(attention) != 1 || attention[0]["hash"] != review {
		t.Errorf("needs somebody: %v", attention)
	}
}

// TestSolvency compares both sides, queries the chain once for many requests, and works without it.
func TestSolvency(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	hash := b.processed()
	solvency := func() map[string]any {
		return w.send(w.adminToken, "GET", "/v1/payments/solvency", nil).ok(http.StatusOK).body
	}

	w.chain.set(b.last.LT, 999e6)
	got := solvency()
	if got["chain_nano"] != 999e6 || got["ledger_nano"] != 999e6 || got["difference_nano"] != 0.0 || got["compared"] != true || got["failure"] != nil {
		t.Errorf("solvency %v", got)
	}

	read := got["read_at"]
	w.chain.set(b.last.LT, 1)
	if got := solvency(); got["read_at"] != read || got["chain_nano"] != 999e6 {
		t.Errorf("the chain was read again: %v", got)
	}

	ledger := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body["ledger"].([]any)
	var causes []string
	for _, entry := range ledger {
		sum := 0.0
		for _, posting := range entry.(map[string]any)["postings"].([]any) {
			sum += posting.(map[string]any)["amount_nano"].(float64)
		}
		if sum != 0 {
			t.Errorf("%v does not balance", entry)
		}
		cause, _, _ := strings.Cut(entry.(map[string]any)["cause"].(string), "/")
		causes = append(causes, cause)
	}

	if !slices.Equal(causes, []string{"chain", "reserve", "chain", "release"}) {
		t.Errorf("causes %v", causes)
	}
}

// TestSolvencyDiffers shows a difference to the nanoTON, and a chain that does not answer.
func TestSolvencyDiffers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lt, nano   int64
		fails      error
		difference any
		failure    any
	}{
		{0, 999_000_001, nil, 1.0, nil},
		{0, 998_999_998, nil, -2.0, nil},
		{1, 5, nil, nil, nil}, // at another transaction
		{0, 0, fault.New(fault.ChainUnavailable, "slow"), nil, "CHAIN_UNAVAILABLE"},
		{0, 0, fmt.Errorf("odd"), nil, "CHAIN_UNAVAILABLE"},
	} {
		w := newRig(t)
		b := w.bank()
		b.processed()
		w.chain.set(b.last.LT+c.lt, c.nano)
		w.chain.fail(c.fails)
		got := w.send(w.adminToken, "GET", "/v1/payments/solvency", nil).ok(http.StatusOK).body
		if got["difference_nano"] != c.difference || got["failure"] != c.failure || got["ledger_nano"] != 999e6 || got["compared"] != (c.difference != nil) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
