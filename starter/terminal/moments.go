package terminal

import (
	"fmt"
	"time"
)

// Seconds writes a number of seconds into the format; nil gives none.
func Seconds(seconds *float64, format, none string) string {
	if seconds == nil {
		return none
	}
	return fmt.Sprintf(format, Took(time.Duration(*seconds*float64(time.Second))))
}

// WhenSet writes a moment as When does, and nothing for no moment.
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

// Whenever writes a moment as When does; nil is no moment.
func Whenever(t *time.Time) string {
	if t == nil {
		return When(time.Time{})
	}
	return When(*t)
}

// When writes a moment in the local time zone, and a dash for no moment.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
