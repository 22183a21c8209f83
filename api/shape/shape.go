// Package shape declares each JSON shape of the HTTP API once, for the server, the command line and dev.
//
// A pointer is null where the field's doc says so. A type's name is its schema's name in /openapi.json, so that to
// rename one is a change of the public document.
package shape

import "stagecoach/internal/fault"

// FieldError says what is wrong with one field of the input.
type FieldError struct {
	Field   string `json:"field" example:"file_id" doc:"The name of a parameter, a header or a field of the body"`
	Message string `json:"message" example:"is required"`
}

// Page is a part of a list.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor" doc:"Gives the next page; null on the last one"`
}

// Problem is a failure as RFC 9457 describes it.
type Problem struct {
	Type    string         `json:"type" example:"/docs#DELIVERY_NOT_FOUND" doc:"Where the code is explained"`
	Title   string         `json:"title" example:"There is no such delivery" doc:"What the code means in general"`
	Status  int            `json:"status" example:"404"`
	Detail  string         `json:"detail" example:"there is no such delivery" doc:"What is wrong this time"`
	Code    fault.Code     `json:"code" example:"DELIVERY_NOT_FOUND" doc:"For machines"`
	Details map[string]any `json:"details" doc:"More for machines; depends on the code"`
	Errors  []FieldError   `json:"errors" doc:"The fields at fault"`
}
