// Command flaky lists the tests that failed and passed when they were repeated: go run ./dev/flaky REPORT…
//
// A report has the events of `go test -json`, with those of the repetitions behind them, as gotestsum writes them with
// --jsonfile.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

func main() {
	for _, name := range os.Args[1:] {
		report, err := os.Open(name)
		if err != nil {
			fail(err)
		}

		flaky, err := read(report)
		_ = report.Close()
		if err != nil {
			fail(fmt.Errorf("%s: %w", name, err))
		}
		for _, line := range flaky {
			fmt.Println(line)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "flaky:", err)
	os.Exit(1)
}

// event is one line of `go test -json`.
type event struct{ Action, Package, Test, Output string }

// attempts are the runs of one test.
type attempts struct {
	message        string // the first that the test logged where it failed
	output         strings.Builder
	failed, passed bool
}

// read returns a line for each test that failed at first and passed later. A test whose own subtest failed is not listed
// beside it.
func read(report io.Reader) ([]string, error) {
	tests := map[[2]string]*attempts{}
	lines := bufio.NewScanner(report)
	lines.Buffer(nil, 16<<20) // a test may log whole pages
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if e.Test == "" {
			continue
		}

		test := tests[[2]string{e.Package, e.Test}]
		if test == nil {
			test = &attempts{}
			tests[[2]string{e.Package, e.Test}] = test
		}
		test.take(e)
	}

	var flaky []string
	for name, test := range tests {
		if test.failed && test.passed && !slices.ContainsFunc(failedIn(tests, name[0]), func(other string) bool {
			return strings.HasPrefix(other, name[1]+"/")
		}) {
			flaky = append(flaky, fmt.Sprintf("FLAKY %s %s: %s", name[0], name[1], cmp.Or(test.message, "no message")))
		}
	}
	slices.Sort(flaky)
	return flaky, lines.Err()
}

func failedIn(tests map[[2]string]*attempts, pkg string) (names []string) {
	for name, test := range tests {
		if name[0] == pkg && test.failed {
			names = append(names, name[1])
		}
	}
	return names
}

// message matches what a test logs, with its place.
var message = regexp.MustCompile(`(?m)^\s*(\w+_test\.go:\d+: .*)$`)

func (a *attempts) take(e event) {
	switch e.Action {
	case "run":
		a.output.Reset()
	case "output":
		a.output.WriteString(e.Output)
	case "pass":
		a.passed = true
	case "fail":
		a.failed = true
		if found := message.FindStringSubmatch(a.output.String()); a.message == "" && found != nil {
			a.message = found[1]
		}
	}
}
