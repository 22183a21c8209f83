package shape

import (
	"strconv"
	"time"
)

// ID formats an id as clients see it.
func ID(id int64) string { return strconv.FormatInt(id, 10) }

// ParseID is the inverse of ID; false: not a valid id.
func ParseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && ID(id) == text
}

// OptionalID formats an optional id: null if it is missing.
func OptionalID(id *int64) *string {
	if id == nil {
		return nil
	}
	text := ID(*id)
	return &text
}

// Optional returns null for an empty text.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// OptionalNumber returns null for zero.
func OptionalNumber(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// OptionalTime returns an optional time in UTC.
func OptionalTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	moment := t.UTC()
	return &moment
}

// List converts a list; the result is never null.
func List[From, To any](all []From, each func(From) To) []To {
	made := make([]To, len(all))
	for i, one := range all {
		made[i] = each(one)
	}
	return made
}

// Value dereferences a pointer; the zero value for null.
func Value[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}
