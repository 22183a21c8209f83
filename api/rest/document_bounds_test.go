package rest_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEverythingSentIsBounded checks the input of each operation: texts have a maximum length, lists a maximum number
// of items, objects a fixed set of fields or a maximum number of them. Paths hold ids, which are read or refused as a
// whole, within the server's limit of 64 KiB for a request's head; a body has its operation's limit.
func TestEverythingSentIsBounded(t *testing.T) {
	t.Parallel()
	rules := newDocumentRules(t)
	b := bounds{documentRules: rules, seen: map[string]bool{}}

	paths := rules.document["paths"].(object)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for method, operation := range paths[path].(object) {
			b.operation(strings.ToUpper(method)+" "+path, operation.(object))
		}
	}

	if len(b.seen) < 100 {
		t.Errorf("only %d values were looked at", len(b.seen))
	}
}

type bounds struct {
	*documentRules
	seen map[string]bool
}

func (b bounds) operation(name string, operation object) {
	parameters, _ := operation["parameters"].([]any)
	for _, one := range parameters {
		parameter := one.(object)
		if parameter["in"] != "path" {
			b.value(fmt.Sprintf("%s: %s", name, parameter["name"]), parameter["schema"].(object))
		}
	}

	body, _ := operation["requestBody"].(object)
	content, _ := body["content"].(object)
	for _, media := range content {
		b.value(name+": body", media.(object)["schema"].(object))
	}
}

// patternIsOpen matches what lets a pattern accept texts of any length.
var patternIsOpen = regexp.MustCompile(`[*+]|,\}`)

// anything lists the places that accept any JSON, and what limits it there.
var anything = map[string]string{
	"POST /v1/tasks/{id}/submit: body.result": "64 KiB, and 100 levels: TestResults",
}

func (b bounds) value(place string, schema object) {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		b.value(place, b.document["components"].(object)["schemas"].(object)[name].(object))
		return
	}

	b.seen[place] = true
	if alternatives, ok := schema["anyOf"].([]any); ok {
		for _, one := range alternatives {
			b.value(place, one.(object))
		}
		return
	}

	kinds, several := schema["type"].([]any)
	if !several {
		kinds = []any{schema["type"]}
	}

	for _, kind := range kinds {
		switch kind {
		case "string":
			b.text(place, schema)
		case "array":
			if schema["maxItems"] == nil {
				b.Errorf("%s: a list without an end", place)
			}
			b.value(place+"[]", schema["items"].(object))
		case "object":
			b.object(place, schema)
		case "integer", "number", "boolean", "null":
		default:
			if anything[place] == "" {
				b.Errorf("%s: may be anything", place)
			}
		}
	}
}

// text requires a maximum length, of the text itself or of its allowed values.
func (b bounds) text(place string, schema object) {
	pattern, _ := schema["pattern"].(string)
	switch {
	case schema["maxLength"] != nil, schema["enum"] != nil, schema["format"] == "date-time":
	case strings.HasPrefix(pattern, "^") && strings.HasSuffix(pattern, "$") && !patternIsOpen.MatchString(pattern):
	default:
		b.Errorf("%s: a text without an end", place)
	}
}

func (b bounds) object(place string, schema object) {
	properties, _ := schema["properties"].(object)
	for name, property := range properties {
		b.value(place+"."+name, property.(object))
	}

	switch more := schema["additionalProperties"].(type) {
	case bool:
		if more {
			b.Errorf("%s: any fields", place)
		}
	case object:
		if schema["maxProperties"] == nil {
			b.Errorf("%s: fields without an end", place)
		}
		b.value(place+".*", more)
	default:
		b.Errorf("%s: any fields", place)
	}
}
