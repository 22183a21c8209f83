package shape

import (
	"strconv"
	"time"
)

// ID writes an id as clients see it.
func ID(id int64) string { return strconv.FormatInt(id, 10) }

// ParseID reads what ID wrote; false: the text is not the id of anything.
func ParseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && ID(id) == text
}

// OptionalID writes an id that may be missing: null then.
func OptionalID(id *int64) *string {
	if id == nil {
		return nil
	}
	text := ID(*id)
	return &text
}

// Optional gives null for an empty text.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// OptionalNumber gives null for zero.
func OptionalNumber(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// OptionalTime gives a moment that may be missing, in UTC.
func OptionalTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	moment := t.UTC()
	return &moment
}

// List makes a list that is never null.
func List[From, To any](all []From, each func(From) To) []To {
	made := make([]To, len(all))
	for i, one := range all {
		made[i] = each(one)
	}
	return made
}

// Value gives what a pointer points to, the zero value for null.
func Value[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
