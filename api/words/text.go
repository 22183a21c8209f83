// Package words has the bilingual texts of the bot and the pages: names of states, reasons of failures, limits,
// incidents, and the formats of numbers and times. Each workload has a file with its own words.
package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Languages, as stored in a user's row.
const (
	English = "en"
	Russian = "ru"
)

// Text is one text in English and in Russian. Placeholders are those of fmt; values that the bot inserts into a message
// must be HTML.
type Text [2]string

// In returns the text in a language; in English if the language is neither.
func (t Text) In(language string, args ...any) string {
	pattern := t[0]
	if language == Russian {
		pattern = t[1]
	}
	return fmt.Sprintf(pattern, args...)
}

// Plain returns the text without its leading emoji, for pages that draw their own.
func (t Text) Plain(language string, args ...any) string {
	text := t.In(language, args...)
	return strings.TrimLeftFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.So, r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Sm, r)
	})
}

// Catalog holds texts by the keys that templates use.
type Catalog map[string]Text
