package chat

import (
	"html"
	"strings"

	"stagecoach/api/words"
)

// labelLength is how many runes a button shows: clients cut longer labels in awkward places.
const labelLength = 40

// Bar draws a progress bar.
func Bar(percent int) string {
	const cells = 12
	full := percent * cells / 100
	return strings.Repeat("▓", full) + strings.Repeat("░", cells-full)
}

// HTML escapes a name for a message.
func HTML(name string) string { return html.EscapeString(words.Clean(name)) }

// ShortHTML escapes a name for a message, cut to a maximum number of runes.
func ShortHTML(name string, most int) string {
	return html.EscapeString(words.Shorten(words.Clean(name), most))
}

// Label shortens a name to fit on a button.
func Label(name string) string { return words.Shorten(words.Clean(name), labelLength) }
