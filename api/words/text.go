// Package words has what the bot and the page say in both languages: names of states, reasons of failures, limits,
// incidents, and how numbers and times are written. A workload has a file with its own words.
package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Languages, as a user's row names them.
const (
	English = "en"
	Russian = "ru"
)

// Text is one text in English and in Russian. Placeholders are those of fmt; the values that the bot puts into a
// message must be HTML.
type Text [2]string

// In returns the text in a language; in English when the language is another one.
func (t Text) In(language string, args ...any) string {
	pattern := t[0]
	if language == Russian {
		pattern = t[1]
	}
	return fmt.Sprintf(pattern, args...)
}

// Plain returns the text without the picture at its beginning, for where a page draws one.
func (t Text) Plain(language string, args ...any) string {
	text := t.In(language, args...)
	return strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Sm, r)
	})
}

// Catalog holds texts by the keys that templates use.
type Catalog map[string]Text
