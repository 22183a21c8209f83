package rest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
)

// SchemaName returns the name of a response's schema; empty if the response is not JSON.
func (d docs) SchemaName(media *huma.MediaType) string {
	if media.Schema == nil {
		return ""
	}
	return strings.TrimPrefix(media.Schema.Ref, server.SchemaPrefix)
}

// Example returns JSON that is valid for a schema.
func (d docs) Example(s *huma.Schema) (string, error) {
	example, err := json.MarshalIndent(d.example(s), "", "  ")
	return string(example), err
}

// Requires reports whether a field is required.
func (d docs) Requires(s *huma.Schema, field string) bool { return slices.Contains(s.Required, field) }

// About describes the values of a schema.
func (d docs) About(s *huma.Schema) string {
	var sentences []string
	if s.Description != "" {
		sentences = append(sentences, s.Description)
	}

	if len(s.Enum) > 0 {
		values := shape.List(s.Enum, func(value any) string { return fmt.Sprintf("`%v`", value) })
		sentences = append(sentences, "One of "+strings.Join(values, ", "))
	}

	if s.Minimum != nil && s.Maximum != nil {
		sentences = append(sentences, fmt.Sprintf("%v to %v", *s.Minimum, *s.Maximum))
	}

	if pattern := s.Extensions[patternField]; pattern != nil {
		sentences = append(sentences, fmt.Sprint(pattern))
	}

	if s.Default != nil {
		sentences = append(sentences, fmt.Sprintf("Default `%v`", s.Default))
	}
	return strings.Join(sentences, ". ")
}

// Type names the type of a schema's values.
func (d docs) Type(s *huma.Schema) string {
	var kind string
	switch {
	case s.Ref != "":
		kind = strings.TrimPrefix(s.Ref, server.SchemaPrefix)
	case len(s.AnyOf) > 0:
		kind = strings.Join(shape.List(s.AnyOf, d.Type), " or ")
	case s.Type == huma.TypeArray:
		kind = "list of " + d.Type(s.Items)
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

// example builds a value that is valid for a schema from the examples of its parts.
func (d docs) example(s *huma.Schema) any {
	s = d.resolve(s)
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
		return []any{d.example(s.Items)}
	case s.Type == huma.TypeObject:
		object := map[string]any{}
		for name, property := range s.Properties {
			object[name] = d.example(property)
		}
		return object
	case s.Type == huma.TypeBoolean:
		return false
	case s.Type == huma.TypeInteger, s.Type == huma.TypeNumber:
		return 0
	}

	return ""
}

func (d docs) resolve(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return d.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}
