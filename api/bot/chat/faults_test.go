package chat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

func TestEveryFaultHasWords(t *testing.T) {
	t.Parallel()
	tree, err := parser.ParseFile(token.NewFileSet(), "../../../internal/fault/codes.go", nil, 0)
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
			if strings.ContainsAny(words[0]+words[1], "<>&%") {
				t.Errorf("the words of %s are not plain", code)
			}
		}
		return true
	})
	if codes < 40 {
		t.Errorf("only %d codes were found", codes)
	}
}
