package workflows_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// upgrades lists each change of a workflow's commands, and when its old branch may go.
const upgrades = "../docs/decisions/0009-upgrades-encryption-and-stops.md"

var listedChange = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// TestChangesAreListed compares the changes requested from GetVersion by the workflows with the table of decision 9.
func TestChangesAreListed(t *testing.T) {
	t.Parallel()
	var inCode []string
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			inCode = append(inCode, changesIn(t, file)...)
		}
	}

	text, err := os.ReadFile(upgrades)
	if err != nil {
		t.Fatal(err)
	}

	var listed []string
	for _, match := range listedChange.FindAllSubmatch(text, -1) {
		listed = append(listed, string(match[1]))
	}

	slices.Sort(inCode)
	slices.Sort(listed)
	if !slices.Equal(inCode, listed) {
		t.Errorf("the code has  %q\nlisted are    %q", inCode, listed)
	}
}

// TestChangesAreFound reads a file with two changes: the comparison will see future ones.
func TestChangesAreFound(t *testing.T) {
	t.Parallel()
	const source = `package p

const second = "wait for the second"

func run(ctx workflow.Context, n int) {
	workflow.GetVersion(ctx, "ask first", workflow.DefaultVersion, 1)
	change := fmt.Sprintf("look %d", n)
	workflow.GetVersion(ctx, change, workflow.DefaultVersion, 1)
	workflow.GetVersion(ctx, second, workflow.DefaultVersion, 1)
}`
	file := filepath.Join(t.TempDir(), "source.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := changesIn(t, file), []string{"ask first", "look N", "wait for the second"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// changesIn returns the ids of changes that a file requests from GetVersion. An id is a text, a constant or variable of
// the file with one, or the format of one whose numbers vary: they appear as N.
func changesIn(t *testing.T, file string) (changes []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	texts := map[string]string{} // by the name of the variable last assigned
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					texts[name.Name] = textOf(spec.Values[i], texts)
				}
			}
		}
		return true
	})

	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if name, ok := to.(*ast.Ident); ok && i < len(n.Rhs) {
					texts[name.Name] = textOf(n.Rhs[i], texts)
				}
			}
		case *ast.CallExpr:
			function, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || function.Sel.Name != "GetVersion" {
				break
			}
			change := textOf(n.Args[1], texts)
			if change == "" {
				t.Errorf("%s: a change without a text that can be read", file)
			}
			changes = append(changes, strings.ReplaceAll(change, "%d", "N"))
		}

		return true
	})

	return changes
}

// textOf returns an expression's text; "" if it has none.
func textOf(expression ast.Expr, texts map[string]string) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.Ident:
		return texts[e.Name]
	case *ast.CallExpr:
		if function, ok := e.Fun.(*ast.SelectorExpr); ok && function.Sel.Name == "Sprintf" {
			return textOf(e.Args[0], texts)
		}
	}

	return ""
}
