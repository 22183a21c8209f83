package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	riskRow  = regexp.MustCompile(`(?m)^\| API(\d+) .*\|$`)
	testName = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	declared = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
)

// TestSecurityNamesItsTests checks that SECURITY.md has each row of OWASP's API top ten with tests, and that each test
// named there exists.
func TestSecurityNamesItsTests(t *testing.T) {
	t.Parallel()
	security, exist := textOf(t, "SECURITY.md"), declaredTests(t)
	for _, match := range testName.FindAllStringSubmatch(security, -1) {
		if !exist[match[1]] {
			t.Errorf("SECURITY.md names the test %s, which does not exist", match[1])
		}
	}

	rows := riskRow.FindAllStringSubmatch(security, -1)
	for i, row := range rows {
		if row[1] != fmt.Sprint(i+1) || !testName.MatchString(row[0]) {
			t.Errorf("row %d is that of API%s, or names no test", i+1, row[1])
		}
	}
	if len(rows) != 10 {
		t.Errorf("%d rows, want ten", len(rows))
	}
}

// declaredTests are the names of all tests of the repository.
func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	exist := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return filepath.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			exist[match[1]] = true
		}
		return err
	})
	if err != nil || len(exist) < 100 {
		t.Fatal(len(exist), err)
	}
	return exist
}
