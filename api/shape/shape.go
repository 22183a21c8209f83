// Package shape declares each JSON shape of the HTTP API once, for the server, the command line and dev.
//
// A pointer is null where the field's doc says so. A type's name is its schema's name in /openapi.json, so renaming one
// changes the public document.
package shape

import "stagecoach/internal/fault"

// FieldError says what is wrong with one field of the input.
type FieldError struct {
	Field   string `json:"field" example:"file_id" doc:"Name of a parameter, header or body field"`
	Message string `json:"message" example:"is required"`
}

// Page is a part of a list.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"next_cursor" doc:"Cursor of the next page; null on the last one"`
}

// Problem is a failure as RFC 9457 describes it.
type Problem struct {
	Type    string         `json:"type" example:"/docs#DELIVERY_NOT_FOUND" doc:"Where the code is explained"`
	Title   string         `json:"title" example:"Delivery not found" doc:"General meaning of the code"`
	Status  int            `json:"status" example:"404"`
	Detail  string         `json:"detail" example:"there is no such delivery" doc:"What went wrong this time"`
	Code    fault.Code     `json:"code" example:"DELIVERY_NOT_FOUND" doc:"Error code"`
	Details map[string]any `json:"details" doc:"Structured details; depend on the code"`
	Errors  []FieldError   `json:"errors" doc:"Invalid fields"`
}
