package rest

import (
	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
)

// patternField is the extension that describes a pattern in words: OpenAPI has no such field.
const patternField = "x-pattern-description"

// openAnswers lets response schemas have additional fields: later versions will add some. Request schemas, and those
// nested in them, stay as strict as the validation.
func openAnswers(api *huma.OpenAPI) {
	strict := map[string]bool{}
	var mark func(*huma.Schema)
	mark = func(s *huma.Schema) {
		switch {
		case s == nil || strict[s.Ref]:
		case s.Ref != "":
			strict[s.Ref] = true
			mark(api.Components.Schemas.SchemaFromRef(s.Ref))
		default:
			mark(s.Items)
			for _, property := range s.Properties {
				mark(property)
			}
		}
	}

	for _, item := range api.Paths {
		for _, op := range []*huma.Operation{item.Post, item.Put, item.Patch} {
			if op != nil && op.RequestBody != nil {
				mark(op.RequestBody.Content["application/json"].Schema)
			}
		}
	}

	for name, schema := range api.Components.Schemas.Map() {
		if !strict[server.SchemaPrefix+name] {
			schema.AdditionalProperties = nil
		}
	}
}

// extendPatterns moves pattern descriptions to an extension: huma writes them to a field that OpenAPI does not have,
// which linters and generators reject. Huma's own messages are built when an operation is registered, and do not
// change.
func extendPatterns(api *huma.OpenAPI) {
	extend := func(s *huma.Schema) {
		if s.PatternDescription == "" {
			return
		}
		if s.Extensions == nil {
			s.Extensions = map[string]any{}
		}
		s.Extensions[patternField], s.PatternDescription = s.PatternDescription, ""
	}

	for _, item := range api.Paths {
		for _, op := range operationsOf(item) {
			for _, parameter := range op.Parameters {
				eachSchema(parameter.Schema, extend)
			}
		}
	}

	for _, schema := range api.Components.Schemas.Map() {
		eachSchema(schema, extend)
	}
}

// operationsOf returns the operations of a path.
func operationsOf(item *huma.PathItem) (operations []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil {
			operations = append(operations, op)
		}
	}
	return operations
}

// eachSchema calls a function with a schema and all schemas nested in it. It does not follow references.
func eachSchema(s *huma.Schema, do func(*huma.Schema)) {
	if s == nil {
		return
	}

	do(s)

	eachSchema(s.Items, do)
	for _, property := range s.Properties {
		eachSchema(property, do)
	}

	for _, one := range s.AnyOf {
		eachSchema(one, do)
	}
}
