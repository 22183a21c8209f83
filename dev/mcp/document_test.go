package mcp

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"stagecoach/starter/command"
)

// TestDocumentedCommands runs the commands of docs/mcp.md: those of ours as they are, and of those that give a client a
// server over standard input and output the server's.
func TestDocumentedCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("STAGECOACH_API_URL", running.Info.API)
	t.Setenv("STAGECOACH_TOKEN", running.Info.UserToken)

	lines := regexp.MustCompile(`(?m)^(?:claude mcp add .* -- )?(starter .*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lines) != 2 {
		t.Fatalf("the document has %d commands", len(lines))
	}
	for _, line := range lines {
		var out, errs bytes.Buffer
		if code := command.Run(t.Context(), strings.Fields(line[1]), &out, &errs); code != 0 {
			t.Errorf("%s ends with %d: %s", line[1], code, errs.String())
		}
	}
}
