package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"stagecoach/internal/fault"
)

// ID names a thing of the record.
type ID string

// Seconds is how long a call may wait.
type Seconds int

// MaxWait is how long a call may wait for something to happen. It is below the patience of common clients.
const MaxWait = 25

// Limit is how many items a list gives.
type Limit int

// Key makes a change that is sent twice one change.
type Key string

// schemas are those of types that say more than their kind.
var schemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[ID]():        {Type: "string", Pattern: `^[1-9]\d{0,18}$`},
	reflect.TypeFor[Seconds]():   {Type: "integer", Minimum: new(0.0), Maximum: new(float64(MaxWait))},
	reflect.TypeFor[Limit]():     {Type: "integer", Minimum: new(1.0), Maximum: new(100.0)},
	reflect.TypeFor[Key]():       {Type: "string", Pattern: "^[!-~]{1,255}$"},
	reflect.TypeFor[Text]():      {Type: "string"},
	reflect.TypeFor[JSON]():      {},
	reflect.TypeFor[time.Time](): {Type: "string"},
}

func enum[T ~string](values ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, value := range values {
		s.Enum = append(s.Enum, string(value))
	}
	return s
}

// Enum gives a type of text the values that it may have, in the schemas of all tools.
func Enum[T ~string](values ...T) bool {
	schemas[reflect.TypeFor[T]()] = enum(values...)
	return true
}

// Pattern gives a type of text the form that it must have, in the schemas of all tools.
func Pattern[T ~string](pattern string) bool {
	schemas[reflect.TypeFor[T]()] = &jsonschema.Schema{Type: "string", Pattern: pattern}
	return true
}

func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: schemas})
	if err != nil {
		panic(err) // the types are ours
	}
	return s
}

func inputOf[T any]() *jsonschema.Schema {
	s := schemaOf[T]()
	walk(s, func(s *jsonschema.Schema) { s.Types, s.Type = withoutNull(s) })
	return s
}

// listed gives the schema of arguments as agents see it: without forms, which are those of what answers have.
func listed(input *jsonschema.Schema) *jsonschema.Schema {
	s := input.CloneSchemas()
	walk(s, func(s *jsonschema.Schema) { s.Pattern = "" })
	return s
}

// outputOf gives the schema of an answer: its fields and their types. It says neither which are always there nor which
// values they have, because agents pay for it with each list of the tools, and a later version may add fields.
func outputOf[T any]() *jsonschema.Schema {
	s := schemaOf[T]()
	walk(s, func(s *jsonschema.Schema) {
		s.Types, s.Type = withoutNull(s)
		s.Pattern, s.Enum, s.Minimum, s.Maximum, s.Required = "", nil, nil, nil, nil
		if s.Properties != nil {
			s.AdditionalProperties = nil
		}
	})
	return s
}

// shallow forgets what the items of lists have.
func shallow(s *jsonschema.Schema) *jsonschema.Schema {
	walk(s, func(s *jsonschema.Schema) {
		if s.Items != nil {
			s.Items = &jsonschema.Schema{Type: s.Items.Type}
		}
	})
	return s
}

// withoutNull gives a schema's types without null: what is missing is left out.
func withoutNull(s *jsonschema.Schema) (types []string, one string) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		return nil, s.Types[1]
	}
	return s.Types, s.Type
}

func walk(s *jsonschema.Schema, visit func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	visit(s)
	walk(s.Items, visit)
	walk(s.AdditionalProperties, visit)
	for _, property := range s.Properties {
		walk(property, visit)
	}
}

func resolve(s *jsonschema.Schema) *jsonschema.Resolved {
	resolved, err := s.Resolve(nil)
	if err != nil {
		panic(err) // the types are ours
	}
	return resolved
}

// read gives the arguments of a call, or refuses them as the API refuses a body.
func read[In any](schema *jsonschema.Resolved, arguments json.RawMessage) (in In, err error) {
	if len(bytes.TrimSpace(arguments)) == 0 || string(bytes.TrimSpace(arguments)) == "null" {
		arguments = json.RawMessage("{}")
	}

	var plain any
	if err := json.Unmarshal(arguments, &plain); err != nil {
		return in, fault.Invalid("arguments", "these arguments are not JSON")
	}
	if _, isObject := plain.(map[string]any); !isObject {
		return in, fault.Invalid("arguments", "the arguments of a tool are an object")
	}

	if err := schema.Validate(plain); err != nil {
		return in, misfit(err)
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		wrong, _ := errors.AsType[*json.UnmarshalTypeError](err)
		if wrong == nil {
			return in, fault.Invalid("arguments", "these arguments cannot be read")
		}
		return in, fault.Invalid(wrong.Field, "this is not the JSON that was expected")
	}

	return in, nil
}

var (
	place   = regexp.MustCompile(`validating [^:]*: `)
	unknown = regexp.MustCompile(`unexpected additional properties \["([^"]*)"`)
	absent  = regexp.MustCompile(`missing properties: \["([^"]*)"`)
)

// misfit makes a fault of what does not fit a schema.
func misfit(err error) error {
	text := err.Error()
	var path []string
	for _, at := range place.FindAllString(text, -1) {
		at = strings.TrimSuffix(strings.TrimPrefix(at, "validating "), ": ")
		for _, step := range strings.Split(at, "/") {
			switch step {
			case "", "root", "properties", "items", "additionalProperties":
			default:
				path = append(path, step)
			}
		}
	}

	message := place.ReplaceAllString(text, "")
	if found := unknown.FindStringSubmatch(text); found != nil {
		path, message = append(path, found[1]), "this argument is not known"
	} else if found := absent.FindStringSubmatch(text); found != nil {
		path, message = append(path, found[1]), "is required"
	}
	return fault.Invalid(shortened(strings.Join(path, ".")), "%s", shortened(message))
}

func shortened(text string) string {
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return text
}
