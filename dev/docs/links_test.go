package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/store"
)

const (
	longest = 180       // lines of README.md; more belongs in docs/
	inCI    = ".ci/run" // named instead of a test where .ci/run runs the commands
)

var (
	root     = filepath.Join("..", "..")
	fence    = regexp.MustCompile("(?ms)^```.*?^```")
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	notInIDs = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	commands = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n(?:<!-- tested: ([^\n]*) -->)?")
	path     = regexp.MustCompile(
		"`((?:activities|api|deploy|dev|docs|internal|starter|worker|workflows)/[\\w./-]*\\w/?)`",
	)
	treeItem = regexp.MustCompile(`(?m)^( *)(\w+)/`)
	named    = regexp.MustCompile(`\b(docs/[\w/-]+\.md(?:#[\w-]+)?)`)
	tested   = regexp.MustCompile(`(?m)^<!-- tested: ([^\n]*) -->$`)
	goTest   = regexp.MustCompile(`^(Test\w+) in ([\w/]+)$`)
)

func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	if lines := strings.Count(textOf(t, "README.md"), "\n"); lines > longest {
		t.Errorf("README.md has %d lines, more than %d", lines, longest)
	}
}

// TestTextsOfTheCode checks that documents and headings named in the code's messages and comments exist.
func TestTextsOfTheCode(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return filepath.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}

		text, err := os.ReadFile(file)
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			found++
			wantHeading(t, file, match[1])
		}
		return err
	})
	if err != nil || found < 3 {
		t.Errorf("%d documents are named: %v", found, err)
	}
}

// TestLinks checks that each relative link leads to an existing file and, if it names one, to an existing heading.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, from := range allDocuments(t) {
		for _, to := range linksOf(t, from) {
			wantHeading(t, from, to)
		}
	}
}

// TestRunbooksLead checks that the runbook of each alert is a chapter of a document, and that the handbook says what to
// do about each kind of incident, with its severity.
func TestRunbooksLead(t *testing.T) {
	t.Parallel()
	const rules = "deploy/prometheus/alerts.yml"
	alerts := strings.Count(textOf(t, rules), "- alert: ")
	runbooks := regexp.MustCompile(`runbook: (docs/\S+#\S+)\n`).FindAllStringSubmatch(textOf(t, rules), -1)
	if len(runbooks) != alerts {
		t.Errorf("%d of %d alerts name a chapter", len(runbooks), alerts)
	}
	for _, runbook := range runbooks {
		wantHeading(t, rules, runbook[1])
	}

	for _, kind := range store.Parts.AlertKinds() {
		if !strings.Contains(textOf(t, "docs/operate.md"), "\n| `"+kind.Name+"` | "+kind.Severity+" | ") {
			t.Errorf("the handbook does not say what to do about %s, which has the severity %s", kind.Name, kind.Severity)
		}
	}
}

// wantHeading fails the test unless a link, relative to the root, leads to an existing file and, if it names one, to an
// existing heading.
func wantHeading(t *testing.T, from, to string) {
	t.Helper()
	name, anchor, _ := strings.Cut(to, "#")
	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		t.Errorf("%s leads to %s, which does not exist", from, name)
	} else if anchor != "" && !slices.Contains(anchorsOf(textOf(t, name)), anchor) {
		t.Errorf("%s leads to #%s in %s, which has no such heading", from, anchor, name)
	}
}

// TestPathsExist checks that files and folders named in documents exist. Decisions keep the names of their date, and
// the example of a new workload names files that do not exist yet.
func TestPathsExist(t *testing.T) {
	t.Parallel()
	for _, name := range allDocuments(t) {
		if strings.HasPrefix(name, "docs/decisions/") || name == "CHANGELOG.md" {
			continue
		}

		for _, match := range path.FindAllStringSubmatch(textOf(t, name), -1) {
			if strings.Contains(match[1], "reminder") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s names %s, which does not exist", name, match[1])
			}
		}
	}
}

// TestTree compares the tree in README.md with the folders: those at the top, and those of internal/ below it.
func TestTree(t *testing.T) {
	t.Parallel()
	_, after, _ := strings.Cut(textOf(t, "README.md"), "\n## The tree\n")
	tree := fence.FindString(after)
	folders := treeItem.FindAllStringSubmatch(tree, -1)
	if len(folders) < 10 {
		t.Fatalf("the tree has %d folders", len(folders))
	}

	for _, match := range folders {
		folder := match[2]
		if match[1] != "" {
			folder = "internal/" + folder
		}
		if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() {
			t.Errorf("the tree in README.md has %s/, which is no folder", folder)
		}
	}
}

// TestDocumentsAreFound follows the links from README.md: they reach every document.
func TestDocumentsAreFound(t *testing.T) {
	t.Parallel()
	found := []string{"README.md"}
	for i := 0; i < len(found); i++ {
		for _, to := range linksOf(t, found[i]) {
			name, _, _ := strings.Cut(to, "#")
			if strings.HasSuffix(name, ".md") && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}

	for _, name := range allDocuments(t) {
		if !slices.Contains(found, name) {
			t.Errorf("no link leads from README.md to %s", name)
		}
	}
}

// TestDecisionsAreListed compares the decision records with their index, which lists each with its heading.
func TestDecisionsAreListed(t *testing.T) {
	t.Parallel()
	const folder = "docs/decisions/"
	index := textOf(t, folder+"README.md")
	for _, name := range allDocuments(t) {
		record, isRecord := strings.CutPrefix(name, folder+"0")
		if !isRecord {
			continue
		}

		first, _, _ := strings.Cut(textOf(t, name), "\n")
		_, title, _ := strings.Cut(first, ". ")
		if row := "(0" + record + ") | " + title + " |\n"; !strings.Contains(index, row) {
			t.Errorf("%sREADME.md lacks the row %q", folder, row)
		}
	}
}

// TestReadmeCommandsAreTested checks that each block of commands names its test.
func TestReadmeCommandsAreTested(t *testing.T) {
	t.Parallel()
	blocks := commands.FindAllStringSubmatch(textOf(t, "README.md"), -1)
	if len(blocks) < 3 {
		t.Fatalf("README.md has %d blocks of commands", len(blocks))
	}

	for _, block := range blocks {
		lines, by := strings.TrimSpace(block[1]), block[2]
		switch by {
		case "":
			t.Errorf("no test is named below\n%s", lines)
		case inCI:
			wantInCI(t, lines)
		}
	}
}

// TestNamedTests checks that the tests that documents name below their commands exist.
func TestNamedTests(t *testing.T) {
	t.Parallel()
	for _, name := range allDocuments(t) {
		for _, match := range tested.FindAllStringSubmatch(textOf(t, name), -1) {
			if by := match[1]; by != inCI && !isTest(t, by) {
				t.Errorf("%s: there is no test %q", name, by)
			}
		}
	}
}

// wantInCI fails the test unless .ci/run runs each of the targets, such as `make test`, with or without flags and
// variables.
func wantInCI(t *testing.T, lines string) {
	t.Helper()
	script := textOf(t, ".ci/run")
	for line := range strings.Lines(lines) {
		target, isMake := strings.CutPrefix(strings.TrimSpace(line), "make ")
		pattern := `(?m)\bmake( --\S+)* ` + regexp.QuoteMeta(target) + `( [A-Z]+=\S+)*$`
		if !isMake || !regexp.MustCompile(pattern).MatchString(script) {
			t.Errorf(".ci/run does not run %q", line)
		}
	}
}

// isTest reports whether a test exists that is named as "TestX in a/folder".
func isTest(t *testing.T, where string) bool {
	t.Helper()
	named := goTest.FindStringSubmatch(where)
	if named == nil {
		return false
	}

	files, err := filepath.Glob(filepath.Join(root, named[2], "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+named[1]+"(t *testing.T)")
	})
}

// allDocuments returns the documents of the repository, relative to its root.
func allDocuments(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}

		for _, file := range files {
			name, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
	}

	return names
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// linksOf returns the relative links of a document, relative to the root: "docs/api.md#events".
func linksOf(t *testing.T, name string) (links []string) {
	t.Helper()
	prose := fence.ReplaceAllString(textOf(t, name), "")
	for _, match := range link.FindAllStringSubmatch(prose, -1) {
		to, anchor, _ := strings.Cut(match[1], "#")
		if strings.Contains(to, "://") {
			continue
		}

		if to = filepath.ToSlash(filepath.Join(filepath.Dir(name), to)); match[1][0] == '#' {
			to = name
		}

		if anchor != "" {
			to += "#" + anchor
		}

		links = append(links, to)
	}

	return links
}

// anchorsOf returns the ids of a document's headings on GitHub.
func anchorsOf(text string) (anchors []string) {
	for _, match := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		id := notInIDs.ReplaceAllString(strings.ToLower(match[1]), "")
		anchors = append(anchors, strings.ReplaceAll(id, " ", "-"))
	}
	return anchors
}
