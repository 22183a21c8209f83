package rest_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestNestedBodies sends each operation with a body of 100,000 nested levels, within its size limit: it is refused like
// any other unreadable body.
func TestNestedBodies(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.callersOutOfReach()
	o := &oddCaller{rig: w, document: w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body}

	const levels = 100_000
	bodies := map[string]string{
		"lists":            strings.Repeat("[", levels),
		"closed lists":     strings.Repeat("[", levels) + strings.Repeat("]", levels),
		"objects":          strings.Repeat(`{"a":`, levels),
		"closed objects":   strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels),
		"under a property": `{"name":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}",
	}

	taking := 0
	for _, op := range o.operations() {
		if op.body == nil {
			continue
		}

		taking++
		path := op.path
		for _, p := range op.parameters {
			if p["in"] == "path" {
				path = strings.ReplaceAll(path, "{"+p["name"].(string)+"}", "1")
			}
		}

		for name, body := range bodies {
			answer := w.send(w.adminToken, op.method, path, body, "Idempotency-Key", "nested")
			if answer.status < 400 || answer.status >= 500 || answer.body["code"] == nil {
				t.Errorf("%s with %s answers %d:\n%.500s", op.name(), name, answer.status, answer.raw)
			}
		}
	}

	if taking < 10 {
		t.Errorf("%d operations take a body", taking)
	}
}
