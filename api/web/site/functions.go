package site

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"html"
	"html/template"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// functions are the template functions, in one language.
func (s *Site) functions(language string) template.FuncMap {
	return template.FuncMap{
		"t": func(key string, args ...any) string {
			for i := range args {
				args[i] = deref(args[i])
			}
			return s.texts[key].In(language, args...)
		},
		"state": func(workload string, state any) string { return s.states[workload][fmt.Sprint(state)].Plain(language) },
		"counted": func(workload string, state any, count int64) string {
			return words.Counted(language, s.states[workload][fmt.Sprint(state)], count)
		},
		"fault": func(code any) template.HTML {
			return s.linked(s.said.Faults.Text(fault.Code(fmt.Sprint(deref(code)))).In(language))
		},
		"field":        func(name string) string { return words.FieldName(language, name) },
		"workflowsURL": lifecycle.WorkflowsURL,
		"alert":        func(kind string) template.HTML { return s.linked(s.said.Alerts[kind].In(language)) },
		"page":         s.pageOf,
		"shorten":      func(text string) string { return words.Shorten(text, 20) },
		"value":        deref,
		"linked":       s.linked,
		"gram":         func(nano any) string { return gram(language, nano) },
		"number":       number,
		"size":         func(bytes int64) string { return words.Size(language, bytes) },
		"share":        func(percent float64) string { return words.Share(language, percent) },
		"day":          func(utc string) string { return words.Day(language, utc) },
		"duration":     func(seconds float64) string { return words.Duration(language, int64(seconds)) },
		"when":         func(at any) template.HTML { return when(language, at, "") },
		// the remaining time where scripts run; otherwise the date and time
		"countdown": func(at any) template.HTML { return when(language, at, " data-countdown") },
		"percent": func(part, whole int64) int64 {
			if whole <= 0 {
				return 0
			}
			return min(100, part*100/whole)
		},
		"next":      func(n int) int { return n + 1 },
		"typed":     typed,
		"chosen":    chosen,
		"key":       rand.Text, // of a form: submitting it twice is one request
		"workloads": lifecycle.Names,
		"asset":     assetPath,
		"dict":      dict,
		"query":     withQuery,
		"card":      func(name string, data any) (template.HTML, error) { return s.piece(language, "card-"+name, data) },
		"chart":     func(chart Chart) (template.HTML, error) { return s.piece(language, "chart", chart) },
	}
}

// pageOf is the path of an entity's page, which is named after its kind. Without an id it is that of their list; "" if
// there is no such page.
func (s *Site) pageOf(kind string, id any) string {
	list, _, found := strings.Cut(s.pages[kind].Route, "/{")
	if !found {
		return ""
	}
	if text := fmt.Sprint(deref(id)); text != "" {
		return list + "/" + url.PathEscape(text)
	}
	return list
}

// piece renders a template that all pages share.
func (s *Site) piece(language, name string, data any) (template.HTML, error) {
	var html bytes.Buffer
	err := s.drawn[language]["home"].ExecuteTemplate(&html, name, data)
	return template.HTML(html.String()), err //nolint:gosec // a template has escaped it
}

// number formats a number of any integer type, or behind a pointer.
func number(n any) string {
	value := reflect.ValueOf(deref(n))
	if !value.CanInt() {
		return fmt.Sprint(deref(n))
	}
	return words.Number(value.Int())
}

// gram formats an amount; "" if unknown.
func gram(language string, nano any) string {
	known, ok := deref(nano).(int64)
	if !ok {
		return ""
	}
	return words.Gram(language, known)
}

// deref dereferences a pointer; "" for nil.
func deref(value any) any {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Pointer {
		return value
	}
	if v.IsNil() {
		return ""
	}
	return v.Elem().Interface()
}

// when formats a time in UTC, together with what a script needs to show it in the reader's zone.
func when(language string, at any, attribute string) template.HTML {
	var moment time.Time
	switch at := at.(type) {
	case time.Time:
		moment = at
	case *time.Time:
		if at == nil {
			return ""
		}
		moment = *at
	}

	exact := moment.UTC().Format(time.RFC3339)
	return template.HTML(fmt.Sprintf( //nolint:gosec // all parts are made here
		`<time datetime="%s" title="%s"%s>%s</time>`, exact, exact, attribute, html.EscapeString(words.Moment(language, moment)),
	))
}

// commandName matches a command of the bot in its texts.
var commandName = regexp.MustCompile(`/[a-z]+\b`)

// linked formats one of the bot's texts for a page: commands link to the pages that do the same.
func (s *Site) linked(text string) template.HTML {
	//nolint:gosec // it is escaped before
	return template.HTML(commandName.ReplaceAllStringFunc(html.EscapeString(text), func(command string) string {
		page, known := s.commands[command[1:]]
		if !known {
			return command
		}
		return `<a href="` + page + `">` + page + `</a>`
	}))
}

// dict builds a template's arguments from names and values.
func dict(pairs ...any) map[string]any {
	made := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		made[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return made
}

// withQuery returns the current page's URL with one parameter changed; "" removes it. The cursor is removed: it belongs
// to the old list.
func withQuery(r *Request, name string, value any) string {
	query := url.Values{}
	for key, values := range r.URL.Query() {
		if key != "cursor" {
			query[key] = values
		}
	}

	query.Del(name)
	if text := fmt.Sprint(deref(value)); text != "" {
		query.Set(name, text)
	}

	if len(query) == 0 {
		return r.URL.Path
	}
	return r.URL.Path + "?" + query.Encode()
}
