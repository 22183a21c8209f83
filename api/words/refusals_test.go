package words

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	invalid = regexp.MustCompile(`fault\.Invalid\("(\w+)", "((?:[^"\\]|\\.)+)"`)
	verb    = regexp.MustCompile(`%[a-z]`)
	latin   = regexp.MustCompile(`[A-Za-z]{4,}`)
)

// fromPrograms are refusals that only programs get: no form has the field.
var fromPrograms = map[string]bool{
	"source": true, "sources": true, "media_type": true, "content": true, "kind": true, "destination": true,
	"valid_until": true, "returned_nano": true, "amount_nano": true, "actor": true, "path": true, "arguments": true,
	"workload": true, "workloads": true, "before": true, "after": true,
}

// TestRefusalsAreInRussian collects the messages of services and the API about fields, and expects each in both
// languages.
func TestRefusalsAreInRussian(t *testing.T) {
	t.Parallel()
	said := []string{
		"is required", "expected length >= 5", "expected length <= 200", "expected number >= 50", "expected number <= 9", "invalid integer",
		"expected integer", `expected value to be one of "low, high"`, "expected string to match pattern ^[0-9]+$", "this is not an id",
		"expected array length <= 9",
	}
	for _, dir := range []string{"../../internal", "../rest"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, found := range invalid.FindAllStringSubmatch(string(source), -1) {
				if !fromPrograms[found[1]] {
					said = append(said, verb.ReplaceAllString(strings.ReplaceAll(found[2], `%q`, `"x"`), "7"))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(said) < 50 {
		t.Fatalf("only %d refusals were found", len(said))
	}
	for _, message := range said {
		russian := FieldRefusal(Russian, message)
		if rest := strings.NewReplacer("https", "", "JSON", "", "magnet", "").Replace(russian); latin.MatchString(rest) || strings.HasPrefix(russian, "Недопустимое") {
			t.Errorf("%q is %q in Russian", message, russian)
		}
		if english := FieldRefusal(English, message); strings.Contains(english, "%!") || strings.Contains(russian, "%!") {
			t.Errorf("%q: %q, %q", message, english, russian)
		}
	}
	if got := FieldRefusal(Russian, "something new"); got != "Недопустимое значение." {
		t.Errorf("%q", got)
	}
	if got := FieldRefusal(English, "something new"); got != "something new" {
		t.Errorf("%q", got)
	}
	if got := FieldName(Russian, "tasks[3].title"); got != "Название" || FieldName(English, "deadline-NEW") != "" {
		t.Errorf("%q", got)
	}
}
