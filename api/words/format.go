package words

import (
	"cmp"
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

// Size formats a number of bytes.
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

// Number formats a number with a non-breaking space between groups of three digits, as in 1 000 000.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u00a0" + digits[i:]
	}
	return digits
}

// Decimal formats a number with the language's decimal mark.
func Decimal(language, number string) string {
	if language == Russian {
		return strings.Replace(number, ".", ",", 1)
	}
	return number
}

// ofMany are the plural forms of Russian state names that differ from the singular.
var ofMany = map[string]string{
	"новая": "новых", "заблокирована": "заблокировано", "застряла": "застряло", "сделана": "сделано", "отменена": "отменено",
	"начинается": "начинаются", "открывается файл": "открываются файлы", "отправляется": "отправляются", "загружается": "загружаются",
	"ожидает": "ожидают", "обрабатывается": "обрабатываются", "выполнена": "выполнено", "не удалась": "не удалось",
}

// Counted formats how many are in a state.
func Counted(language string, state Text, count int64) string {
	name := state.Plain(language)
	if language == Russian {
		name = cmp.Or(ofMany[name], name)
	}
	return name + ": " + Number(count)
}

// Share formats a percentage.
func Share(language string, percent float64) string {
	return Decimal(language, fmt.Sprintf("%.4g", percent)) + " %"
}

// Day formats a date of the API, such as 2026-03-02.
func Day(language, utc string) string {
	at, err := time.Parse(time.DateOnly, utc)
	if err != nil {
		return utc
	}
	return Date(language, at)
}

// Date formats a date.
func Date(language string, at time.Time) string {
	if language == Russian {
		return at.UTC().Format("02.01.2006")
	}
	return at.UTC().Format("2 Jan 2006")
}

// Clock formats a time of day, in UTC.
func Clock(at time.Time) string { return at.UTC().Format("15:04:05 UTC") }

// Moment formats a date and a time, in UTC: Telegram does not report time zones.
func Moment(language string, at time.Time) string {
	return Date(language, at) + at.UTC().Format(" 15:04 UTC")
}

// Duration formats a duration in its one or two largest units.
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

// Seconds formats a duration; nil: unknown.
func Seconds(language string, n *float64) string {
	if n == nil {
		return TextNotKnown.In(language)
	}
	return Duration(language, int64(max(0, *n)))
}

// Ago formats how long ago something was; nil: unknown.
func Ago(language string, n *float64) string {
	if n == nil {
		return TextNotKnown.In(language)
	}
	return textAgo.In(language, Seconds(language, n))
}

// Clean makes a name fit for a line of text: one line, no characters that change the text direction, never empty.
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
	// TextNotKnown replaces an unknown time.
	TextNotKnown = Text{"not known", "неизвестно"}

	textAgo = Text{"%s ago", "%s назад"}
)

// Units of time, from the largest to the smallest.
var (
	textDaysHours    = Text{"%d d %d h", "%d д %d ч"}
	textHoursMinutes = Text{"%d h %d min", "%d ч %d мин"}
	textMinutes      = Text{"%d min", "%d мин"}
	textSecondsOnly  = Text{"%d s", "%d с"}
)
