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
		return 0, fault.New(fault.Validation, "this is no id").WithField(field)
	}
	return id, nil
}

// FindID reads the id of a path. One that names nothing is refused with code, as if there were no such thing.
func FindID(text string, code fault.Code, thing string) (int64, error) {
	id, ok := shape.ParseID(text)
	if !ok {
		return 0, fault.New(code, "there is no such %s", thing)
	}
	return id, nil
}

// UserID reads the id of a user in a path.
func UserID(text string) (int64, error) { return FindID(text, fault.UserNotFound, "user") }
