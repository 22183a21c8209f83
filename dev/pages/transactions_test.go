package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"rsc.io/qr"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
)

// root calls the API as an administrator.
func root() *client.Client {
	return &client.Client{Base: running.Info.API, Token: running.Info.AdminToken}
}

// transactionOf waits until the transaction of a deposit is as wanted.
func transactionOf(t *testing.T, hash string, wanted func(shape.Transaction) bool) shape.Transaction {
	t.Helper()
	var got shape.Transaction
	var err error
	held := false
	defer func() {
		if !held {
			t.Logf("transaction %s is %+v: %v", hash, got, err)
		}
	}()
	wait.Eventually(t, "the transaction is as wanted", func() bool {
		got, err = client.Ask[shape.Transaction](
			context.WithoutCancel(t.Context()), root(), client.Call{Method: http.MethodGet, Path: "/v1/transactions/" + hash},
		)
		held = err == nil && wanted(got)
		return held
	})
	return got
}

// unlucky pays for Stars for somebody who cannot be gifted any, and waits for the failure.
func unlucky(t *testing.T, username string) (hash string) {
	t.Helper()
	if err := running.Fragment.SetUser(username, "not_giftable"); err != nil {
		t.Fatal(err)
	}
	hash = deposit(t, username+" 50")
	transactionOf(t, hash, func(t shape.Transaction) bool { return t.Status == lifecycle.TransactionFailed })
	return hash
}

var oneRun = regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1H\d+z`)

// scanned compares the QR code of the open page with that of a text, module by module.
func (b *browser) scanned(text string) {
	b.Helper()
	want, err := qr.Encode(text, qr.M)
	b.must(err)
	path := evaluate[string](b, `document.querySelector("svg.qr path").getAttribute("d")`)
	side := evaluate[string](b, `document.querySelector("svg.qr").getAttribute("viewBox")`)
	if side != fmt.Sprintf("0 0 %[1]d %[1]d", want.Size+8) {
		b.Errorf("the code is %s", side)
	}

	black := map[[2]int]bool{}
	for _, match := range oneRun.FindAllStringSubmatch(path, -1) {
		x, _ := strconv.Atoi(match[1])
		y, _ := strconv.Atoi(match[2])
		length, _ := strconv.Atoi(match[3])
		for i := range length {
			black[[2]int{x + i - 4, y - 4}] = true
		}
	}

	for y := -4; y < want.Size+4; y++ {
		for x := -4; x < want.Size+4; x++ {
			if black[[2]int{x, y}] != want.Black(x, y) {
				b.Fatalf("the code is not that of %s", text)
			}
		}
	}
}

// TestTransactionsStarsBought buys Stars as the page says, and follows the receipt without a session.
func TestTransactionsStarsBought(t *testing.T) {
	t.Parallel()
	b := signedIn(t, running.Info.UserToken)
	b.open("/stars")
	if own := evaluate[string](b, `document.querySelector("#username").value`); own != stack.DemoUsername {
		t.Errorf("the form is for %q", own)
	}

	b.fill("#number", "61")
	b.press(`form[action="/stars/pay"] button`)
	b.shows("61 Stars for @" + stack.DemoUsername)

	link := evaluate[string](b, `document.querySelector('a[href^="ton:"]').getAttribute("href")`)
	b.scanned(link)
	order, err := url.Parse(link)
	b.must(err)

	for selector, want := range map[string]string{
		"#address": strings.TrimPrefix(order.Path, "/"), "#comment": order.Query().Get("text"),
	} {
		if got := evaluate[string](b, `document.querySelector("`+selector+`").textContent`); got != want || want == "" {
			t.Errorf("%s is %q, want %q", selector, got, want)
		}
	}

	if left := evaluate[string](b, `document.querySelector("time[data-countdown]").textContent`); !strings.HasSuffix(left, " min left") {
		t.Errorf("the price is good for %q", left)
	}

	nano, err := strconv.ParseInt(order.Query().Get("amount"), 10, 64)
	b.must(err)

	b.open("/stars")
	b.isLive()
	hash, err := running.Chain.Deposit(tonsim.Deposit{
		From: "0:" + strings.Repeat("ab", 32), AmountNano: nano, Comment: order.Query().Get("text"),
	})

	b.must(err)
	key := transactionOf(t, hash, func(shape.Transaction) bool { return true }).ReceiptKey
	anybody := newBrowser(t, running.Info.API)
	anybody.open("/receipts/" + key)
	anybody.shows("Thank you!")
	anybody.accessible("a receipt")
	if text := anybody.text(); !strings.Contains(text, hash) || strings.Contains(text, "still to come") {
		t.Errorf("the receipt shows\n%s", text)
	}

	b.eventually(`document.querySelector('main a[href="/receipts/` + key + `"]')?.closest("li").innerText.includes("bought")`)
}

// TestThePaymentPageSeesTheTransfer pays for somebody else's Stars while the payment page is open: it shows that the
// transfer was seen and what became of it. The receipt is for the recipient of the Stars. The values to copy stay
// unchanged meanwhile.
func TestThePaymentPageSeesTheTransfer(t *testing.T) {
	t.Parallel()
	for language, said := range night.Cases(t, map[string]struct{ bought, why, after, copied string }{
		"en": {"The Stars have been bought.", "belongs to a channel or a bot", "not sent back by itself", "Copied"},
		"ru": {"Звёзды куплены.", "это имя канала или бота", "деньги автоматически не вернутся", "Скопировано"},
	}, "ru") {
		b := signedIn(t, running.Info.UserToken)
		b.press(`footer button[value="` + language + `"]`)
		username := "seen_in_" + language
		b.must(running.Fragment.SetUser(username, "user"))
		b.open("/stars/pay?username=" + username + "&stars=50")
		b.isLive()
		b.accessible("the payment page")
		amount := evaluate[string](b, `window.loadedOnce = document.querySelector("#amount").textContent`)

		for _, part := range []string{"address", "amount", "comment"} {
			evaluate[int](b, `document.addEventListener("copy", () => { window.copied = getSelection().toString(); }, { once: true }), 0`)
			b.click(`//*[@id="` + part + `"]/following-sibling::button`)
			copied := evaluate[string](b, `window.copied ?? ""`)
			if want := evaluate[string](b, `document.querySelector("#`+part+`").textContent`); copied != want || want == "" {
				t.Errorf("%s is copied as %q, want %q", part, copied, want)
			}
			b.shows(said.copied)
		}

		deposit(t, username+" 50")
		b.shows(said.bought)
		if evaluate[string](b, `window.loadedOnce ?? ""`) != amount || evaluate[string](b, `document.querySelector("#amount").textContent`) != amount {
			t.Error("the page was loaded again, or has another amount")
		}
		if evaluate[bool](b, `!!document.querySelector("div[role=status] a[href^=\"/receipts/\"]")`) {
			t.Error("the page gives the receipt of somebody else's Stars")
		}

		b.must(running.Fragment.SetUser("news_in_"+language, "channel"))
		hash := deposit(t, "news_in_"+language+" 50")
		b.open("/stars/pay?username=@News_in_" + language)
		b.shows(said.why)
		b.shows(said.after)

		admin := signedIn(t, administrator(t, "Refunding "+language))
		admin.press(`footer button[value="` + language + `"]`)
		admin.open("/transactions/" + hash)
		admin.shows("STAGECOACH_TX_REFUND")
	}
}

// TestNightTransactionsReceiptsAreNotGuessed opens nonexistent receipts.
func TestNightTransactionsReceiptsAreNotGuessed(t *testing.T) {
	night.Only(t)
	t.Parallel()
	hash := unlucky(t, "shy_secret")
	anybody := newBrowser(t, running.Info.API)
	for _, key := range []string{"1", strings.Repeat("0", 32), hash, hash[:32]} {
		anybody.open("/receipts/" + key)
		anybody.refused("RECEIPT_NOT_FOUND")
		anybody.wantStatus(http.StatusNotFound)
	}
}

// administrator creates an administrator for a test, and returns the token.
func administrator(t *testing.T, name string) string {
	t.Helper()
	made, err := client.Ask[shape.User](t.Context(), root(), client.Call{
		Method: http.MethodPost, Path: "/v1/users", Body: map[string]any{"name": name, "role": "ADMIN"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return made.Token
}

// sql runs a statement in the record.
func sql(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), running.Info.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	if _, err := db.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// TestNightTransactionsRetried retries a failed purchase without scripts, some time after the administrator signed in:
// the page first requires a confirmation of identity.
func TestNightTransactionsRetried(t *testing.T) {
	night.Only(t)
	t.Parallel()
	hash := unlucky(t, "shy_retried")
	token := administrator(t, "Retrying Rita")
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/transactions/" + hash)
	b.fill("#token", token)
	b.press("main form button")
	b.shows("cannot be gifted")
	sql(
		t,
		`UPDATE sessions s SET confirmed_at = now() - interval '6 minutes' FROM users u WHERE u.id = s.user_id AND u.name = 'Retrying Rita'`,
	)
	b.must(running.Fragment.SetUser("shy_retried", "user"))

	b.press(`form[action$="/retry"] button`)
	b.shows("confirm that it is you")
	b.fill("#token", token)
	b.press(`form[action="/confirm"] button`)
	b.shows("cannot be gifted") // the page again: nothing has been done yet
	b.fill("#comment-retry", "Fragment takes it now")
	b.press(`form[action$="/retry"] button`)
	b.shows("Fragment takes it now")
	b.becomes("payment kept by its receiver")
}

// inReview creates a transaction in processing that waits for an administrator.
func inReview(t *testing.T, lt int64) (hash string) {
	t.Helper()
	hash = fmt.Sprintf("%064x", lt)
	sql(t, `INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, username, stars, quote_nano, status, attempt, processing_since, needs_review,
			review_reason, workflow_started_at)
		SELECT $1, address, $2, 500000000, '0:' || repeat('cd', 32), 'durov 50', 'durov', 50, 460900000, 'processing', 1, now(), true, 'not_confirmed', now()
		FROM ton_wallets`, hash, lt)
	return hash
}

// TestNightTransactionsReviewed ends a review, pauses payments and resumes them, without scripts.
func TestNightTransactionsReviewed(t *testing.T) {
	night.Only(t)
	t.Parallel()
	hash := inReview(t, 7)
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/transactions?needs_review=true")
	b.fill("#token", administrator(t, "Reviewing Rose"))
	b.press("main form button")
	b.press(`a[href="/transactions/` + hash + `"]`)
	b.shows("Fragment has not confirmed")
	b.fill("#comment-resolve", "nothing has arrived")
	b.press(`form[action$="/resolve"] button`)
	b.shows("review ended")
	if got := transactionOf(t, hash, func(shape.Transaction) bool { return true }); got.Status != lifecycle.TransactionFailed || got.NeedsReview {
		t.Errorf("resolved: %+v", got)
	}

	b.open("/transactions/payments")
	b.fill(`input[name="reason"]`, "the wallet moves")
	b.press(`form[action$="/pause"] button`)
	b.shows("the wallet moves")
	b.press(`form[action$="/resume"] button`)
	b.shows("Nothing stops payments")
	b.becomes("equal to the nano")
}

// TestTransactionsPages opens each page with transactions in each state.
func TestTransactionsPages(t *testing.T) {
	t.Parallel()
	bought, failed, review := deposit(t, stack.DemoUsername+" 50"), unlucky(t, "shy_looked_at"), inReview(t, 8)
	sql(t, `INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, username, stars, status, attempt, processing_since, error_message, error_class,
			refund_due_nano, needs_review, review_reason, workflow_started_at)
		SELECT $1, address, 9, 500000000, '0:' || repeat('cd', 32), 'durov', 'durov', 50, 'failed', 1, now(), 'Username not found', 'non-retryable', 500000000, true,
			'refund_limit', now() FROM ton_wallets`, fmt.Sprintf("%064x", 9))
	done := transactionOf(t, bought, func(t shape.Transaction) bool { return t.Status == lifecycle.TransactionProcessed })
	t.Run("customer", func(t *testing.T) {
		t.Parallel()
		looksRight(
			t, running.Info.UserToken, "/stars", "/stars/pay?username=durov&stars=100", "/stars/pay?username=durov", "/stars/pay",
			"/receipts/"+done.ReceiptKey,
		)
	})

	t.Run("administrator", func(t *testing.T) {
		t.Parallel()
		looksRight(
			t, running.Info.AdminToken, "/transactions", "/transactions?attention=true", "/transactions?status=pending", "/transactions?hash=ffffffffff",
			"/transactions/"+bought, "/transactions/"+failed, "/transactions/"+review, "/transactions/"+fmt.Sprintf("%064x", 9),
			"/transactions/payments", "/transactions/figures",
		)
	})
}
