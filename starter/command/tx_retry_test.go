package command

import (
	"strings"
	"testing"
)

// failedTx is a failed transaction of the API with this hash, message and more fields.
func failedTx(hash, message, more string) string {
	text := strings.ReplaceAll(txIn("failed"), txHash, hash)
	text = strings.Replace(text, "Failed to fetch: Network error", message, 1)
	return strings.TrimSuffix(text, "}") + more + "}"
}

// TestRetryAll lists what would be retried, retries that and nothing else, and continues after a refusal.
func TestRetryAll(t *testing.T) {
	t.Parallel()
	const path = "/v1/transactions"
	first := list(
		failedTx("aa", "Unknown error", `,"given_up_at":"2026-03-02T12:00:00Z"`), failedTx("bb", "Cancelled by operator", ""),
	)

	first = strings.Replace(first, `"next_cursor":null`, `"next_cursor":"c2"`, 1)
	first = strings.Replace(first, `"next_cursor":""`, `"next_cursor":"c2"`, 1)
	second := list(failedTx("cc", "Failed to fetch: Network error", `,"retry_at":"2026-03-01T12:05:00Z"`),
		strings.Replace(failedTx("dd", "Unknown error", ""), `"needs_review":false`, `"needs_review":true`, 1))
	answers := map[string][]string{
		"GET " + path + "?limit=200&retryable=true":           {"200 " + first},
		"GET " + path + "?cursor=c2&limit=200&retryable=true": {"200 " + second},
		"GET " + path + "?error=Cancelled+by+operator&limit=200&retryable=true": {"200 " + list(failedTx(
			"bb", "Cancelled by operator", "",
		))},
		"POST " + path + "/aa/retry": {problemJSON(409, "INVALID_TRANSITION")},
		"POST " + path + "/bb/retry": {"200 " + txIn("processing")},
		"POST " + path + "/cc/retry": {"200 " + txIn("processing")},
	}

	for name, c := range map[string]struct {
		args   []string
		posted string // the hashes
		want   []string
	}{
		"nothing without --yes": {nil, "", []string{"aa  ", "would_retry", "cc  ", "retried automatically", "add --yes to retry these 2"}},
		"all":                   {[]string{"--yes", "it", "works"}, "aa cc", []string{"refused", "retried"}},
		"JSON":                  {[]string{"--yes", "--json"}, "aa cc", []string{`{"hash":"aa","outcome":"refused","code":"INVALID_TRANSITION"`, `{"hash":"cc","outcome":"retried"`}},
		"given up":              {[]string{"--yes", "--given-up"}, "aa", []string{"refused"}},
		"the first":             {[]string{"--yes", "--limit", "1"}, "aa", nil},
		"what was cancelled":    {[]string{"--yes", "--failure", "Cancelled by operator"}, "bb", []string{"retried"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t, cloneAnswers(answers))
			code, out, errs := api.starter(t, append([]string{"tx", "retry", "--all"}, c.args...)...)
			var posted []string

			for _, a := range api.asked {
				if hash, isRetry := strings.CutPrefix(a.what, "POST "+path+"/"); isRetry {
					posted = append(posted, strings.TrimSuffix(hash, "/retry"))
				}
			}

			if code != 0 || errs != "" || strings.Join(posted, " ") != c.posted {
				t.Errorf("exit code %d, retried %v, errors %q", code, posted, errs)
			}

			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}

// TestRetryAllStops shows what was retried when the API refuses for a reason that applies to all.
func TestRetryAllStops(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{
		"GET /v1/transactions?limit=200&retryable=true": {"200 " + list(failedTx("aa", "Unknown error", ""), failedTx("bb", "Unknown error", ""), failedTx("cc", "Unknown error", ""))},
		"POST /v1/transactions/aa/retry":                {"200 " + txIn("processing")},
		"POST /v1/transactions/bb/retry":                {problemJSON(503, "TEMPORAL_UNAVAILABLE")},
	})
	code, out, errs := api.starter(t, "tx", "retry", "--all", "--yes")
	if code != 1 || !strings.Contains(out, "aa  ") || strings.Contains(out, "bb") || !strings.Contains(errs, "TEMPORAL_UNAVAILABLE") {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
}

// TestRetryAllByTime filters by a period of time.
func TestRetryAllByTime(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{})
	_, _, _ = api.starter(t, "tx", "retry", "--all", "--older-than", "1h", "--since", "24h")
	if len(api.asked) != 1 || !strings.Contains(api.asked[0].what, "seen_from=20") || !strings.Contains(api.asked[0].what, "seen_until=20") {
		t.Errorf("asked %v", api.asked)
	}
}
