package rest_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
)

// oddNumbers are written verbatim: not every parser accepts each as a number.
var oddNumbers = []string{
	"0", "-0", "-1", "1.5", "1e2", "1E400", "-1e400", "1e-400", "32768", "2147483647", "2147483648", "-2147483649",
	"4294967296", "9007199254740993",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616",
	"340282366920938463463374607431768211456", strings.Repeat("9", 400), "0.1e1", "1e18", "1e19", "00", "+1", "NaN",
	"Infinity", "0x10", ".5", "5.",
}

var oddTexts = []string{
	"", " ", "\x00", "a\x00b", "\n", "\r\n", "\t", "null", "true", "[]", "{}", "-", "--", "%00", "%", "%zz", "/", "//",
	"..", "../../etc", "/a/../b", ".",
	`"`, `\`, `'`, "'; DROP TABLE users; --", "${x}", "{{x}}", "<script>", "\u202e", "\u200b", "\ufeff", "\ufffd",
	"\uffff", "😀", "👩\u200d👩\u200d👧", "é", "e\u0301",
	"ﷺ", "İ", "ı", "ß", "ſ", "K", "\U0010ffff", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
	strings.Repeat("a", 300), strings.Repeat("я", 5000), strings.Repeat("\u0301", 2000),
	strings.Repeat("%00", 50), "1-1", "0-0", "18446744073709551615-1", "1-9223372036854775808", "ZmlsZXMgMQ", "1e5", "01",
	" 1", "1 ", "１", "1_000", "*", "a,b", "a;b", "a&b=c",
	"2026-02-30T00:00:00Z", "10000-01-01T00:00:00Z", "0000-00-00", "P1D", "magnet:?xt=urn:btih:",
	"magnet:?xt=urn:btih:" + strings.Repeat("a", 40), "http://[::1", "http://%zz", "ftp://x",
	"http://localhost:1/x.torrent", "javascript:alert(1)", "day", "NEW", "DONE", "text", "processed",
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func (o *oddCaller) oddText() string {
	switch o.rand.IntN(5) {
	case 0, 1:
		return pick(o.rand, oddNumbers)
	case 2:
		text := make([]rune, o.rand.IntN(40))
		for i := range text {
			text[i] = rune(o.rand.IntN(0x3000))
		}
		return string(text)
	default:
		return pick(o.rand, oddTexts)
	}
}

// oddFor is oddText, and for an id often one whose only fault is its size.
func (o *oddCaller) oddFor(schema map[string]any) string {
	if pattern, _ := schema["pattern"].(string); strings.Contains(pattern, "[0-9]") && o.rand.IntN(2) == 0 {
		return pick(
			o.rand,
			[]string{"32768", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "9999999999999999999"},
		)
	}
	return o.oddText()
}

// resolve follows a reference into the document.
func (o *oddCaller) resolve(schema any) map[string]any {
	s, _ := schema.(map[string]any)
	for {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		var at any = o.document
		for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
			at = at.(map[string]any)[step]
		}
		s = at.(map[string]any)
	}
}

// text returns a potentially valid parameter value: mostly of an existing entity.
func (o *oddCaller) text(schema map[string]any, example any) string {
	v := o.value(schema, example)
	if text, ok := v.(string); ok {
		return text
	}
	return fmt.Sprint(v)
}

// value returns a potentially valid value for a schema.
func (o *oddCaller) value(schema map[string]any, example any) any {
	if example == nil {
		example = firstExample(schema)
	}

	if allowed, ok := schema["enum"].([]any); ok {
		return pick(o.rand, allowed)
	}

	switch typeOf(schema) {
	case "object":
		return o.object(schema)
	case "array":
		items := []any{}
		for range o.rand.IntN(3) {
			items = append(items, o.value(o.resolve(schema["items"]), nil))
		}
		return items
	case "boolean":
		return o.rand.IntN(2) == 0
	case "integer", "number":
		if example != nil && o.rand.IntN(2) == 0 {
			return example
		}
		return o.rand.IntN(10) + 1
	}

	switch text, _ := example.(string); {
	case len(text) == 64: // a hash
		return hashOf("chain", (o.rand.IntN(8)+1)*10)
	case text != "" && strings.Trim(text, "0123456789") == "":
		return fmt.Sprint(o.rand.IntN(6) + 1) // an id
	case strings.HasPrefix(text, "magnet:"):
		return "magnet:?xt=urn:btih:" + hashOf(o.number)[:40]
	case text != "":
		return text
	default:
		return fmt.Sprint(o.rand.IntN(6) + 1)
	}
}

func firstExample(schema map[string]any) any {
	if examples, ok := schema["examples"].([]any); ok && len(examples) > 0 {
		return examples[0]
	}
	return schema["example"]
}

func typeOf(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if one != "null" {
				return one.(string)
			}
		}
	}

	return ""
}

func (o *oddCaller) object(schema map[string]any) map[string]any {
	made := map[string]any{}
	required := fmt.Sprint(schema["required"])
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		if strings.Contains(required, name) || o.rand.IntN(2) == 0 {
			made[name] = o.value(o.resolve(properties[name]), nil)
		}
	}

	if more, ok := schema["additionalProperties"].(map[string]any); ok {
		for range o.rand.IntN(3) {
			made[fmt.Sprint(pick(o.rand, []any{"NEW", "IN_PROGRESS", "BLOCKED", "DONE", "x"}))] = o.value(o.resolve(more), nil)
		}
	}

	delete(made, "$schema")
	return made
}

// body encodes a body: with an odd value somewhere in it, or odd as a whole.
func (o *oddCaller) body(schema map[string]any, oddValue, oddWhole bool) []byte {
	value := o.value(o.resolve(schema), nil)
	if oddValue {
		value = o.spoil(value, 3)
	}

	text, err := json.Marshal(value)
	if err != nil {
		o.t.Fatal(err)
	}
	if !oddWhole {
		return text
	}

	switch o.rand.IntN(12) {
	case 0:
		return text[:o.rand.IntN(len(text)+1)]
	case 1:
		return append(text, text...)
	case 2:
		return []byte(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))
	case 3:
		return []byte(strings.Repeat(`{"a":`, 30_000) + "1" + strings.Repeat("}", 30_000))
	case 4:
		return []byte(pick(
			o.rand,
			[]string{
				"", "null", "1", `"x"`, "[]", "[{}]", "{}", "\ufeff{}", "\x00", "\xff", "{,}", "{'a':1}", "{\"a\":1,}", "/**/{}",
				"NaN",
			},
		))
	case 5: // the same name twice
		return []byte(strings.Replace(string(text), "{", "{"+strings.Trim(string(text), "{}")+",", 1))
	case 6:
		if o.rand.IntN(10) == 0 {
			return []byte(`{"a":"` + strings.Repeat("a", 1<<20) + `"}`)
		}
		return []byte(strings.Replace(string(text), `"`, `"\ud800`, 1+o.rand.IntN(3)))
	case 7:
		return []byte(strings.Replace(string(text), `:`, `:`+pick(o.rand, oddNumbers)+`,"x":`, 1))
	case 8:
		return []byte(strings.ToUpper(string(text)))
	default:
		at := o.rand.IntN(len(text) + 1)
		return append(append(text[:at:at], byte(o.rand.IntN(256))), text[at:]...)
	}
}

// spoil makes something in a value odd.
func (o *oddCaller) spoil(value any, depth int) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) > 0 && depth > 0 && o.rand.IntN(8) > 0 {
			name := pick(o.rand, sortedKeys(v))
			switch o.rand.IntN(8) {
			case 0:
				delete(v, name)
			case 1:
				v[o.oddText()] = v[name]
			default:
				v[name] = o.spoil(v[name], depth-1)
			}
			return v
		}
	case []any:
		if len(v) > 0 && depth > 0 && o.rand.IntN(4) > 0 {
			at := o.rand.IntN(len(v))
			v[at] = o.spoil(v[at], depth-1)
			return v
		}
	}

	switch o.rand.IntN(8) {
	case 0:
		return nil
	case 1:
		return []any{value, value}
	case 2:
		return map[string]any{"a": value}
	case 3, 4:
		if number := json.Number(pick(o.rand, oddNumbers)); json.Valid([]byte(number)) {
			return json.RawMessage(number)
		}
		return 1e308
	case 5:
		return o.rand.IntN(2) == 0
	case 6:
		many := make([]any, 300)
		for i := range many {
			many[i] = value
		}
		return many
	default:
		return o.oddText()
	}
}

// oddHeader gives a header an odd value, or removes one.
func (o *oddCaller) oddHeader(header http.Header) {
	name := pick(o.rand, []string{
		"Authorization", "Content-Type", "Accept", "Accept-Encoding", "Content-Encoding", "Idempotency-Key", "Last-Event-ID",
		"Origin", "Range",
		"If-Match", "If-None-Match", "If-Modified-Since", "X-Forwarded-For", "X-Request-Id", "X-HTTP-Method-Override",
		"Cookie", "Expect", "Traceparent", "Tracestate", "Baggage",
	})

	value := headerText(pick(o.rand, append([]string{
		"Bearer", "Bearer ", "bearer x", "Basic eDp4", "Bearer " + strings.Repeat("x", 5000),
		"application/json; charset=utf-16", "application/json;;", "text/plain", "application/cbor",
		"multipart/form-data", "gzip", "deflate, br", "*/*;q=9", "bytes=0-", "bytes=-1", "W/\"x\"",
		"Thu, 01 Jan 1970 00:00:00 GMT",
		"00-" + strings.Repeat("a", 32) + "-" + strings.Repeat("b", 16) + "-01", "00-zz", "a=b,c=d", "🙂",
	}, o.oddText())))

	if name == "Expect" {
		value = "100-continue"
	}

	header[name] = []string{value}
	if o.rand.IntN(10) == 0 {
		header[name] = []string{value, value}
	}

	if o.rand.IntN(10) == 0 {
		header.Del(name)
	}
}

// headerText leaves out what a header cannot contain: a client library refuses to send it.
func headerText(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "")))
}

// oddQuery adds something odd to a query.
func (o *oddCaller) oddQuery(query string) string {
	return query + "&" + pick(o.rand, []string{
		"x=1", "=", "=1", "&&", "limit", "limit=", "limit=1&limit=2", "a;b", "%zz", "limit=%ff", "cursor[]=1", "limit=1%00",
		"%00=1", strings.Repeat("a=1&", 2000),
	})
}
