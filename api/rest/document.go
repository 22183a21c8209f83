package rest

import (
	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
)

// patternField describes a pattern in words. It is an extension, as OpenAPI has no such field.
const patternField = "x-pattern-description"

// openAnswers lets the schemas of answers have more fields than they name: later versions will add some. Those of
// requests, and of what lies in them, stay as strict as they are checked.
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

// extendPatterns writes what patterns mean as an extension: huma writes it as a field that OpenAPI does not have, which
// linters and generators refuse. Huma's own messages are made when an operation is registered, and stay as they are.
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

// operationsOf gives the operations of a path.
func operationsOf(item *huma.PathItem) (operations []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil {
			operations = append(operations, op)
		}
	}
	return operations
}

// eachSchema gives a schema and all that lie in it to a function. It follows no references.
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
