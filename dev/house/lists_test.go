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

// mostLists is how many files of the product may name several workloads. It only goes down, to eight.
const mostLists = 8

// ownFile matches the files of one workload: the file, or a folder above it, has its name.
var ownFile = regexp.MustCompile(`(^|[/_])(deliver(y|ies)|tasks?|downloads?|transactions?)([/_.]|$)`)

// names match each workload in an identifier, as one of its words, and in a text that is just its name.
var names = map[string]*regexp.Regexp{
	"delivery":    nameOf("deliver(?:y|ies)"),
	"task":        nameOf("tasks?"),
	"download":    nameOf("downloads?"),
	"transaction": nameOf("transactions?"),
}

func nameOf(word string) *regexp.Regexp {
	upper := strings.ToUpper(word[:1]) + word[1:]
	return regexp.MustCompile(`^"?` + word + `("?$|[A-Z0-9])|` + upper + `($|[A-Z0-9])`)
}

// otherTasks are Temporal's terms.
var otherTasks = regexp.MustCompile(`TaskQueue|WorkflowTask|ActivityTask`)

// TestFewFilesListWorkloads counts the files to which the next workload has to be added. A file that names one workload
// belongs to it, wherever it is. A file that names several is a list.
func TestFewFilesListWorkloads(t *testing.T) {
	t.Parallel()
	var lists []string
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}

		place, _ := filepath.Rel(root, name)
		place = filepath.ToSlash(place)
		switch {
		case entry.IsDir() && (place == "dev" || place == "bin" || place != "." && strings.HasPrefix(place, ".")):
			return filepath.SkipDir // development code has its own demonstrations and benches
		case entry.IsDir(), !strings.HasSuffix(place, ".go"), strings.HasSuffix(place, "_test.go"), ownFile.MatchString(place):
			return nil
		}

		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if named := namedIn(file); len(named) > 1 {
			lists = append(lists, place+": "+strings.Join(named, ", "))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	if len(lists) > mostLists {
		t.Errorf("%d files name several workloads, at most %d may:\n%s", len(lists), mostLists, strings.Join(lists, "\n"))
	}
	if !slices.ContainsFunc(lists, func(list string) bool { return strings.HasPrefix(list, "internal/lifecycle/names.go: ") }) {
		t.Error("the list of workloads is not seen")
	}
}

// namedIn lists the workloads that a file names.
func namedIn(file *ast.File) (workloads []string) {
	ast.Inspect(file, func(node ast.Node) bool {
		text := ""
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false // what an import is for shows where it is used
		case *ast.Ident:
			text = otherTasks.ReplaceAllString(node.Name, "")
		case *ast.BasicLit:
			text = strings.ReplaceAll(node.Value, "`", `"`)
		}

		for workload, name := range names {
			if name.MatchString(text) && !slices.Contains(workloads, workload) {
				workloads = append(workloads, workload)
			}
		}
		return true
	})

	slices.Sort(workloads)
	return workloads
}
