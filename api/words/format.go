package words

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"
)

var units = map[string][]string{
	English: {"B", "KB", "MB", "GB"},
	Russian: {"Б", "КБ", "МБ", "ГБ"},
}

// Size writes a number of bytes for people.
func Size(language string, bytes int64) string {
	names := units[language]
	if names == nil {
		names = units[English]
	}

	value, unit := float64(bytes), 0
	for value >= 1023.95 && unit < len(names)-1 { // a value that would be rounded to 1024
		value /= 1024
		unit++
	}

	digits := 1
	if unit == 0 || value >= 100 {
		digits = 0
	}

	return Decimal(language, fmt.Sprintf("%.*f", digits, value)) + " " + names[unit]
}

// Number writes a number with a space that does not break between each three digits, as in 1 000 000.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u00a0" + digits[i:]
	}
	return digits
}

// Decimal writes a number with the language's decimal mark.
func Decimal(language, number string) string {
	if language == Russian {
		return strings.Replace(number, ".", ",", 1)
	}
	return number
}

// Date writes a day for people.
func Date(language string, at time.Time) string {
	if language == Russian {
		return at.UTC().Format("02.01.2006")
	}
	return at.UTC().Format("2 Jan 2006")
}

// Clock writes a time of day for people, in UTC.
func Clock(at time.Time) string { return at.UTC().Format("15:04:05 UTC") }

// Moment writes a day and a time for people, in UTC: Telegram does not report their time zone.
func Moment(language string, at time.Time) string {
	return Date(language, at) + at.UTC().Format(" 15:04 UTC")
}

// Duration writes a time for people, in its one or two longest units.
func Duration(language string, seconds int64) string {
	minutes := (seconds + 30) / 60
	switch {
	case seconds < 60:
		return textSecondsOnly.In(language, seconds)
	case minutes < 60:
		return textMinutes.In(language, minutes)
	case minutes < 24*60:
		return textHoursMinutes.In(language, minutes/60, minutes%60)
	default:
		hours := (minutes + 30) / 60
		return textDaysHours.In(language, hours/24, hours%24)
	}
}

// Seconds writes a duration for people; nil: unknown.
func Seconds(language string, n *float64) string {
	if n == nil {
		return TextNotKnown.In(language)
	}
	return Duration(language, int64(max(0, *n)))
}

// Ago writes how long ago something was; nil: unknown.
func Ago(language string, n *float64) string {
	if n == nil {
		return TextNotKnown.In(language)
	}
	return textAgo.In(language, Seconds(language, n))
}

// Clean makes a name fit for a line of text: one line, no characters that reverse the text's direction, never empty.
func Clean(name string) string {
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

// Shorten cuts the middle out of a text of more than most runes; a file's extension stays.
func Shorten(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	tail := min(len([]rune(path.Ext(name)))+4, most/2)
	head := most - 1 - tail
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

var (
	// TextNotKnown stands for a time that is not known.
	TextNotKnown = Text{"not known", "неизвестно"}

	textAgo = Text{"%s ago", "%s назад"}
)

// Times, from the longest unit to the shortest: two units of each language.
var (
	textDaysHours    = Text{"%d d %d h", "%d д %d ч"}
	textHoursMinutes = Text{"%d h %d min", "%d ч %d мин"}
	textMinutes      = Text{"%d min", "%d мин"}
	textSecondsOnly  = Text{"%d s", "%d с"}
)
