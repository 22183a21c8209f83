package bot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// network takes away what the old name of the coin may still stand in.
var network = strings.NewReplacer("TON network", "", "Сеть TON", "", "(ex TON)", "", "(бывший TON)", "")

var placeholder = regexp.MustCompile(`%[.0-9]*[a-z%]`)

// literals gives the strings of all texts in a source file: pairs of English and Russian.
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
	for _, file := range []string{"texts.go", "texts_faults.go", "texts_tasks.go", "texts_downloads.go", "texts_transactions.go"} {
		pairs = append(pairs, literals(t, file)...)
	}
	if len(pairs) < 80 {
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

func TestEveryFaultHasWords(t *testing.T) {
	t.Parallel()
	tree, err := parser.ParseFile(token.NewFileSet(), "../../internal/fault/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(tree, func(n ast.Node) bool {
		if value, ok := n.(*ast.BasicLit); ok && value.Kind == token.STRING {
			code, _ := strconv.Unquote(value.Value)
			codes++
			words, known := faultTexts[fault.Code(code)]
			if !known {
				t.Errorf("%s has no words", code)
			}
			if strings.ContainsAny(words.en+words.ru, "<>&%") {
				t.Errorf("the words of %s are not plain", code)
			}
		}
		return true
	})
	if codes < 40 {
		t.Errorf("only %d codes were found", codes)
	}
}

func TestButtonsFitAndLeadSomewhere(t *testing.T) {
	t.Parallel()
	b := New(Options{})
	seen := map[string]bool{}
	for _, button := range b.buttons {
		if seen[button.prefix] || b.commandNamed(button.command).run == nil {
			t.Errorf("button %q is there twice, or stands for no command", button.prefix)
		}
		seen[button.prefix] = true
	}
	const longest = 1<<63 - 1
	where := place{folder: longest, page: 9999}
	if data := press("x", "d", int64(longest), newNonce(), where)[0].CallbackData; len(data) > 64 {
		t.Errorf("%q has %d bytes", data, len(data))
	}
	if again := placeOf(strings.Split(where.String(), ":")); again != where {
		t.Errorf("%v became %v", where, again)
	}
}
