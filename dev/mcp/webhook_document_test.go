package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"stagecoach/api/shape"
	"stagecoach/starter/command"
)

// TestDocumentedWebhookCommands runs the commands of docs/webhooks.md in order, with a webhook and a receiver of this
// test instead of the examples.
func TestDocumentedWebhookCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("STAGECOACH_API_URL", running.Info.API)
	t.Setenv("STAGECOACH_TOKEN", running.Info.UserToken)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(receiver.Close)

	run := func(line string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if code := command.Run(t.Context(), strings.Fields(line), &out, &errs); code != 0 {
			t.Errorf("%s ends with %d: %s", line, code, errs.String())
		}
		return out.String()
	}

	var made shape.Webhook
	const example = "https://receiver.example/stagecoach"
	lines := regexp.MustCompile("(?m)(?:^\\$ |`)(starter webhook [^`\n]+)").FindAllStringSubmatch(string(text), -1)
	if len(lines) != 9 {
		t.Fatalf("the document has %d commands: %q", len(lines), lines)
	}
	for _, line := range lines {
		if strings.Contains(line[1], example) {
			answer := run(strings.Replace(line[1], example, receiver.URL, 1) + " --json")
			if err := json.Unmarshal([]byte(answer), &made); err != nil || made.Secret == "" {
				t.Fatalf("%q: %v", answer, err)
			}
			continue
		}
		run(strings.NewReplacer(" 4", " "+made.ID, "812-90", made.Cursor).Replace(line[1]))
	}

	if list := run("starter webhook list"); strings.Contains(list, receiver.URL) {
		t.Errorf("it is there still: %s", list)
	}
}
