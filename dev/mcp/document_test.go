package mcp

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"stagecoach/starter/command"
)

// TestDocumentedCommands runs the commands of docs/mcp.md.
func TestDocumentedCommands(t *testing.T) {
	text, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("STAGECOACH_API_URL", running.Info.API)
	t.Setenv("STAGECOACH_TOKEN", running.Info.UserToken)

	lines := regexp.MustCompile(`(?m)^starter .*$`).FindAllString(string(text), -1)
	if len(lines) == 0 {
		t.Fatal("the document has no command")
	}
	for _, line := range lines {
		var out, errs bytes.Buffer
		if code := command.Run(t.Context(), strings.Fields(line), &out, &errs); code != 0 {
			t.Errorf("%s ends with %d: %s", line, code, errs.String())
		}
	}
}
