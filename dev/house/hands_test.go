package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// narrow are the rooms whose structs declare interfaces with the few methods of the record and services that they call.
var narrow = []string{"activities", "internal/catalog", "internal/feed", "internal/operations"}

// wide are packages of these rooms that still take the whole record.
var wide = []string{"internal/operations/cleanup", "internal/operations/status"}

// TestDependenciesAreNarrow checks that no struct of these rooms has a field with the whole record or a whole service.
func TestDependenciesAreNarrow(t *testing.T) {
	t.Parallel()
	root, structs := filepath.Join("..", ".."), 0
	for _, room := range narrow {
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(room)), func(name string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}

			folder, _ := filepath.Rel(root, filepath.Dir(name))
			if slices.Contains(wide, filepath.ToSlash(folder)) {
				return nil
			}

			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}

			ast.Inspect(file, func(node ast.Node) bool {
				if s, ok := node.(*ast.StructType); ok {
					structs++
					for _, hand := range wideHands(s) {
						t.Errorf("%s: a field is %s: name the methods that are called in an interface", name, hand)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	if structs < 20 {
		t.Errorf("only %d structs were found", structs)
	}
}

// wideHands lists the types of a struct's fields that are the whole record or a whole service.
func wideHands(s *ast.StructType) (found []string) {
	for _, field := range s.Fields.List {
		pointer, ok := field.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if named, ok := pointer.X.(*ast.SelectorExpr); ok {
			from, _ := named.X.(*ast.Ident)
			if from != nil && (named.Sel.Name == "Service" || from.Name == "store" && named.Sel.Name == "Store") {
				found = append(found, "*"+from.Name+"."+named.Sel.Name)
			}
		}
	}
	return found
}
