package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// maxErrors is how many invalid fields a response lists.
const maxErrors = 20

// errEnough ends the validation of a body early.
var errEnough = errors.New("the body is wrong enough")

// checker validates a JSON text against a schema while reading it, so that its memory does not depend on the text. It
// stops at maxErrors errors, and skips the items of a list that is too long. Huma's own validation builds a tree of all
// values and an error for each invalid one. Huma still validates single values, and words all messages.
type checker struct {
	schemas huma.Registry
	text    []byte
	reader  *json.Decoder
	path    []byte // of the current value, in huma's notation
	found   huma.ValidateResult
}

// checkBody validates a well-formed JSON text. An error means that Go cannot read the text, for example a number that
// is out of range.
func checkBody(schemas huma.Registry, schema *huma.Schema, text []byte) ([]error, error) {
	c := &checker{schemas: schemas, text: text, reader: json.NewDecoder(bytes.NewReader(text)), path: []byte("body")}
	if err := c.value(schema, false); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return c.found.Errors, nil
}

// value reads the next value. An optional one may be null.
func (c *checker) value(s *huma.Schema, optional bool) error {
	for s.Ref != "" {
		s = c.schemas.SchemaFromRef(s.Ref)
	}

	first := c.first()
	if first == '{' && s.Type == huma.TypeObject || first == '[' && s.Type == huma.TypeArray {
		if _, err := c.reader.Token(); err != nil {
			return err
		}
		if first == '{' {
			return c.object(s)
		}
		return c.array(s)
	}
	return c.whole(s, optional)
}

// first peeks at the first character of the next value.
func (c *checker) first() byte {
	rest := bytes.TrimLeft(c.text[c.reader.InputOffset():], " \t\r\n:,")
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

// whole reads a value without descending into it. An empty list or object stands for one where the schema has another
// type, or any.
func (c *checker) whole(s *huma.Schema, optional bool) error {
	var raw json.RawMessage
	if err := c.reader.Decode(&raw); err != nil {
		return err
	}

	var value any
	switch raw[0] {
	case '{':
		value = map[string]any{}
	case '[':
		value = []any{}
	default:
		if err := json.Unmarshal(raw, &value); err != nil {
			return err
		}
	}

	if value == nil && optional {
		return nil
	}
	return c.check(s, value)
}

// object reads the fields of an object, after its brace.
func (c *checker) object(s *huma.Schema) error {
	there := map[string]bool{} // fields that the schema has

	for c.reader.More() {
		token, err := c.reader.Token()
		if err != nil {
			return err
		}

		name := token.(string)
		if err := c.under("."+name, func() error { return c.field(s, name) }); err != nil {
			return err
		}

		if s.Properties[name] != nil {
			there[name] = true
		}
	}

	for _, name := range s.Required {
		if !there[name] {
			if err := c.add(fmt.Sprintf(validation.MsgExpectedRequiredProperty, name)); err != nil {
				return err
			}
		}
	}

	_, err := c.reader.Token() // the closing brace
	return err
}

// field reads the value of a field.
func (c *checker) field(s *huma.Schema, name string) error {
	if property := s.Properties[name]; property != nil {
		return c.value(property, s.Nullable || !slices.Contains(s.Required, name))
	}

	if others, described := s.AdditionalProperties.(*huma.Schema); described {
		return c.value(others, false)
	}

	if allowed, said := s.AdditionalProperties.(bool); said && !allowed {
		if err := c.add(validation.MsgUnexpectedProperty); err != nil {
			return err
		}
	}

	var ignored json.RawMessage
	return c.reader.Decode(&ignored)
}

// array reads the items of a list, after its bracket.
func (c *checker) array(s *huma.Schema) error {
	if most := s.MaxItems; most != nil && hasMore(c.text[c.reader.InputOffset():], *most) {
		if err := c.checkLength(s, *most+1); err != nil {
			return err
		}
		return errEnough
	}

	length := 0
	for ; c.reader.More(); length++ {
		at := "[" + strconv.Itoa(length) + "]"
		if err := c.under(at, func() error { return c.value(s.Items, false) }); err != nil {
			return err
		}
	}

	if _, err := c.reader.Token(); err != nil { // the closing bracket
		return err
	}
	return c.checkLength(s, length)
}

// checkLength validates the length of a list.
func (c *checker) checkLength(s *huma.Schema, length int) error {
	if s.MinItems == nil && s.MaxItems == nil {
		return nil
	}
	empty := *s
	empty.Items = &huma.Schema{} // any item is valid
	return c.check(&empty, make([]any, length))
}

// check validates one value.
func (c *checker) check(s *huma.Schema, value any) error {
	path := huma.NewPathBuffer(slices.Clone(c.path), len(c.path))
	huma.Validate(c.schemas, s, path, huma.ModeWriteToServer, value, &c.found)
	return c.enough()
}

// add records an error about the current value.
func (c *checker) add(message string) error {
	c.found.Errors = append(c.found.Errors, &huma.ErrorDetail{Message: message, Location: string(c.path)})
	return c.enough()
}

// enough ends the validation when no more errors are reported.
func (c *checker) enough() error {
	if len(c.found.Errors) < maxErrors {
		return nil
	}
	c.found.Errors = c.found.Errors[:maxErrors]
	return errEnough
}

// under reads what is one step below the current path.
func (c *checker) under(step string, read func() error) error {
	length := len(c.path)
	c.path = append(c.path, step...)
	err := read()
	c.path = c.path[:length]
	return err
}

// hasMore reports whether a list has more than most items. The text begins after the list's bracket, and is valid.
func hasMore(text []byte, most int) bool {
	depth, quoted, commas, empty := 0, false, 0, true
	for i := 0; i < len(text); i++ {
		b := text[i]
		switch {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted, empty = !quoted, false
		case quoted || b == ' ' || b == '\t' || b == '\r' || b == '\n':
		case b == '[' || b == '{':
			depth, empty = depth+1, false
		case (b == ']' || b == '}') && depth == 0:
			return !empty && commas+1 > most
		case b == ']' || b == '}':
			depth--
		case b == ',' && depth == 0:
			if commas++; commas >= most { // an item follows each comma
				return true
			}
		default:
			empty = false
		}
	}
	return false
}
