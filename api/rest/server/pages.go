package server

import (
	"encoding/base64"
	"regexp"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

// Paging is what every list takes. It is exported, as all embedded types here, for huma to see its fields.
type Paging struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"How many items to give"`
	Cursor string `query:"cursor" maxLength:"200" doc:"The next_cursor of the page before"`
}

// After reads the place that the cursor of a list names; 0 at the beginning.
func (p Paging) After(list string) (int64, error) {
	if p.Cursor == "" {
		return 0, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(p.Cursor)
	place, ok := strings.CutPrefix(string(raw), list+" ")
	at, known := shape.ParseID(place)
	if err != nil || !ok || !known {
		return 0, fault.Invalid("cursor", "this is not a cursor of this list")
	}
	return at, nil
}

// CursorAt makes the cursor of a list that names a place.
func CursorAt(list string, place int64) *string {
	text := base64.RawURLEncoding.EncodeToString([]byte(list + " " + shape.ID(place)))
	return &text
}

// PageOf makes a page of rows. A row beyond the limit is not shown: it means that there is a next page.
func PageOf[Row, Body any](
	list string, limit int, rows []Row, place func(Row) int64, body func(Row) Body,
) shape.Page[Body] {
	var next *string
	if len(rows) > limit {
		rows = rows[:limit]
		next = CursorAt(list, place(rows[limit-1]))
	}
	items := make([]Body, len(rows))
	for i, row := range rows {
		items[i] = body(row)
	}
	return shape.Page[Body]{Items: items, NextCursor: next}
}

// ListOf answers with one page of a list: up to a limit of rows that follow a place, or that the list begins with.
func ListOf[Row, Body any](
	in Paging, list string, rowsAfter func(place int64, limit int) ([]Row, error), place func(Row) int64,
	body func(Row) Body,
) (page shape.Page[Body], err error) {
	after, err := in.After(list)
	if err != nil {
		return page, err
	}
	rows, err := rowsAfter(after, in.Limit+1)
	return PageOf(list, in.Limit, rows, place, body), err
}

var hashes = regexp.MustCompile(`^[0-9a-f]{64}$`)

func isHash(text string) bool { return hashes.MatchString(text) }
