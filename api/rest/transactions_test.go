package rest_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

func TestATransaction(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	hash := b.processed()
	got := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body
	payment := got["payments"].([]any)[0].(map[string]any)

	for name, want := range map[string]any{
		"hash": hash, "status": "processed", "amount_nano": 2e9, "sender": customer, "username": "durov", "user_id": nil, "stars": 50.0,
		"quote_nano": 1e9, "attempt": 1.0, "error_message": nil, "error_class": nil, "fragment_transaction_hash": b.last.Hash,
		"refund_due_nano": 0.0, "needs_review": false, "review_reason": nil, "workflow_id": "transaction/" + hash,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}

	if fmt.Sprint(got["allowed_actions"]) != "[]" || got["created_at"] == nil || got["updated_at"] == nil {
		t.Errorf("got %v", got)
	}
	if payment["kind"] != "purchase" || payment["state"] != "paid" || payment["chain_hash"] != b.last.Hash || payment["kept_at"] == nil ||
		payment["amount_nano"] != 1e9 || payment["destination"] != shop {
		t.Errorf("payment %v", payment)
	}
	if _, shown := payment["boc"]; shown {
		t.Error("the signed bytes are shown")
	}

	var events []string
	for _, event := range got["events"].([]any) {
		events = append(events, event.(map[string]any)["type"].(string))
	}

	if want := []string{"detected", "locked", "payment_signed", "payment_paid", "payment_kept", "processed"}; !slices.Equal(events, want) {
		t.Errorf("events %v, want %v", events, want)
	}

	pending := w.send(w.adminToken, "GET", "/v1/transactions/"+b.deposit(), nil).ok(http.StatusOK).body
	if pending["status"] != "pending" || pending["username"] != "durov" || pending["stars"] != 50.0 || fmt.Sprint(pending["payments"]) != "[]" {
		t.Errorf("pending %v", pending)
	}

	for _, unknown := range []string{hashOf("x"), strings.ToUpper(hash), "x", "1", hash[:7], hash + "0", "%00", "queue"} {
		w.send(
			w.adminToken, "GET", "/v1/transactions/"+unknown, nil,
		).refused(http.StatusNotFound, fault.TransactionNotFound, "")
	}
}

func TestRetryingATransaction(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	retry := func(hash string, body any, headers ...string) reply {
		return w.send(w.adminToken, "POST", "/v1/transactions/"+hash+"/retry", body, headers...)
	}

	hash := b.failed("Failed to fetch: Network error", lifecycle.Retryable)
	failed := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body
	if failed["error_message"] != "Failed to fetch: Network error" || failed["error_class"] != "retryable" || fmt.Sprint(failed["allowed_actions"]) != "[retry]" {
		t.Errorf("failed %v", failed)
	}

	for range 2 { // the second response equals the first
		got := retry(hash, `{"comment":"the network is back"}`, "Idempotency-Key", "k").ok(http.StatusOK).body
		if got["status"] != "processing" || got["attempt"] != 2.0 || got["error_message"] != nil || got["error_class"] != nil {
			t.Errorf("retried %v", got)
		}
	}

	retry(hash, nil).refused(conflict, fault.InvalidTransition, "")
	retry(b.deposit(), nil).refused(conflict, fault.InvalidTransition, "")
	retry(b.failed("Username not found", lifecycle.NonRetryable), nil).refused(conflict, fault.InvalidTransition, "")
	retry(b.processed(), nil).refused(conflict, fault.InvalidTransition, "")
	retry(hashOf("x"), nil).refused(http.StatusNotFound, fault.TransactionNotFound, "")
	retry(hash, `{"comment":7}`).refused(unprocessable, fault.Validation, "comment")
	retry(hash, `{"comment":"`+strings.Repeat("x", 4001)+`"}`).refused(unprocessable, fault.Validation, "comment")
	retry(hash, `{"force":true}`).refused(unprocessable, fault.Validation, "force")
	retry(
		hash, `{"comment":"another"}`, "Idempotency-Key", "k",
	).refused(unprocessable, fault.Validation, "Idempotency-Key")
	last := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body["events"].([]any)
	if e := last[len(last)-1].(map[string]any); e["type"] != "retried" || e["actor_id"] != fmt.Sprint(w.admin.ID) || e["comment"] != "the network is back" {
		t.Errorf("event %v", e)
	}

	done := fmt.Sprintf("%d retry-transaction transaction/%s done http", w.admin.ID, hash)
	if rows := w.audited(); !slices.Equal(rows, []string{done, done}) {
		t.Errorf("audited %v", rows)
	}

	unknown := b.failed("an odd thing", lifecycle.UnknownError)
	back := w.withoutTemporal()
	retry(unknown, nil).refused(http.StatusServiceUnavailable, fault.TemporalUnavailable, "")
	back()
	retry(unknown, nil).ok(http.StatusOK)
}

func TestResolvingATransaction(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	resolve := func(hash string, body any) reply {
		return w.send(w.adminToken, "POST", "/v1/transactions/"+hash+"/resolve", body)
	}

	hash := b.inReview()
	if got := w.send(w.adminToken, "GET", "/v1/transactions?needs_review=true", nil).ok(http.StatusOK).items(); len(got) != 1 || got[0]["hash"] != hash ||
		got[0]["review_reason"] != "not_confirmed" || fmt.Sprint(got[0]["allowed_actions"]) != "[resolve]" {
		t.Errorf("to be reviewed %v", got)
	}

	got := resolve(hash, `{"outcome":"processed","comment":"the Stars are there"}`).ok(http.StatusOK).body
	if got["status"] != "processed" || got["needs_review"] != false || got["fragment_transaction_hash"] != b.last.Hash {
		t.Errorf("resolved %v", got)
	}

	resolve(hash, `{"outcome":"failed"}`).refused(conflict, fault.InvalidTransition, "")
	if rows := w.audited(); !slices.Equal(rows, []string{fmt.Sprintf("%d resolve-transaction transaction/%s done http", w.admin.ID, hash)}) {
		t.Errorf("audited %v", rows)
	}

	second := b.inReview()
	if got := resolve(second, `{"outcome":"failed"}`).ok(http.StatusOK).body; got["status"] != "failed" || got["error_class"] != "non-retryable" {
		t.Errorf("resolved %v", got)
	}

	for body, field := range map[string]string{
		`{}`: "outcome", `{"outcome":"pending"}`: "outcome", `{"outcome":null}`: "outcome", `{"outcome":"processed","comment":7}`: "comment", `{"outcome":"failed","x":1}`: "x", `[]`: "body",
	} {
		resolve(second, body).refused(unprocessable, fault.Validation, field)
	}

	signed, _ := b.signed()
	b.must(w.store.Transactions.Review(t.Context(), signed, 1, "odd"))
	resolve(signed, `{"outcome":"failed"}`).refused(conflict, fault.PaymentUndecided, "")
	resolve(hashOf("x"), `{"outcome":"failed"}`).refused(http.StatusNotFound, fault.TransactionNotFound, "")
}

func TestWritingOffARefund(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	writeOff := func(hash string, body any) reply {
		return w.send(w.adminToken, "POST", "/v1/transactions/"+hash+"/write-off", body)
	}

	claim, _ := b.begun()
	hash := claim.Hash
	b.must(w.store.Transactions.Fail(
		t.Context(),
		transaction.Failure{Claim: claim, Message: "Username not found", Class: lifecycle.NonRetryable, Refund: true},
	))
	owed := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body
	if owed["refund_due_nano"] != float64(2*coin) || fmt.Sprint(owed["allowed_actions"]) != "[write_off]" {
		t.Errorf("owed %v", owed)
	}

	for query, want := range map[string]int{"owed=true": 1, "owed=true&needs_review=true": 0} {
		if got := w.send(w.adminToken, "GET", "/v1/transactions?"+query, nil).ok(http.StatusOK).items(); len(got) != want {
			t.Errorf("%s: %v", query, got)
		}
	}

	writeOff(hash, `{"comment":7}`).refused(unprocessable, fault.Validation, "comment")
	got := writeOff(hash, `{"comment":"paid back by hand"}`).ok(http.StatusOK).body
	if got["status"] != "failed" || got["refund_due_nano"] != 0.0 || fmt.Sprint(got["allowed_actions"]) != "[]" {
		t.Errorf("written off %v", got)
	}
	if rows := w.audited(); !slices.Equal(rows, []string{fmt.Sprintf("%d write-off-transaction transaction/%s done http", w.admin.ID, hash)}) {
		t.Errorf("audited %v", rows)
	}

	writeOff(hash, nil).refused(conflict, fault.InvalidTransition, "")
	writeOff(b.processing(), nil).refused(conflict, fault.InvalidTransition, "")
	writeOff(hashOf("x"), nil).refused(http.StatusNotFound, fault.TransactionNotFound, "")
}

// TestRetriesAreShown shows the time of the next automatic retry, or that retries have ended.
func TestRetriesAreShown(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	for name, c := range map[string]struct {
		policy       transaction.RetryPolicy
		next, giveUp bool
	}{
		"tried again": {transaction.RetryPolicy{For: time.Hour, Pause: time.Minute, Ask: true}, true, false},
		"given up":    {transaction.RetryPolicy{Ask: true}, false, true},
		"ended":       {transaction.RetryPolicy{}, false, false},
	} {
		claim, _ := b.begun()
		hash := claim.Hash
		b.must(w.store.Transactions.Fail(
			t.Context(),
			transaction.Failure{Claim: claim, Message: "Unknown error", Class: lifecycle.UnknownError, Retry: c.policy},
		))
		got := w.send(w.adminToken, "GET", "/v1/transactions/"+hash, nil).ok(http.StatusOK).body
		if (got["retry_at"] != nil) != c.next || (got["given_up_at"] != nil) != c.giveUp {
			t.Errorf("%s: retry_at %v, given_up_at %v", name, got["retry_at"], got["given_up_at"])
		}
	}
}

func TestListsOfTransactions(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	good, bad := b.processed(), b.failed("Username not found", lifecycle.NonRetryable)
	may := b.failed("Failed to fetch: Network error", lifecycle.Retryable)
	waits, slow, busy := b.deposit(), b.processing(), b.processing()
	w.exec(`UPDATE transactions SET processing_since = now() - interval '2 hours' WHERE hash = $1`, slow)

	for query, want := range map[string][]string{
		"limit=2":                                 {busy, slow, waits, may, bad, good},
		"status=processed":                        {good},
		"status=failed&limit=1":                   {may, bad},
		"status=pending":                          {waits},
		"status=processing&limit=1":               {busy, slow},
		"stuck=true":                              {slow},
		"stuck=false&needs_review=false":          {busy, slow, waits, may, bad, good},
		"needs_review=true":                       nil,
		"status=failed&stuck=true":                nil,
		"hash=" + bad[:12]:                        {bad},
		"retryable=true":                          {may},
		"error=Failed+to+fetch:+Network+error":    {may},
		"error=Username+not+found":                {bad},
		"error=Username+not+found&retryable=true": nil,
		"seen_from=2020-01-01T00:00:00Z":          {may},
		"seen_until=2020-01-01T00:00:00Z":         nil,
		"hash=" + bad + "&status=pending":         nil,
	} {
		if got := w.walk(w.adminToken, "/v1/transactions?"+query, "hash"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}

	for query, field := range map[string]string{
		"status=FAILED": "status", "status=": "", "stuck=perhaps": "stuck", "needs_review=2": "needs_review",
		"hash=9F2C": "hash", "seen_from=today": "seen_from", "error=%ED%A0%80": "error", "error=a%00b": "error",
	} {
		if field == "" {
			w.send(w.adminToken, "GET", "/v1/transactions?"+query, nil).ok(http.StatusOK)
			continue
		}
		w.send(w.adminToken, "GET", "/v1/transactions?"+query, nil).refused(unprocessable, fault.Validation, field)
	}
}

func TestStatsOfTransactions(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	for range 2 {
		b.processed()
	}

	b.failed("Username not found", lifecycle.NonRetryable)
	b.failed("Failed to fetch: Network error", lifecycle.Retryable)
	testdb.Recount(t, w.store)
	got := w.send(w.adminToken, "GET", "/v1/stats/transactions", nil).ok(http.StatusOK).body
	for name, want := range map[string]string{
		"statuses":         "[map[count:2 percent:50 status:failed] map[count:2 percent:50 status:processed]]",
		"errors":           "[map[count:1 message:Failed to fetch: Network error] map[count:1 message:Username not found]]",
		"error_categories": "[map[category:Network Error count:1] map[category:Other Error count:1]]",
	} {
		if text := fmt.Sprint(got[name]); text != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}

	if average, ok := got["average_processing_seconds"].(float64); !ok || average < 0 {
		t.Errorf("average %v", got["average_processing_seconds"])
	}
	if average, ok := got["average_processing_seconds_all_time"].(float64); !ok || average < 0 {
		t.Errorf("average of all time %v", got["average_processing_seconds_all_time"])
	} else if got["average_processing_minutes"] != math.Round(average/60*100)/100 {
		t.Errorf("%v minutes, %v seconds", got["average_processing_minutes"], average)
	}

	if asOf, err := time.Parse(time.RFC3339, fmt.Sprint(got["as_of"])); err != nil || asOf.Before(time.Now().Add(-time.Hour)) {
		t.Errorf("as of %v: %v", got["as_of"], err)
	}

	total := 0.0 // two days, if midnight passed meanwhile
	for _, day := range got["days"].([]any) {
		total += day.(map[string]any)["total"].(float64)
	}

	if total != 4 {
		t.Errorf("days %v", got["days"])
	}

	w.send(w.adminToken, "GET", "/v1/stats/transactions?days=0", nil).refused(unprocessable, fault.Validation, "days")
}

func TestPayments(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	claim, _ := b.begun()
	first, second := claim.Hash, b.deposit()

	queue := w.send(w.adminToken, "GET", "/v1/payments/queue", nil).ok(http.StatusOK)
	if items := queue.items(); len(items) != 2 || items[0]["hash"] != first || items[0]["granted_at"] == nil || items[1]["hash"] != second || items[1]["granted_at"] != nil ||
		items[1]["place"] != 2.0 || queue.body["pause"] != nil || queue.body["hold"] != nil {
		t.Errorf("queue %v", queue.body)
	}

	paused := w.send(
		w.adminToken, "POST", "/v1/payments/pause", `{"reason":"the wallet moves"}`,
	).ok(http.StatusOK).body["pause"].(map[string]any)
	if paused["reason"] != "the wallet moves" || paused["user_id"] != fmt.Sprint(w.admin.ID) || paused["since"] == nil {
		t.Errorf("paused %v", paused)
	}

	w.send(w.adminToken, "POST", "/v1/payments/pause", nil).ok(http.StatusOK)
	if got := w.send(w.adminToken, "GET", "/v1/payments/queue?limit=1", nil).ok(http.StatusOK); got.body["pause"] == nil || len(got.items()) != 1 {
		t.Errorf("queue %v", got.body)
	}
	if got := w.send(w.adminToken, "POST", "/v1/payments/resume", nil).ok(http.StatusOK).body; got["pause"] != nil {
		t.Errorf("resumed %v", got)
	}

	id := w.admin.ID
	if rows, want := w.audited(), fmt.Sprintf("[%d pause-payments  done http %d pause-payments  done http %d resume-payments  done http]", id, id, id); fmt.Sprint(rows) != want {
		t.Errorf("audited %v, want %s", rows, want)
	}

	w.send(
		w.adminToken, "POST", "/v1/payments/pause", `{"reason":"`+strings.Repeat("x", 201)+`"}`,
	).refused(unprocessable, fault.Validation, "reason")
	w.send(w.adminToken, "POST", "/v1/payments/pause", `{"why":""}`).refused(unprocessable, fault.Validation, "why")
}

func TestTheLedger(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	hash := b.processed()
	balances := map[string]float64{}
	for _, balance := range w.send(w.adminToken, "GET", "/v1/payments/ledger", nil).ok(http.StatusOK).body["balances"].([]any) {
		account := balance.(map[string]any)
		balances[account["account"].(string)] = account["balance_nano"].(float64)
	}

	if balances["wallet"] != 999e6 || balances["paid"] != 1e9 || balances["gas"] != 1e6 || len(balances) != len(transaction.Accounts) {
		t.Errorf("balances %v", balances)
	}

	reconcile := func(body any) map[string]any {
		return w.send(w.adminToken, "POST", "/v1/payments/reconcile", body).ok(http.StatusOK).body
	}

	w.chain.set(b.last.LT, 999e6)
	sold := func(stars int) string {
		return fmt.Sprintf(`{"purchases":[{"payment_hash":"%s","stars":%d,"paid_nano":%d}]}`, b.last.Hash, stars, coin)
	}

	if got := reconcile(nil); fmt.Sprint(got["differences"]) != "[]" || got["chain_compared"] != true || got["purchases_compared"] != 0.0 || got["wallet"] != ourWallet {
		t.Errorf("reconciled %v", got)
	}
	if got := reconcile(sold(50)); fmt.Sprint(got["differences"]) != "[]" || got["purchases_compared"] != 1.0 {
		t.Errorf("reconciled %v", got)
	}

	for _, c := range []struct{ body, what, subject string }{{sold(51), "Stars sold by Fragment", hash}, {`{"purchases":[]}`, "processed, but not sold by Fragment", hash}} {
		if got := fmt.Sprint(reconcile(c.body)["differences"]); !strings.Contains(got, c.what) || !strings.Contains(got, c.subject) {
			t.Errorf("differences %v", got)
		}
	}

	w.chain.set(b.last.LT, 998e6)
	if got := fmt.Sprint(reconcile(nil)["differences"]); !strings.Contains(got, "balance on the chain") {
		t.Errorf("differences %v", got)
	}

	w.chain.set(b.last.LT+1, 1)
	if got := reconcile(nil); got["chain_compared"] != false || fmt.Sprint(got["differences"]) != "[]" {
		t.Errorf("reconciled %v", got)
	}

	for body, field := range map[string]string{
		`{"purchases":[{"payment_hash":"x","stars":1,"paid_nano":1}]}`: "purchases[0].payment_hash", `{"purchases":7}`: "purchases", `{"x":1}`: "x",
	} {
		w.send(w.adminToken, "POST", "/v1/payments/reconcile", body).refused(unprocessable, fault.Validation, field)
	}

	w.chain.fail(fault.New(fault.ChainUnavailable, "the chain is slow").Retry())
	w.send(w.adminToken, "POST", "/v1/payments/reconcile", nil).refused(
		http.StatusServiceUnavailable, fault.ChainUnavailable, "",
	)
}

func TestWithoutAWallet(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for _, e := range endpoints() {
		if strings.Contains(e.target, "transactions") || strings.Contains(e.target, "/payments") {
			w.send(w.adminToken, e.method, e.target, e.body).refused(http.StatusServiceUnavailable, fault.NotConfigured, "")
		}
	}
}

func TestTheStreamShowsTransactions(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	if err := w.store.Accounts.SaveUsername(t.Context(), w.ada.ID, "Durov"); err != nil {
		t.Fatal(err)
	}

	b := w.bank()
	hash := b.failed("Username not found", lifecycle.NonRetryable)
	ada, _ := w.listen(w.adaToken, "0-0")
	for _, want := range [][2]string{{"processing", ""}, {"failed", "Username not found"}} {
		if event := w.next(ada).Data; event["workload"] != "transaction" || event["entity_id"] != hash || event["to"] != want[0] || event["comment"] != want[1] {
			t.Errorf("Ada is told %v, want %s", event, want[0])
		}
	}

	admin, _ := w.listen(w.adminToken, "0-0")
	for _, want := range []string{"pending", "processing", "failed"} {
		if event := w.next(admin).Data; event["entity_id"] != hash || event["to"] != want {
			t.Errorf("an administrator is told %v, want %s", event, want)
		}
	}
}
