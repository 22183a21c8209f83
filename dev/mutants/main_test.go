package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	lived := mutant{"LIVED", "internal/money/money.go", "MulDiv", "CONDITIONALS_BOUNDARY", "if by " + mark + "<= 0 {"}
	endless, other := lived, lived
	endless.Status, other.Func = timedOut, "Add"

	for name, c := range map[string]struct {
		survivors, known []mutant
		want             int
	}{
		"all is noticed":          {nil, nil, 0},
		"known":                   {[]mutant{lived}, []mutant{lived}, 0},
		"twice, known once":       {[]mutant{lived, lived}, []mutant{lived}, 1},
		"not known":               {[]mutant{lived}, nil, 1},
		"known, but noticed":      {nil, []mutant{lived}, 1},
		"elsewhere":               {[]mutant{lived}, []mutant{other}, 2},
		"no end instead of alive": {[]mutant{endless}, []mutant{lived}, 2},
	} {
		if wrong := compare(c.survivors, c.known); len(wrong) != c.want {
			t.Errorf("%s: %q, want %d", name, wrong, c.want)
		}
	}
}

// TestKnown reads known.txt: each mutant in it has a reason, belongs to a package that is mutated, and its line exists.
func TestKnown(t *testing.T) {
	t.Parallel()
	known, err := parseKnown(knownText)
	if err != nil {
		t.Fatal(err)
	}

	inPackages := 0
	for _, name := range packages {
		inPackages += len(in(known, name))
	}

	if inPackages != len(known) {
		t.Errorf("%d of %d are in packages that are mutated", inPackages, len(known))
	}

	for _, m := range known {
		source, err := readSource("../../" + m.File)
		if err != nil {
			t.Error(err)
			continue
		}
		text := strings.Replace(m.Text, mark, "", 1)
		if !slices.ContainsFunc(source.lines, func(line string) bool { return strings.TrimSpace(line) == text }) {
			t.Errorf("%s has no line %q", m.File, text)
		}
	}

	for _, bad := range []string{"\tLIVED a.go f TYPE text\n", "reason\n\tLIVED a.go f\n", "reason\n\n\tLIVED a.go f TYPE text\n"} {
		if got, err := parseKnown(bad); err == nil {
			t.Errorf("%q passes as %v", bad, got)
		}
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/a.go"
	const text = "package a\n\nconst b = 2 * 3\n\nfunc (c d) e() bool {\n\treturn c <= 1\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	source, err := readSource(path)
	if err != nil {
		t.Fatal(err)
	}
	if in, at := source.function(6), source.marked(6, 11); in != "e" || at != "return c "+mark+"<= 1" {
		t.Errorf("%s: %s", in, at)
	}
	if in, at := source.function(3), source.marked(3, 13); in != "package" || at != "const b = 2 "+mark+"* 3" {
		t.Errorf("%s: %s", in, at)
	}
}
