package bot

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"stagecoach/api/parts"
	"stagecoach/internal/fault"
	"stagecoach/internal/service/all"
	"stagecoach/internal/store"
)

// newWithoutRecord returns a bot that has only its texts.
func newWithoutRecord() *Bot {
	record := &store.Store{}
	return New(Options{Store: record, Parts: parts.Bot(all.Services{}, nil, record)})
}

func TestEveryAlertHasWords(t *testing.T) {
	t.Parallel()
	texts := newWithoutRecord().texts
	for kind := range texts.Alerts {
		if _, known := texts.AlertsOver[kind]; !known {
			t.Errorf("%s has no words for its end", kind)
		}
	}

	for _, kind := range store.Parts.AlertKinds() {
		if _, known := texts.Alerts[kind.Name]; !known {
			t.Errorf("%s has no words", kind.Name)
		}
	}
}

// TestEveryFaultHasWords reads the codes from the source, so that a new one cannot be forgotten.
func TestEveryFaultHasWords(t *testing.T) {
	t.Parallel()
	faults := newWithoutRecord().texts.Faults
	files, err := filepath.Glob("../../internal/fault/*.go")
	if err != nil {
		t.Fatal(err)
	}

	codes := 0
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(tree, func(n ast.Node) bool {
			constant, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if kind, ok := constant.Type.(*ast.Ident); !ok || kind.Name != "Code" {
				return false
			}

			code, _ := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			codes++
			words, known := faults[fault.Code(code)]
			if !known {
				t.Errorf("%s has no words", code)
			}
			if strings.ContainsAny(words[0]+words[1], "<>&%") {
				t.Errorf("the words of %s are not plain", code)
			}
			return false
		})
	}

	if codes < 100 {
		t.Errorf("only %d codes were found", codes)
	}
}
