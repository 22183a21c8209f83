package workflows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// TestAllGoOnByName fails for a workflow that continues as a function: it would continue as the last one registered
// with a function of that name.
func TestAllGoOnByName(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}

	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if called, ok := call.Fun.(*ast.SelectorExpr); !ok || !strings.HasPrefix(called.Sel.Name, "NewContinueAsNewError") {
				return true
			}

			found++
			if !strings.HasSuffix(types.ExprString(call.Args[1]), "Type") {
				t.Errorf("%s: continue with the type's name instead of a function", fset.Position(call.Pos()))
			}
			return true
		})
	}

	if found < 5 {
		t.Errorf("found %d workflows that continue as new", found)
	}
}
