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

// ID is the id of an entity.
type ID string

// Seconds is how long a call may wait.
type Seconds int

// MaxWait is how long a call may wait for something to happen, in seconds. It is below the timeout of common clients.
const MaxWait = 25

// Limit is the maximum number of items in a list.
type Limit int

// Key is an idempotency key.
type Key string

// schemas are those of types that need more than their Go kind.
var schemas = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[ID]():        {Type: "string", Pattern: `^[1-9]\d{0,18}$`},
	reflect.TypeFor[Seconds]():   {Type: "integer", Minimum: new(0.0), Maximum: new(float64(MaxWait))},
	reflect.TypeFor[Limit]():     {Type: "integer", Minimum: new(1.0), Maximum: new(100.0)},
	reflect.TypeFor[Key]():       {Type: "string", Pattern: "^[!-~]{1,255}$"},
	reflect.TypeFor[Text]():      {Type: "string"},
	reflect.TypeFor[JSON]():      {},
	reflect.TypeFor[time.Time](): {Type: "string"},
}

// Enum restricts a text type to the given values, in the schemas of all tools.
func Enum[T ~string](values ...T) bool {
	s := &jsonschema.Schema{Type: "string"}
	for _, value := range values {
		s.Enum = append(s.Enum, string(value))
	}
	schemas[reflect.TypeFor[T]()] = s
	return true
}

// Pattern restricts a text type to a pattern, in the schemas of all tools.
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

// outputOf returns the schema of a result: its fields and their types. It has neither enums nor the list of required
// fields, because agents pay for it with each list of the tools, and a later version may add fields.
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

// shallow removes the fields of list items.
func shallow(s *jsonschema.Schema) *jsonschema.Schema {
	walk(s, func(s *jsonschema.Schema) {
		if s.Items != nil {
			s.Items = &jsonschema.Schema{Type: s.Items.Type}
		}
	})
	return s
}

// withoutNull returns a schema's types without null: missing fields are omitted.
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

// read validates and decodes a call's arguments. It refuses them as the API refuses a body.
func read[In any](schema *jsonschema.Resolved, arguments json.RawMessage) (in In, err error) {
	if len(bytes.TrimSpace(arguments)) == 0 || string(bytes.TrimSpace(arguments)) == "null" {
		arguments = json.RawMessage("{}")
	}

	plain, err := decode(arguments)
	if err != nil {
		return in, fault.Invalid("arguments", "these arguments are not JSON")
	}
	plain = lenient(schema.Schema(), plain)
	if _, isObject := plain.(map[string]any); !isObject {
		return in, fault.Invalid("arguments", "the arguments of a tool are an object")
	}

	if err := schema.Validate(plain); err != nil {
		return in, misfit(err)
	}
	if arguments, err = json.Marshal(plain); err != nil {
		return in, err
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

// misfit converts a schema validation error to a fault.
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

	message := strings.ReplaceAll(place.ReplaceAllString(text, ""), "<invalid reflect.Value>", "null")
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
