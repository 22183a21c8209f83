package server

import (
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

// OptionalID parses an optional parameter: 0 if it is missing.
func OptionalID(text, field string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	id, ok := shape.ParseID(text)
	if !ok {
		return 0, fault.Invalid(field, "this is not an id")
	}
	return id, nil
}

// UserID parses the id of a user in a path.
func UserID(text string) (int64, error) {
	id, ok := shape.ParseID(text)
	if !ok {
		return 0, fault.New(fault.UserNotFound, "there is no such user")
	}
	return id, nil
}

// PathID parses an id in a path: 0, which no entity has, if it is invalid.
func PathID(text string) int64 {
	id, ok := shape.ParseID(text)
	if !ok {
		return 0
	}
	return id
}
