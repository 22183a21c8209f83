package house

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// simulators matches what belongs to development and tests: our simulators and servers, databases and Temporal servers that
// run inside a process, and the emulator of TON contracts. The wallet needs tvm/cell and its dependencies.
var simulators = regexp.MustCompile(`^(` + strings.Join([]string{
	`stagecoach/dev(/.*)?`,
	`modernc\.org/.*`, `.*sqlite.*`, `.*embedded-postgres.*`, `go\.etcd\.io/bbolt.*`, `github\.com/dgraph-io/.*`,
	`go\.temporal\.io/server/.*`, `go\.temporal\.io/sdk/testsuite`, `github\.com/temporalio/cli/.*`,
	`github\.com/xssnick/tonutils-go/tvm`, `github\.com/xssnick/tonutils-go/tvm/op/.*`,
}, "|") + `)$`)

// TestProductLinksNoSimulators checks that no program of the product contains development and test code.
func TestProductLinksNoSimulators(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"./worker", "./api", "./starter"} {
		wantNoLink(t, program, simulators)
	}
}

// TestProgramsAreApart checks that no program links code of another program.
func TestProgramsAreApart(t *testing.T) {
	t.Parallel()
	for program, forbidden := range map[string]string{
		"./worker":  `^stagecoach/(api|starter)(/.*)?$`,
		"./api":     `^stagecoach/(activities|workflows|worker|starter)(/.*)?$`,
		"./starter": `^stagecoach/(activities|workflows|worker|api/(rest|bot|run))(/.*)?$`,
	} {
		wantNoLink(t, program, regexp.MustCompile(forbidden))
	}
}

// TestWorldIsRecognised checks that the pattern matches what the development program links, so that no match means
// something.
func TestWorldIsRecognised(t *testing.T) {
	t.Parallel()
	packages := linked(t, "./dev")
	for _, want := range []string{"stagecoach/dev/stack", "github.com/xssnick/tonutils-go/tvm"} {
		if !slices.Contains(packages, want) || !simulators.MatchString(want) {
			t.Errorf("./dev links no %s, or that does not count as a simulator", want)
		}
	}

	for _, want := range []string{"github.com/xssnick/tonutils-go/tvm/cell", "stagecoach/internal/store"} {
		if simulators.MatchString(want) {
			t.Errorf("%s counts as a simulator", want)
		}
	}
}

// wantNoLink fails the test for each matching package that the program links.
func wantNoLink(t *testing.T, program string, forbidden *regexp.Regexp) {
	t.Helper()
	for _, name := range linked(t, program) {
		if forbidden.MatchString(name) {
			t.Errorf("%s links %s: go list -deps tells through what", program, name)
		}
	}
}

// linked lists the packages that a program links.
func linked(t *testing.T, program string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", program)
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", program, err)
	}
	return strings.Fields(string(out))
}
