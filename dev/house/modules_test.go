package house

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// required finds a module and its version in a go.mod.
var required = regexp.MustCompile(`(?m)^(?:\t|require )(\S+) (v\S+)`)

// twice is compiled twice: we use a newer version than the one with which the program temporal can be built.
const twice = "go.temporal.io/sdk"

// TestSharedModules compares the versions of the modules that the program and the Temporal development server share:
// they are only compiled once if the versions are equal.
func TestSharedModules(t *testing.T) {
	t.Parallel()
	ours, servers := modules(t, "go.mod"), modules(t, "dev/temporal/go.mod")

	shared := 0
	for module, version := range servers {
		switch {
		case ours[module] == "" || module == twice:
		case ours[module] == version:
			shared++
		default:
			t.Errorf("%s is %s in go.mod and %s in dev/temporal/go.mod", module, ours[module], version)
		}
	}
	if shared < 40 {
		t.Errorf("%d modules are shared, want 40 and more", shared)
	}
}

// modules returns the version of each module that a go.mod requires.
func modules(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]string{}
	for _, match := range required.FindAllStringSubmatch(string(text), -1) {
		all[match[1]] = match[2]
	}
	return all
}
