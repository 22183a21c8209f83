package chat

import (
	"html"
	"strings"

	"stagecoach/api/words"
)

// labelLength is how many runes a button shows: clients cut longer labels in the wrong place.
const labelLength = 40

// Bar draws progress as a line.
func Bar(percent int) string {
	const cells = 12
	full := percent * cells / 100
	return strings.Repeat("▓", full) + strings.Repeat("░", cells-full)
}

// HTML writes a name in a message.
func HTML(name string) string { return html.EscapeString(words.Clean(name)) }

// ShortHTML writes a name of at most most runes in a message.
func ShortHTML(name string, most int) string {
	return html.EscapeString(words.Shorten(words.Clean(name), most))
}

// Label fits a name on a button.
func Label(name string) string { return words.Shorten(words.Clean(name), labelLength) }
