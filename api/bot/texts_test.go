package bot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// network removes the phrases that may still contain the coin's old name.
var network = strings.NewReplacer("TON network", "", "Сеть TON", "", "(ex TON)", "", "(бывший TON)", "")

var placeholder = regexp.MustCompile(`%[.0-9]*[a-z%]`)

// literals returns the strings of all texts in a source file: pairs of English and Russian.
func literals(t *testing.T, file string) (pairs [][2]string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok || len(literal.Elts) != 2 {
			return true
		}
		var pair [2]string
		for i, element := range literal.Elts {
			value, ok := element.(*ast.BasicLit)
			if !ok {
				return true
			}
			if pair[i], err = strconv.Unquote(value.Value); err != nil {
				t.Fatal(err)
			}
		}
		pairs = append(pairs, pair)
		return true
	})
	return pairs
}

func TestTextsAgreeInBothLanguages(t *testing.T) {
	t.Parallel()
	var pairs [][2]string
	for _, pattern := range []string{"*.go", "*/*.go", "../words/*.go", "../web/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				pairs = append(pairs, literals(t, file)...)
			}
		}
	}
	if len(pairs) < 300 {
		t.Fatalf("only %d texts were found", len(pairs))
	}
	for _, pair := range pairs {
		if en, ru := placeholder.FindAllString(pair[0], -1), placeholder.FindAllString(pair[1], -1); !slices.Equal(en, ru) {
			t.Errorf("%q and %q take different values", pair[0], pair[1])
		}
		for _, said := range pair {
			if strings.Contains(network.Replace(said), "TON") {
				t.Errorf("%q calls the coin by its old name", said)
			}
			for _, secret := range []string{"Yandex", "Яндекс", "disk:", "Temporal", "Postgres"} {
				if said == "" || strings.Contains(said, secret) {
					t.Errorf("people should not read %q", said)
				}
			}
		}
	}
}

func TestButtonsLeadSomewhere(t *testing.T) {
	t.Parallel()
	b := newWithoutRecord()
	seen := map[string]bool{}
	for _, button := range b.buttons {
		if seen[button.Prefix] || b.commandNamed(button.Command).Run == nil {
			t.Errorf("button %q is there twice, or stands for no command", button.Prefix)
		}
		seen[button.Prefix] = true
	}
}
