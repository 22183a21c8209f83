package server

import (
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

// OptionalID reads a parameter that may be left out: 0 then.
func OptionalID(text, field string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, ok := shape.ParseID(text)
	if !ok {
		return 0, fault.Invalid(field, "this is no id")
	}
	return id, nil
}

// UserID reads the id of a user in a path.
func UserID(text string) (int64, error) {
	id, ok := shape.ParseID(text)
	if !ok {
		return 0, fault.New(fault.UserNotFound, "there is no such user")
	}
	return id, nil
}

// PathID reads the id of a path: 0, the id of nothing, for what is none.
func PathID(text string) int64 {
	id, ok := shape.ParseID(text)
	if !ok {
		return 0
	}
	return id
}
