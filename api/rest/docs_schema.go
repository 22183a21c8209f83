package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
)

// named gives the schema that a reference points at.
func (r reader) named(s *huma.Schema) *docsSchema {
	shown := r.schema(strings.TrimPrefix(s.Ref, server.SchemaPrefix), r.resolve(s))
	return &shown
}

func (r reader) schema(name string, s *huma.Schema) docsSchema {
	shown := docsSchema{Name: name}
	for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
		shown.Fields = append(shown.Fields, r.field(property, s.Properties[property], slices.Contains(s.Required, property)))
	}
	example, err := json.MarshalIndent(r.example(s), "", "  ")
	if err != nil {
		panic(fmt.Sprintf("the example of %s cannot be written: %v", name, err)) // a fault of this package, found at start
	}
	shown.Example = string(example)
	return shown
}

func (r reader) field(name string, s *huma.Schema, required bool) docsField {
	description := s.Description
	if len(s.Enum) > 0 {
		var values []string
		for _, value := range s.Enum {
			values = append(values, "`"+text(value)+"`")
		}
		description = sentence(description, "One of "+strings.Join(values, ", "))
	}

	if s.Minimum != nil && s.Maximum != nil {
		description = sentence(description, fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum))
	}

	if pattern := s.Extensions[patternField]; pattern != nil {
		description = sentence(description, text(pattern))
	}

	if s.Default != nil {
		description = sentence(description, fmt.Sprintf("Default `%v`", s.Default))
	}
	return docsField{Name: name, Type: r.typeOf(s), Description: description, Required: required}
}

func (r reader) typeOf(s *huma.Schema) string {
	var kind string
	switch {
	case s.Ref != "":
		kind = strings.TrimPrefix(s.Ref, server.SchemaPrefix)
	case len(s.AnyOf) > 0:
		var kinds []string
		for _, one := range s.AnyOf {
			kinds = append(kinds, r.typeOf(one))
		}
		kind = strings.Join(kinds, " or ")
	case s.Type == huma.TypeArray:
		kind = "list of " + r.typeOf(s.Items)
	case s.Format == "date-time":
		kind = "time"
	default:
		kind = s.Type
	}

	if s.Nullable {
		kind += " or null"
	}
	return kind
}

// example makes a value that a schema admits, out of the examples of its parts.
func (r reader) example(s *huma.Schema) any {
	s = r.resolve(s)
	switch {
	case len(s.Examples) > 0:
		return s.Examples[0]
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case s.Nullable:
		return nil
	case s.Type == huma.TypeArray:
		return []any{r.example(s.Items)}
	case s.Type == huma.TypeObject:
		object := map[string]any{}
		for name, property := range s.Properties {
			object[name] = r.example(property)
		}
		return object
	case s.Type == huma.TypeBoolean:
		return false
	case s.Type == huma.TypeInteger, s.Type == huma.TypeNumber:
		return 0
	}

	return ""
}

func (r reader) resolve(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return r.schemas.SchemaFromRef(s.Ref)
	}
	return s
}

func sentence(before, more string) string {
	if before == "" {
		return more
	}
	return before + ". " + more
}

func text(value any) string { return fmt.Sprint(value) }
