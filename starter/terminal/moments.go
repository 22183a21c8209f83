package terminal

import (
	"fmt"
	"time"
)

// Seconds writes a duration of so many seconds into format; none when it is not known.
func Seconds(seconds *float64, format, none string) string {
	if seconds == nil {
		return none
	}
	return fmt.Sprintf(format, Took(time.Duration(*seconds*float64(time.Second))))
}

// WhenSet writes a moment for people, and nothing for a moment that is missing.
func WhenSet(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return When(t)
}

// Took writes a duration for people.
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

// Whenever writes a moment that there may not be.
func Whenever(t *time.Time) string {
	if t == nil {
		return When(time.Time{})
	}
	return When(*t)
}

// When writes a moment for people, in their own time zone.
func When(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}
