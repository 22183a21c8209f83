package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// Printable replaces line ends and control characters, so that foreign text cannot control the terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// Join formats a list of words.
func Join[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// Shorten cuts a text to a maximum number of characters.
func Shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// Table writes rows in aligned columns; the first row holds the headings.
func Table(w io.Writer, rows [][]string) error {
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Printable(cell)
		}
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	return aligned.Flush()
}

// Rows makes a table of these items, with the headings in its first row.
func Rows[T any](items []T, row func(T) []string, headings ...string) [][]string {
	rows := [][]string{headings}
	for _, item := range items {
		rows = append(rows, row(item))
	}
	return rows
}

// Tables writes those tables that have rows below their headings, each after a blank line.
func Tables(w io.Writer, tables ...[][]string) error {
	for _, rows := range tables {
		if len(rows) == 1 {
			continue
		}

		fmt.Fprintln(w)
		if err := Table(w, rows); err != nil {
			return err
		}
	}

	return nil
}

// Filled returns the name-value rows that have a value.
func Filled(rows ...[]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// Verbatim writes a JSON document of the API unchanged, with one trailing newline.
func Verbatim(w io.Writer, document []byte) error {
	_, err := fmt.Fprintf(w, "%s\n", strings.TrimRight(string(document), "\n"))
	return err
}

// BytesText formats a number of bytes, as the bot and the pages do.
func BytesText(n int64) string {
	units := []string{"B", "KB", "MB", "GB"}
	value, unit := float64(n), 0
	for value >= 1023.95 && unit < len(units)-1 { // a value that would be rounded to 1024
		value, unit = value/1024, unit+1
	}
	if unit == 0 || value >= 100 {
		return fmt.Sprintf("%.0f %s", value, units[unit])
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// Bar draws a fraction between 0 and 1.
func Bar(part float64) string {
	const width = 24
	full := min(width, max(0, int(part*width)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// Seconds formats a number of seconds; none for nil.
func Seconds(seconds *float64, format, none string) string {
	if seconds == nil {
		return none
	}
	return fmt.Sprintf(format, Took(time.Duration(*seconds*float64(time.Second))))
}

// WhenSet formats a time as When does, and nil as an empty text.
func WhenSet(t *time.Time) string {
	if t == nil {
		return ""
	}
	return When(*t)
}

// Took formats a duration with its units.
func Took(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
}

// When formats a time in the local time zone, and the zero time as a dash.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2 Jan 2006 15:04:05")
}
