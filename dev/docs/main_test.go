package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	d := markdown("a.md")
	const before = "above\n<!-- begin a -->\nold\n<!-- end a -->\nbelow\n<!-- begin b -->\n<!-- end b -->\n"
	const want = "above\n<!-- begin a -->\n\nnew\n\n<!-- end a -->\nbelow\n<!-- begin b -->\n<!-- end b -->\n"
	a := part{"a", func() string { return "new\n" }}

	after, err := d.replace(before, a)
	if err != nil {
		t.Fatal(err)
	}
	if after != want {
		t.Errorf("got %q, want %q", after, want)
	}
	if again, err := d.replace(after, a); err != nil || again != after {
		t.Errorf("a second time it gave %q, %v", again, err)
	}
	if _, err := d.replace(before, part{"c", a.text}); err == nil {
		t.Error("missing comments went unnoticed")
	}
}

// TestDocuments fails if a generated part differs from the code.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, d := range documents {
		if err := d.update(filepath.Join("..", ".."), true); err != nil {
			t.Error(err)
		}
	}
}

// TestWrites updates outdated documents, and reports them with -check.
func TestWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, d := range documents {
		var empty strings.Builder
		for _, p := range d.parts {
			fmt.Fprintf(&empty, strings.ReplaceAll(d.begin+d.end, "\n\n\n", "\n")+"\n", p.name, p.name)
		}

		name := filepath.Join(dir, d.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(empty.String()), 0o644); err != nil {
			t.Fatal(err)
		}

		if d.update(dir, true) == nil {
			t.Errorf("-check did not see that parts of %s are missing", d.name)
		}
		if err := d.update(dir, false); err != nil {
			t.Fatal(err)
		}
		if err := d.update(dir, true); err != nil {
			t.Error(err)
		}

		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		for _, p := range d.parts {
			if !strings.Contains(string(text), strings.Trim(p.text(), "\n")) {
				t.Errorf("%s lacks %s:\n%s", d.name, p.name, text)
			}
		}
	}
}
