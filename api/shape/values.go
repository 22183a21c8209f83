package shape

import (
	"strconv"
	"time"
)

// ID writes an id as clients see it.
func ID(id int64) string { return strconv.FormatInt(id, 10) }

// ParseID reads what formatID wrote. Whatever else comes names nothing.
func ParseID(text string) (int64, bool) {
	id, err := strconv.ParseInt(text, 10, 64)
	return id, err == nil && id > 0 && ID(id) == text
}

func OptionalID(id *int64) *string {
	if id == nil {
		return nil
	}
	text := ID(*id)
	return &text
}

// Optional is nil for an empty text.
func Optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func OptionalTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	moment := t.UTC()
	return &moment
}

func List[From, To any](all []From, each func(From) To) []To {
	made := make([]To, len(all))
	for i, one := range all {
		made[i] = each(one)
	}
	return made
}
