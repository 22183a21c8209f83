package tool

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// lenient converts arguments to their schema where an agent's intention is clear: null and empty text for an omitted
// argument, numbers and booleans as text, ids as numbers, lists and objects as JSON text, a single item for a list, and
// values in a different letter case. Everything else stays as it is, and is refused.
func lenient(s *jsonschema.Schema, value any) any {
	text, isText := value.(string)
	number, isNumber := value.(json.Number)
	switch s.Type {
	case "object":
		if object, ok := parsed[map[string]any](text, isText, value); ok && s.Properties != nil {
			return lenientObject(s, object)
		}
	case "array":
		list, ok := parsed[[]any](text, isText, value)
		one := !strings.ContainsAny(text, "[,") || strings.HasPrefix(strings.TrimSpace(text), "{")
		if !ok && value != nil && value != "" && one {
			list, ok = []any{value}, true
		}
		if ok {
			for i := range list {
				list[i] = lenient(s.Items, list[i])
			}
			return list
		}
	case "integer":
		if n, err := strconv.ParseFloat(strings.TrimSpace(text+number.String()), 64); err == nil && n == float64(int64(n)) {
			return int64(n)
		}
	case "boolean":
		if is, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(text))); err == nil {
			return is
		}
	case "string":
		if isNumber {
			return number.String()
		}
		for _, one := range s.Enum {
			if known, _ := one.(string); isText && strings.EqualFold(known, strings.TrimSpace(text)) {
				return known
			}
		}
		if s.Pattern != "" && isText {
			return strings.TrimSpace(text)
		}
	}
	if isNumber && s.Type != "" {
		value, _ = number.Float64() // so that the message shows a number
	}
	return value
}

// lenientObject drops null values, and empty texts that are neither free text nor a boolean.
func lenientObject(s *jsonschema.Schema, object map[string]any) map[string]any {
	for name, value := range object {
		property, known := s.Properties[name]
		switch {
		case value == nil:
			delete(object, name)
		case !known:
		case value == "" && property.Type != "boolean" && (property.Type != "string" || property.Pattern != "" || property.Enum != nil):
			delete(object, name)
		default:
			object[name] = lenient(property, value)
		}
	}
	return object
}

// parsed returns a value of a type, or the one that a JSON text contains.
func parsed[T any](text string, isText bool, value any) (of T, ok bool) {
	if !isText {
		of, ok = value.(T)
		return of, ok
	}
	value, err := decode([]byte(text))
	if err == nil {
		of, ok = value.(T)
	}
	return of, ok
}

// decode parses JSON, keeping numbers as written.
func decode(document []byte) (value any, err error) {
	numbers := json.NewDecoder(strings.NewReader(string(document)))
	numbers.UseNumber()
	if err = numbers.Decode(&value); err != nil {
		return nil, err
	}
	if _, more := numbers.Token(); more != io.EOF {
		return nil, errors.New("something follows the JSON")
	}
	return value, nil
}
