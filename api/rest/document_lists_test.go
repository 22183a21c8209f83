package rest_test

import (
	"slices"
	"testing"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// TestEnumsFollowTheLists compares each enum of workloads or scopes in the document with the program's list: Go's
// struct tags cannot be generated from lists.
func TestEnumsFollowTheLists(t *testing.T) {
	t.Parallel()
	var scopes []string
	for _, scope := range account.Scopes {
		scopes = append(scopes, string(scope))
	}

	enums := enumsIn(newDocumentRules(t).document)
	for _, list := range [][]string{lifecycle.Names(), scopes} {
		found := 0
		for _, enum := range enums {
			if !slices.Contains(enum, list[0]) || !slices.Contains(enum, list[1]) {
				continue
			}

			found++
			slices.Sort(enum)
			if !slices.Equal(enum, slices.Sorted(slices.Values(list))) {
				t.Errorf("an enum names %v, the list %v", enum, list)
			}
		}
		if found < 3 {
			t.Errorf("found %d enums of %v only", found, list)
		}
	}
}

// enumsIn returns all string enums in a part of the document.
func enumsIn(part any) (enums [][]string) {
	switch part := part.(type) {
	case []any:
		for _, one := range part {
			enums = append(enums, enumsIn(one)...)
		}
	case map[string]any:
		for name, one := range part {
			values, isList := one.([]any)
			if name != "enum" || !isList {
				enums = append(enums, enumsIn(one)...)
				continue
			}

			var enum []string
			for _, value := range values {
				text, _ := value.(string)
				enum = append(enum, text)
			}
			enums = append(enums, enum)
		}
	}
	return enums
}
