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

// Printable replaces line ends and control characters, so that a text from outside cannot steer the terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text)
}

// Join writes a list of words.
func Join[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, word := range words {
		texts[i] = string(word)
	}
	return strings.Join(texts, ", ")
}

// Shorten cuts a text to at most so many characters.
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

// Filled returns those rows of a name and a value that have a value.
func Filled(rows ...[]string) [][]string {
	return slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "" })
}

// Verbatim writes a JSON document of the API unchanged, with one line end.
func Verbatim(w io.Writer, document []byte) error {
	_, err := fmt.Fprintf(w, "%s\n", strings.TrimRight(string(document), "\n"))
	return err
}

// BytesText writes a number of bytes with its unit.
func BytesText(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1023.95 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}

// Bar draws a share between 0 and 1.
func Bar(part float64) string {
	const width = 24
	full := min(width, max(0, int(part*width)))
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// Seconds writes a number of seconds into the format; nil gives none.
func Seconds(seconds *float64, format, none string) string {
	if seconds == nil {
		return none
	}
	return fmt.Sprintf(format, Took(time.Duration(*seconds*float64(time.Second))))
}

// WhenSet writes a moment as When does, and an empty text for no moment.
func WhenSet(t *time.Time) string {
	if t == nil {
		return ""
	}
	return When(*t)
}

// Took writes a duration with its units.
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

// When writes a moment in the local time zone, and a dash for no moment.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
