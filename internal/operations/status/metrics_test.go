package status_test

import (
	"maps"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
)

func gathered(t *testing.T, r *status.Reporter) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	return gatheredBy(t, registry)
}

// gatheredBy returns a registry's gauges by name and labels.
func gatheredBy(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetGauge().GetValue()
		}
	}

	return got
}

// emptyMetrics are the metrics of a record without rows.
func emptyMetrics() map[string]float64 {
	want := map[string]float64{"database_answers_current": 1, "temporal_answers_current": 0, "transactions_need_review_current": 0, "payment_queue_length_current": 0, "queue_depth_current": 0}
	for _, workload := range lifecycle.Workloads {
		for _, state := range workload.Table.StateNames() {
			want[workload.Counted+"_current "+state] = 0
		}
	}
	for _, kind := range store.Parts.AlertKinds() {
		want["alerts_open_current "+kind.Name+" "+kind.Severity] = 0
	}
	return want
}

func TestGauges(t *testing.T) {
	t.Parallel()
	s, url := open(t)
	want := emptyMetrics()
	if got := gathered(t, status.New(status.Options{Store: s, Temporal: unreachable(), Queue: queue})); !maps.Equal(got, want) {
		t.Errorf("of an empty record: %v, want %v", got, want)
	}

	exec(
		t, url,
		`INSERT INTO ton_wallets (address, cursor_lt, cursor_hash, scanned_to) VALUES ('0:' || repeat('a', 64), 0, '', now() - interval '1 hour')`,
	)
	exec(
		t, url,
		`INSERT INTO ledger_balances (wallet, account, balance_nano) VALUES ('0:' || repeat('a', 64), 'wallet', 2500000000)`,
	)
	exec(t, url, `INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, processing_since, needs_review, review_reason)
		SELECT lpad(n::text, 64, '0'), '0:' || repeat('a', 64), n, 1, '0:bb', '', 'processing', 1, now(), n = 1, CASE WHEN n = 1 THEN 'x' ELSE '' END FROM generate_series(1, 3) n`)
	exec(t, url, `INSERT INTO alerts (kind, resolved_at) VALUES ('chain_clock_wrong', NULL), ('over', now())`)
	exec(t, url, `INSERT INTO outside_systems (name, succeeded_at) VALUES ('yandex', now()), ('backup', now() - interval '2 hours')`)
	testdb.Recount(t, s)
	got := gathered(t, status.New(status.Options{Store: s, Temporal: unreachable(), Queue: queue}))
	if lag := got["chain_lag_seconds"]; lag < 3600 || lag > 3700 {
		t.Errorf("the chain's lag is %v", lag)
	}

	if age := got["backup_age_seconds"]; age < 7200 || age > 7300 {
		t.Errorf("the last backup is %v s old", age)
	}
	delete(got, "chain_lag_seconds")
	delete(got, "backup_age_seconds")
	want["transactions_need_review_current"], want["payment_queue_length_current"] = 1, 2
	want["transactions_in_status_current processing"], want["wallet_balance_ton"] = 3, 2.5
	want["alerts_open_current chain_clock_wrong page"] = 1
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
