package chat

import "fmt"

// Languages, as a user's row names them.
const (
	English = "en"
	Russian = "ru"
)

// Text is one thing that the bot says, in English and in Russian. Placeholders are those of fmt; what stands in their
// place in a message must be HTML.
type Text [2]string

// In gives the text in a language; in English when the language is another one.
func (t Text) In(language string, args ...any) string {
	pattern := t[0]
	if language == Russian {
		pattern = t[1]
	}
	return fmt.Sprintf(pattern, args...)
}
