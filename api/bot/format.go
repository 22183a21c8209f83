package bot

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
)

var units = map[string][]string{
	english: {"B", "KB", "MB", "GB"},
	russian: {"Б", "КБ", "МБ", "ГБ"},
}

// sizeIn writes a number of bytes for people.
func sizeIn(language string, bytes int64) string {
	names := units[language]
	if names == nil {
		names = units[english]
	}

	value, unit := float64(bytes), 0
	for value >= 1023.95 && unit < len(names)-1 { // what would be rounded to 1024
		value /= 1024
		unit++
	}

	digits := 1
	if unit == 0 || value >= 100 {
		digits = 0
	}

	number := fmt.Sprintf("%.*f", digits, value)
	if language == russian {
		number = strings.Replace(number, ".", ",", 1)
	}
	return number + " " + names[unit]
}

// dateIn writes a day for people.
func dateIn(language string, at time.Time) string {
	if language == russian {
		return at.UTC().Format("02.01.2006")
	}
	return at.UTC().Format("2 Jan 2006")
}

// clockIn writes a time of day for people, who may be anywhere.
func clockIn(at time.Time) string { return at.UTC().Format("15:04:05 UTC") }

// durationIn writes a time for people, in its one or two longest units.
func durationIn(language string, seconds int64) string {
	minutes := (seconds + 30) / 60
	switch {
	case seconds < 60:
		return textSecondsOnly.in(language, seconds)
	case minutes < 60:
		return textMinutes.in(language, minutes)
	case minutes < 24*60:
		return textHoursMinutes.in(language, minutes/60, minutes%60)
	default:
		hours := (minutes + 30) / 60
		return textDaysHours.in(language, hours/24, hours%24)
	}
}

// bar draws progress.
func bar(percent int) string {
	const cells = 12
	full := percent * cells / 100
	return strings.Repeat("▓", full) + strings.Repeat("░", cells-full)
}

// clean makes a name fit for a line of text: one line, nothing that turns the text around, never empty.
func clean(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(name, "�")))
	if name == "" {
		return "…"
	}
	return name
}

// shorten cuts the middle out of a text of more than most runes; a file's extension stays.
func shorten(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	tail := min(len([]rune(path.Ext(name)))+4, most/2)
	head := most - 1 - tail
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}
