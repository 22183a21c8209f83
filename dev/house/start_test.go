package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rigs are the rooms that work on a whole Stagecoach: they get it from dev/stack.
var rigs = []string{"dev/bench", "dev/cli", "dev/demo", "dev/e2e"}

// starts matches calls that start a server or a simulator.
var starts = regexp.MustCompile(
	`^(servers\.Start(Postgres|Temporal|QBittorrent)|sim\.Start|(telegram|yandex)sim\.New|tonsim\.New\w+|torrentsim\.(NewQBittorrent|StartWebSeed))$`,
)

// TestOneWayToStartTheServices checks that only dev/stack builds and runs worker and API, besides their own mains, and
// that the demonstration, the benches and the end-to-end tests start servers and simulators through it.
func TestOneWayToStartTheServices(t *testing.T) {
	t.Parallel()
	root, services, servers := filepath.Join("..", ".."), 0, 0
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

		folder, _ := filepath.Rel(root, filepath.Dir(name))
		place := filepath.ToSlash(folder)
		switch place {
		case "worker", "api", "worker/run", "api/run", "starter/stagecoach", "dev/house":
			return nil
		case "dev/stack":
			services += len(startsServices(file))
			servers += len(startsServers(file))
			return nil
		}

		found := startsServices(file)
		if slices.Contains(rigs, place) {
			found = append(found, startsServers(file)...)
		}

		for _, what := range found {
			t.Errorf("%s starts things itself, by %s: dev/stack does that", name, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if services == 0 || servers == 0 {
		t.Error("dev/stack does not start the services or what they stand on, or the test does not see it")
	}
}

// startsServices lists what a file uses to start worker or API: their packages, or the names with which they are built.
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

// startsServers lists the functions in a file that start servers and simulators.
func startsServers(file *ast.File) (found []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok && starts.MatchString(of.Name+"."+selector.Sel.Name) {
				found = append(found, of.Name+"."+selector.Sel.Name)
			}
		}
		return true
	})
	return found
}
