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

// ownJSON are structs with JSON tags that an API client has for its own output, and those of the Model Context
// Protocol: of its messages, and of the tools' results.
var ownJSON = []string{
	"dependency", "dependencies", "retried", "message", "params", "greeting", "envelope", "foundTasks", "foundTask",
	"foundWords", "heardEvents",
}

// TestShapesAreDeclaredOnce checks that the server only responds with types of api/shape, and that clients of the API
// declare no JSON of their own to decode them.
func TestShapesAreDeclaredOnce(t *testing.T) {
	t.Parallel()
	answers := 0
	eachFile(t, "api/rest", func(name string, file *ast.File) {
		for _, declaration := range file.Decls {
			body := answerOf(declaration)
			if body == nil {
				continue
			}

			answers++
			if what := root(body); what != "shape" {
				t.Errorf("%s: %s answers with a type of %s", name, declaration.(*ast.FuncDecl).Name.Name, what)
			}
		}
	})
	if answers < 50 {
		t.Errorf("found %d answers only", answers)
	}

	for _, room := range []string{"starter", "api/client", "dev/demo"} {
		eachFile(t, room, func(name string, file *ast.File) {
			for _, declared := range structsWithJSON(file) {
				if !slices.Contains(ownJSON, declared) {
					t.Errorf("%s declares JSON in %s: the shapes of the API are in api/shape", name, declared)
				}
			}
		})
	}
}

// answerOf returns the type of an operation's response body; nil: the declaration is not an operation, or its response
// has no JSON body. An operation is a method of handlers that takes a context and a pointer to its input.
func answerOf(declaration ast.Decl) ast.Expr {
	method, ok := declaration.(*ast.FuncDecl)
	if !ok || method.Recv == nil || method.Type.Results == nil {
		return nil
	}

	in, out := method.Type.Params.List, method.Type.Results.List
	receiver, _ := method.Recv.List[0].Type.(*ast.StarExpr)
	if receiver == nil || root(receiver.X) != "handlers" || len(in) != 2 || len(out) != 2 || !isName(in[0].Type, "context", "Context") {
		return nil
	}
	if _, pointer := in[1].Type.(*ast.StarExpr); !pointer || root(out[1].Type) != "error" {
		return nil
	}

	body := out[0].Type
	if made, pointer := body.(*ast.StarExpr); pointer {
		of, ok := made.X.(*ast.IndexExpr)
		if !ok || !isName(of.X, "server", "Made") {
			return nil // a response that is not JSON
		}
		body = of.Index
	}
	if _, nothing := body.(*ast.StructType); nothing {
		return nil
	}
	return body
}

// structsWithJSON names the structs of a file that have JSON tags; one without a name is "a struct".
func structsWithJSON(file *ast.File) (names []string) {
	named := map[*ast.StructType]string{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				named[s] = n.Name.Name
			}
		case *ast.StructType:
			tagged := func(f *ast.Field) bool { return f.Tag != nil && strings.Contains(f.Tag.Value, `json:"`) }
			if slices.ContainsFunc(n.Fields.List, tagged) {
				if named[n] == "" {
					named[n] = "a struct"
				}
				names = append(names, named[n])
			}
		}
		return true
	})
	return names
}

// root names the package of a type, such as shape for shape.Page[shape.Task]; a type without one belongs to this
// package.
func root(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.IndexExpr:
		if isName(e.X, "shape", "Page") {
			return root(e.Index)
		}
		return root(e.X)
	case *ast.SelectorExpr:
		return root(e.X)
	case *ast.Ident:
		return e.Name
	default:
		return "another kind"
	}
}

// isName reports whether an expression is the name of something in a package.
func isName(e ast.Expr, pkg, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == name && root(selector.X) == pkg
}

// eachFile parses the Go files below a folder, without tests.
func eachFile(t *testing.T, folder string, see func(name string, file *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", "..", folder), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil {
			see(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
