package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	const before = "above\n<!-- begin a -->\nold\n<!-- end a -->\nbelow\n<!-- begin b -->\n<!-- end b -->\n"
	after, err := replace(before, "a", "new\n")
	if err != nil {
		t.Fatal(err)
	}
	const want = "above\n<!-- begin a -->\n\nnew\n\n<!-- end a -->\nbelow\n<!-- begin b -->\n<!-- end b -->\n"
	if after != want {
		t.Errorf("got %q, want %q", after, want)
	}
	if again, err := replace(after, "a", "new\n"); err != nil || again != after {
		t.Errorf("a second time it gave %q, %v", again, err)
	}
	if _, err := replace(before, "c", "new"); err == nil {
		t.Error("missing comments went unnoticed")
	}
}

// TestREADME fails when README.md is older than the code.
func TestREADME(t *testing.T) {
	t.Parallel()
	if err := run(filepath.Join("..", "..", document), true); err != nil {
		t.Error(err)
	}
}

// TestWrites changes a document that is out of date, and says so with -check.
func TestWrites(t *testing.T) {
	t.Parallel()
	var empty strings.Builder
	for _, p := range parts {
		empty.WriteString("<!-- begin " + p.name + " -->\n<!-- end " + p.name + " -->\n")
	}
	name := filepath.Join(t.TempDir(), document)
	if err := os.WriteFile(name, []byte(empty.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if run(name, true) == nil {
		t.Error("-check did not see that the parts are missing")
	}
	if err := run(name, false); err != nil {
		t.Fatal(err)
	}
	if err := run(name, true); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`QUEUED`", "`STAGECOACH_DELIVERY_TTL`", "| required |"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}
