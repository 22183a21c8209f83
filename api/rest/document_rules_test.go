package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/rest"
)

// object is a JSON object of the document.
type object = map[string]any

// TestTheDocumentKeepsTheRecommendedRules asserts what OpenAPI linters recommend, modeled on Redocly's recommended
// rules.
func TestTheDocumentKeepsTheRecommendedRules(t *testing.T) {
	t.Parallel()
	rules := newDocumentRules(t)

	rules.whole()
	rules.paths()
	rules.operations()
	rules.components()
}

type documentRules struct {
	*testing.T
	document object
	text     string
}

func newDocumentRules(t *testing.T) *documentRules {
	t.Helper()
	answer := httptest.NewRecorder()
	rest.New(rest.Options{Parts: allParts}).ServeHTTP(answer, httptest.NewRequest("GET", "/openapi.json", nil))
	rules := &documentRules{T: t, text: answer.Body.String()}
	if err := json.Unmarshal(answer.Body.Bytes(), &rules.document); err != nil {
		t.Fatal(err)
	}
	return rules
}

// knownFields are the fields of OpenAPI 3.1 objects that the document may use; any other must begin with x-.
var knownFields = map[string]string{
	"document":  "openapi info servers paths components security tags",
	"info":      "title version description license",
	"server":    "url description variables",
	"operation": "operationId summary description tags parameters requestBody responses security deprecated",
	"parameter": "name in required description schema example examples explode style deprecated",
	"body":      "content required description",
	"response":  "description headers content",
	"media":     "schema example examples",
	"schema": "$ref type format title description default enum examples properties required additionalProperties items anyOf oneOf allOf not " +
		"minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern minItems maxItems uniqueItems " +
		"minProperties maxProperties contentEncoding readOnly writeOnly deprecated",
}

func (r *documentRules) fields(where, kind string, o object) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !strings.HasPrefix(name, "x-") && !slices.Contains(strings.Fields(knownFields[kind]), name) {
			r.Errorf("%s: OpenAPI knows no field %q of a %s", where, name, kind)
		}
	}
}

// whole checks the document's description of the API as a whole.
func (r *documentRules) whole() {
	r.fields("document", "document", r.document)

	info := at[object](r.document, "info")
	r.fields("info", "info", info)
	if license := at[object](info, "license"); at[string](license, "name") == "" || license["identifier"] == nil && license["url"] == nil {
		r.Errorf("the license is %v", license)
	}

	servers := at[[]any](r.document, "servers")
	if len(servers) == 0 {
		r.Error("no servers")
	}

	for _, server := range servers {
		r.fields("servers", "server", server.(object))
		url := at[string](server.(object), "url")
		if url == "" || url != "/" && strings.HasSuffix(url, "/") || strings.Contains(url, "example.com") || strings.Contains(url, "localhost") {
			r.Errorf("a server's address is %q", url)
		}
	}

	for _, tag := range at[[]any](r.document, "tags") {
		if at[string](tag.(object), "description") == "" {
			r.Errorf("the tag %v has no description", tag)
		}
	}
}

var pathVariable = regexp.MustCompile(`\{([^}]*)\}`)

// paths checks that each path is well formed, and that no request matches two of them equally well.
func (r *documentRules) paths() {
	paths := slices.Sorted(maps.Keys(at[object](r.document, "paths")))
	for i, path := range paths {
		if !strings.HasPrefix(path, "/") || path != "/" && strings.HasSuffix(path, "/") || strings.ContainsAny(path, "?#") {
			r.Errorf("the path %q is not well formed", path)
		}
		for _, other := range paths[:i] {
			if ambiguous(path, other) {
				r.Errorf("a request may match %s as well as %s", path, other)
			}
		}
	}
}

func ambiguous(a, b string) bool {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	if len(as) != len(bs) || strings.Count(a, "{") != strings.Count(b, "{") {
		return false
	}
	for i := range as {
		if as[i] != bs[i] && !pathVariable.MatchString(as[i]) && !pathVariable.MatchString(bs[i]) {
			return false
		}
	}
	return true
}

// operations checks each operation.
func (r *documentRules) operations() {
	seen := map[string]bool{}
	schemes := at[object](at[object](r.document, "components"), "securitySchemes")
	for path, item := range at[object](r.document, "paths") {
		for method, value := range item.(object) {
			operation := value.(object)
			where := strings.ToUpper(method) + " " + path
			r.fields(where, "operation", operation)

			id := at[string](operation, "operationId")
			if seen[id] || !regexp.MustCompile(`^[\w.~-]+$`).MatchString(id) {
				r.Errorf("%s: the id %q is used twice, or does not fit into a URL", where, id)
			}

			seen[id] = true
			if at[string](operation, "summary") == "" {
				r.Errorf("%s: no summary", where)
			}

			security, ok := operation["security"].([]any)
			if !ok {
				r.Errorf("%s: no security; an operation for anyone has an empty list", where)
			}

			for _, requirement := range security {
				for scheme := range requirement.(object) {
					if schemes[scheme] == nil {
						r.Errorf("%s: no security scheme %q", where, scheme)
					}
				}
			}

			r.parameters(where, path, at[[]any](operation, "parameters"))
			if body := at[object](operation, "requestBody"); body != nil {
				r.fields(where, "body", body)
				r.content(where, body)
			}

			r.responses(where, at[object](operation, "responses"))
		}
	}
}

func (r *documentRules) parameters(where, path string, parameters []any) {
	var inPath, wanted []string
	seen := map[string]bool{}
	for _, value := range parameters {
		parameter := value.(object)
		name, in := at[string](parameter, "name"), at[string](parameter, "in")
		r.fields(where, "parameter", parameter)
		r.schema(where+": "+name, at[object](parameter, "schema"))
		if seen[in+" "+name] {
			r.Errorf("%s: two parameters %s in the %s", where, name, in)
		}

		seen[in+" "+name] = true
		if in == "path" {
			inPath = append(inPath, name)
		}
	}

	for _, match := range pathVariable.FindAllStringSubmatch(path, -1) {
		wanted = append(wanted, match[1])
	}

	slices.Sort(inPath)
	slices.Sort(wanted)
	if !slices.Equal(inPath, wanted) {
		r.Errorf("%s: the parameters of the path are %v", where, inPath)
	}
}

func (r *documentRules) responses(where string, responses object) {
	classes := map[string]bool{}
	for status, value := range responses {
		response := value.(object)
		classes[status[:1]] = true
		r.fields(where+" "+status, "response", response)
		if at[string](response, "description") == "" {
			r.Errorf("%s: %s has no description", where, status)
		}
		r.content(where+" "+status, response)
	}

	if !classes["2"] || !classes["4"] {
		r.Errorf("%s: no answer of a success, or none of a mistake in the request", where)
	}
}

func (r *documentRules) content(where string, o object) {
	for kind, media := range at[object](o, "content") {
		r.fields(where+" "+kind, "media", media.(object))
		r.schema(where+" "+kind, at[object](media.(object), "schema"))
	}
}

// components checks that each schema is valid and referenced.
func (r *documentRules) components() {
	for name, schema := range at[object](at[object](r.document, "components"), "schemas") {
		if !regexp.MustCompile(`^[\w.-]+$`).MatchString(name) {
			r.Errorf("a schema is called %q", name)
		}
		if !strings.Contains(r.text, `"#/components/schemas/`+name+`"`) {
			r.Errorf("nothing refers to the schema %s", name)
		}
		r.schema(name, schema.(object))
	}
}

func (r *documentRules) schema(where string, schema object) {
	r.fields(where, "schema", schema)

	properties := at[object](schema, "properties")
	for _, name := range at[[]any](schema, "required") {
		if properties[name.(string)] == nil {
			r.Errorf("%s: %v is required, and is no property", where, name)
		}
	}

	for _, value := range at[[]any](schema, "enum") {
		if kind := typeName(value); schema["type"] != nil && !strings.Contains(fmt.Sprint(schema["type"]), kind) {
			r.Errorf("%s: %v is a %s, its schema is of type %v", where, value, kind, schema["type"])
		}
	}

	for name, property := range properties {
		r.schema(where+"."+name, property.(object))
	}

	for _, part := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[part].(object); ok {
			r.schema(where+"."+part, inner)
		}
	}

	for _, part := range []string{"anyOf", "oneOf", "allOf"} {
		for _, inner := range at[[]any](schema, part) {
			r.schema(where, inner.(object))
		}
	}
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	default:
		return "n" // integer or number
	}
}

// at returns a field of an object; the zero value if there is none of that type.
func at[T any](o object, field string) T {
	value, _ := o[field].(T)
	return value
}
