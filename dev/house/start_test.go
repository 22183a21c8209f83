package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestOneWayToStartTheServices shows that worker and API are built and run by dev/stack alone, besides their own mains.
func TestOneWayToStartTheServices(t *testing.T) {
	t.Parallel()
	root, starts := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}

		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		place, _ := filepath.Rel(root, filepath.Dir(name))
		found := startsServices(file)
		switch filepath.ToSlash(place) {
		case "worker", "api", "worker/run", "api/run", "dev/house":
		case "dev/stack":
			starts += len(found)
		default:
			for _, what := range found {
				t.Errorf("%s starts the services itself, by %s: dev/stack does that", name, what)
			}
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if starts == 0 {
		t.Error("dev/stack does not start the services, or the test does not see it")
	}
}

// startsServices lists what a file has of the means to start worker or API: their packages, or the names to build them
// by.
func startsServices(file *ast.File) (found []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING {
			switch value := strings.Trim(text.Value, "\"`"); value {
			case "stagecoach/worker", "stagecoach/api", "stagecoach/worker/run", "stagecoach/api/run":
				found = append(found, value)
			}
		}
		return true
	})
	return found
}
