package command

import (
	"strings"
	"testing"
)

// hookJSON is a webhook with the outcome of its last test event.
func hookJSON(at, problem string) string {
	return `{"id":"4","address":"https://receiver.example/","workloads":[],"state":"ACTIVE","reason":null,"cursor":"1-1","events_lost":false,"behind_since":null,"failing_since":null,"last_error":null,"delivered_at":null,"previous_secret_until":null,"test":{"asked_at":"2026-03-01T12:00:00Z","at":` +
		at + `,"error":` + problem + `},"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:00Z"}`
}

// TestWebhookTest expects the outcome of a test event in the exit code, with the reason and what to do.
func TestWebhookTest(t *testing.T) {
	t.Parallel()
	const at = `"2026-03-01T12:00:01Z"`
	tests := map[string]struct {
		answer    string
		code      int
		out, errs []string
	}{
		"taken":         {"200 " + hookJSON(at, "null"), 0, []string{"accepted the test event"}, nil},
		"under way":     {"200 " + hookJSON("null", "null"), 0, []string{"still being sent"}, nil},
		"refused":       {"200 " + hookJSON(at, `"WEBHOOK_REFUSED"`), 1, nil, []string{"did not accept the test event: WEBHOOK_REFUSED\nnext: make the receiver return 2xx"}},
		"private":       {"200 " + hookJSON(at, `"WEBHOOK_FORBIDDEN"`), 1, nil, []string{": WEBHOOK_FORBIDDEN\nnext: use an address on the Internet"}},
		"a later error": {"200 " + hookJSON(at, `"NEW_CODE"`), 1, nil, []string{": NEW_CODE\nnext: "}},
		"nobody's":      {problemJSON(404, "WEBHOOK_NOT_FOUND"), 1, nil, []string{"WEBHOOK_NOT_FOUND: ", "next: list them: starter webhook list"}},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newFakeAPI(t, map[string][]string{"POST /v1/webhooks/4/test": {test.answer}})
			code, out, errs := api.starter(t, "webhook", "test", "4")
			if code != test.code || (out == "") != (test.out == nil) || (errs == "") != (test.errs == nil) {
				t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
			}

			for _, want := range test.out {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in %q", want, out)
				}
			}

			for _, want := range test.errs {
				if !strings.Contains(errs, want) {
					t.Errorf("%q is not in %q", want, errs)
				}
			}
		})
	}

	api := newFakeAPI(t, map[string][]string{"POST /v1/webhooks/4/test": {tests["refused"].answer}})
	code, out, errs := api.starter(t, "webhook", "test", "4", "--json")
	if code != 1 || !strings.Contains(out, `"error":"WEBHOOK_REFUSED"`) || !strings.Contains(errs, "WEBHOOK_REFUSED") {
		t.Errorf("as JSON: exit code %d, output %q, errors %q", code, out, errs)
	}
}
