package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"pgregory.net/rapid"
)

// sample is a body with every construct that operations' bodies use.
type sample struct {
	Name   string          `json:"name" minLength:"2" maxLength:"5"`
	Kind   string          `json:"kind,omitempty" enum:"a,b"`
	Count  *int            `json:"count,omitempty" minimum:"1" maximum:"9"`
	Owner  *string         `json:"owner,omitempty" nullable:"true" pattern:"^[0-9]+$"`
	Labels []string        `json:"labels,omitempty" minItems:"1" maxItems:"4" maxLength:"3"`
	Parts  []samplePart    `json:"parts" maxItems:"4"`
	Inner  *samplePart     `json:"inner,omitempty"`
	Any    json.RawMessage `json:"any,omitempty"`
	Even   bool            `json:"even,omitempty"`
}

type samplePart struct {
	Ref string   `json:"ref" maxLength:"3"`
	On  []string `json:"on,omitempty" maxItems:"2"`
}

// TestBodiesAreCheckedAsHumaDoes compares our validation with huma's, on bodies with few errors.
func TestBodiesAreCheckedAsHumaDoes(t *testing.T) {
	t.Parallel()
	schemas := huma.NewMapRegistry(SchemaPrefix, schemaName)
	schema := schemas.Schema(reflect.TypeFor[sample](), true, "")
	names := []string{"name", "kind", "count", "owner", "labels", "parts", "inner", "any", "even", "ref", "on", "x", "NAME"}

	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		simple := rapid.SampledFrom([]any{nil, true, "", "a", "abc", "abcdefgh", "1", 0., 1., 5., 10., 1.5, "ё"})
		if depth == 0 {
			return simple
		}
		return rapid.OneOf(
			simple, simple,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(list []any) any { return list }),
			rapid.Map(rapid.MapOfN(rapid.SampledFrom(names), value(depth-1), 0, 6), func(m map[string]any) any { return m }),
		)
	}

	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(value(3).Draw(t, "body"))
		if err != nil {
			t.Fatal(err)
		}

		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}

		var theirs huma.ValidateResult
		huma.Validate(schemas, schema, huma.NewPathBuffer([]byte("body"), 4), huma.ModeWriteToServer, tree, &theirs)
		ours, err := checkBody(schemas, schema, text)
		if err != nil {
			t.Fatal(err)
		}

		if len(ours) > maxErrors || (len(ours) == 0) != (len(theirs.Errors) == 0) {
			t.Fatalf("%s: %d errors, and %d of huma's", text, len(ours), len(theirs.Errors))
		}

		told := func(errs []error) (all []string) {
			for _, err := range errs {
				detail := err.(*huma.ErrorDetail)
				all = append(all, fmt.Sprint(detail.Location, ": ", detail.Message))
			}
			return all
		}

		known := told(theirs.Errors)
		for _, one := range told(ours) {
			if !slices.Contains(known, one) {
				t.Fatalf("%s: %q is none of huma's errors:\n%q", text, one, known)
			}
		}
		if whole := told(ours); len(theirs.Errors) < maxErrors && len(whole) != len(known) && !slices.ContainsFunc(whole, isTooLong) {
			t.Fatalf("%s: %q, but huma finds %q", text, whole, known)
		}
	})
}

func isTooLong(told string) bool {
	return slices.ContainsFunc([]string{"length <= 2", "length <= 4"}, func(end string) bool {
		return len(told) > len(end) && told[len(told)-len(end):] == end
	})
}
