package server

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

// Paging has the parameters of every list. Like all embedded types here it is exported for huma to see its fields.
type Paging struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200" doc:"Maximum number of items; a page of long items holds fewer"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the previous page"`
}

// After parses a list's cursor; 0 at the beginning.
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

// CursorAt makes a list's cursor for a position.
func CursorAt(list string, place int64) *string {
	text := base64.RawURLEncoding.EncodeToString([]byte(list + " " + shape.ID(place)))
	return &text
}

const (
	// MostOfPage is roughly the maximum JSON size of a page in bytes: its items are as long as users have made them.
	MostOfPage = 1 << 20
	// rowsAtOnce is how many rows one statement reads: enough for a page of the usual limit and the row that follows it.
	rowsAtOnce = 51
)

// ListOf responds with one page of a list: at most limit rows after a position, or from the beginning.
func ListOf[Row, Body any](
	in Paging, list string, rowsAfter func(place int64, limit int) ([]Row, error), place func(Row) int64,
	body func(Row) Body,
) (none shape.Page[Body], err error) {
	after, err := in.After(list)
	if err != nil {
		return none, err
	}

	page := shape.Page[Body]{Items: []Body{}}
	for room := MostOfPage; ; {
		// A row beyond the limit is not shown: it proves that there is a next page.
		wanted := min(in.Limit+1-len(page.Items), rowsAtOnce)
		rows, err := rowsAfter(after, wanted)
		if err != nil {
			return none, err
		}

		var items []Body
		items, room = Fit(shape.List(rows[:min(len(rows), in.Limit-len(page.Items))], body), room)
		if page.Items = append(page.Items, items...); len(items) > 0 {
			after = place(rows[len(items)-1])
		}

		switch {
		case len(rows) > len(items):
			page.NextCursor = CursorAt(list, after)
			return page, nil
		case len(rows) < wanted:
			return page, nil
		}
	}
}

// Fit returns the leading items that fit into room bytes of JSON, at least one, and the room that remains.
func Fit[Body any](items []Body, room int) (fitting []Body, left int) {
	for i, item := range items {
		text, _ := json.Marshal(item) // an error reappears when the response is written
		if len(text) > room && i > 0 {
			return items[:i], 0
		}
		room -= len(text)
	}
	return items, room
}

// hashes matches transaction hashes and their prefixes.
var hashes = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

func isHash(text string) bool { return hashes.MatchString(text) }
