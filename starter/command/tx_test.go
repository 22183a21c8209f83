package command

import (
	"path/filepath"
	"strings"
	"testing"
)

var (
	txHash      = strings.Repeat("ab", 32)
	txJSON      = `{"hash":"` + txHash + `","status":"STATUS","amount_nano":1500000000,"sender":"0:5e5e","username":"durov","user_id":null,"stars":50,"quote_nano":460900000,"attempt":2,"error_message":null,"error_class":null,"fragment_transaction_hash":null,"refund_due_nano":0,"needs_review":false,"review_reason":null,"allowed_actions":["retry"],"workflow_id":"transaction/` + txHash + `","processing_since":null,"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:09Z"}`
	wholeTxJSON = strings.TrimSuffix(txIn("failed"), "}") + `,"events":[{"seq":1,"type":"detected","actor_id":null,"from":"","to":"pending","comment":"","created_at":"2026-03-01T12:00:00Z"}],"payments":[{"id":"5","kind":"purchase","state":"dead","attempt":1,"amount_nano":460900000,"gas_nano":2500000,"chain_hash":null,"valid_until":"2026-03-01T12:00:00Z","created_at":"2026-03-01T12:00:00Z"}]}`
	queueJSON   = `{"pause":{"since":"2026-03-01T12:00:00Z","reason":"it moves","user_id":"1","retry_at":null},"hold":null,"items":[{"place":1,"hash":"` + txHash + `","kind":"purchase","sender":"0:5e5e","asked_at":"2026-03-01T12:00:00Z","granted_at":"2026-03-01T12:00:00Z"},{"place":2,"hash":"cd","kind":"refund","sender":"0:77","asked_at":"2026-03-01T12:00:00Z","granted_at":null}]}`
	ledgerJSON  = `{"wallet":"0:5e5e","scanned_to":"2026-03-01T12:00:00Z","balances":[{"account":"wallet","balance_nano":12500000000},{"account":"received","balance_nano":-12500000000}]}`
	txStatsJSON = `{"as_of":"2026-03-01T12:00:00Z","statuses":[{"status":"processed","count":3,"percent":75},{"status":"failed","count":1,"percent":25}],"average_processing_seconds":21.44,"average_processing_seconds_all_time":62.5,"average_processing_minutes":1.04,"errors":[{"message":"Username not found","count":1}],"error_categories":[{"category":"Username Error","count":1}],"days":[{"day":"2026-03-01","total":4,"success":3,"success_percent":75}]}`
)

func txIn(status string) string {
	text := strings.ReplaceAll(txJSON, "STATUS", status)
	if status == "failed" {
		text = strings.Replace(
			text, `"error_message":null,"error_class":null`,
			`"error_message":"Failed to fetch: Network error","error_class":"retryable"`, 1,
		)
	}
	return text
}

// reconciled is a reconciliation with these differences.
func reconciled(compared, differences string) string {
	return strings.TrimSuffix(
		ledgerJSON, "}",
	) + `,"chain_compared":` + compared + `,"purchases_compared":1,"differences":[` + differences + `]}`
}

func TestTransactionCommands(t *testing.T) {
	t.Parallel()
	sold := filepath.Join(t.TempDir(), "purchases.json")
	writeFile(
		t, sold,
		[]byte(
			`{"items":[{"username":"durov","stars":50,"paid_nano":460900000,"payment_hash":"cd","at":"2026-03-01T12:00:00Z"}]}`,
		),
	)

	tx := "/v1/transactions/" + txHash
	answers := map[string][]string{
		"GET /v1/transactions?limit=50": {"200 " + list(txIn("failed"))},
		"GET /v1/transactions?hash=9f2c&limit=1&needs_review=true&owed=true&status=failed&stuck=true": {`200 {"items":[` + txIn("failed") + `],"next_cursor":"c2"}`},
		"GET /v1/transactions?limit=50&retryable=true":                                                {"200 " + list(txIn("failed"))},
		"GET " + tx:                           {"200 " + wholeTxJSON},
		"POST " + tx + "/retry":               {"200 " + txIn("processing")},
		"POST " + tx + "/resolve":             {"200 " + txIn("processed")},
		"POST " + tx + "/write-off":           {"200 " + txIn("failed")},
		"GET /v1/payments/queue?limit=50":     {"200 " + queueJSON},
		"POST /v1/payments/pause":             {`200 {"pause":{"since":"2026-03-01T12:00:00Z","reason":"it moves","user_id":"1","retry_at":null},"hold":null}`},
		"POST /v1/payments/resume":            {`200 {"pause":null,"hold":null}`},
		"GET /v1/payments/ledger":             {"200 " + ledgerJSON},
		"POST /v1/payments/reconcile":         {"200 " + reconciled("true", "")},
		"GET /v1/stats/transactions":          {"200 " + txStatsJSON},
		"GET /v1/stats/transactions?days=365": {"200 " + txStatsJSON},
	}

	runCommands(t, answers, []commandTest{
		{line: "tx list", want: []string{txHash, "failed", "1.5 GRAM", "durov", "Failed to fetch: Network error (retryable)"}, json: list(txIn("failed"))},
		{line: "tx list --in-status FAILED --needs-review --stuck --owed --hash 9F2C --limit 1", want: []string{"--cursor c2"}},
		{line: "tx list --retryable", want: []string{txHash}, json: list(txIn("failed"))},
		{line: "tx show " + strings.ToUpper(txHash), want: []string{"50 Stars for durov", "0.4609 GRAM", "purchase 5", "dead", "not found on the chain", "detected", "retry"}, json: wholeTxJSON},
		{line: "tx retry " + txHash, want: []string{"processing"}, json: txIn("processing"), body: `{"comment":""}`},
		{line: "tx retry " + txHash + " Fragment is back", body: `{"comment":"Fragment is back"}`},
		{line: "tx resolve " + txHash + " Processed they are there", want: []string{"processed"}, json: txIn("processed"), body: `{"comment":"they are there","outcome":"processed"}`},
		{line: "tx write-off " + txHash + " Paid back by hand", want: []string{"failed"}, json: txIn("failed"), body: `{"comment":"Paid back by hand"}`},
		{line: "tx queue", want: []string{"pause", "it moves", "since 1 Mar 2026", "refund", "waits"}, json: queueJSON},
		{line: "tx pause it moves", want: []string{"it moves"}, body: `{"reason":"it moves"}`},
		{line: "tx pause", body: `{"reason":""}`},
		{line: "tx resume", want: []string{"pause", "off"}, json: `{"pause":null,"hold":null}`},
		{line: "tx ledger", want: []string{"wallet", "12.5 GRAM", "-12.5 GRAM"}, json: ledgerJSON},
		{line: "tx reconcile", want: []string{"no differences"}, json: reconciled("true", "")},
		{line: "tx reconcile --purchases " + sold, want: []string{"compared with Fragment: 1"}, body: `{"purchases":[{"payment_hash":"cd","stars":50,"paid_nano":460900000}]}`},
		{line: "stats transactions", want: []string{"as of: 1 Mar 2026", "21.4 s on average", "all time: ", "(1.04 minutes)", "processed", "75.00 %", "Username not found", "Username Error", "2026-03-01"}, json: txStatsJSON},
		{line: "stats transactions --days 365", want: []string{"PROCESSED"}},
	})
}

func TestReconciliationThatDiffers(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		reconciled("true", `{"what":"balance on the chain","subject":"0:5e5e","want":5,"got":4}`): "differences: 1",
		reconciled("false", ""): "could not be compared",
	} {
		api := newFakeAPI(t, map[string][]string{"POST /v1/payments/reconcile": {"200 " + answer}})
		code, out, errs := api.starter(t, "tx", "reconcile")
		if code != 1 || !strings.Contains(errs, want) || strings.Contains(answer, "balance on") != strings.Contains(out, "balance on the chain") {
			t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
		}
		if code, out, _ := api.starter(t, "tx", "reconcile", "--json"); code != 1 || out != answer+"\n" {
			t.Errorf("--json: exit code %d, output %q", code, out)
		}
	}
}
