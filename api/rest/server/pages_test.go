package server

import (
	"slices"
	"strings"
	"testing"

	"stagecoach/api/shape"
)

// TestLongItemsMakeShortPages walks through a list of items of all lengths: each page has a bounded size and at least
// one item, no statement reads many rows, and the pages together have each item once.
func TestLongItemsMakeShortPages(t *testing.T) {
	t.Parallel()
	const last = 230
	text := strings.Repeat("x", MostOfPage+1)
	var everything []string
	for row := range int64(last) {
		everything = append(everything, shape.ID(row+1))
	}
	rowsAfter := func(place int64, limit int) (rows []int64, err error) {
		if limit > rowsAtOnce {
			t.Errorf("a statement reads %d rows", limit)
		}
		for row := place + 1; row <= last && len(rows) < limit; row++ {
			rows = append(rows, row)
		}
		return rows, nil
	}

	for what, length := range map[string]func(row int64) int{
		"short": func(int64) int { return 10 },
		"long":  func(int64) int { return MostOfPage / 70 },
		"of all lengths": func(row int64) int {
			if row%50 == 0 {
				return len(text)
			}
			return int(row*row*row) % (MostOfPage / 8)
		},
	} {
		for _, limit := range []int{1, 50, 51, 52, 101, 102, 200} {
			var all []string
			pages := 0
			for in := (Paging{Limit: limit}); ; pages++ {
				page, err := ListOf(in, "rows", rowsAfter, func(row int64) int64 { return row }, func(row int64) shape.FieldError {
					return shape.FieldError{Field: shape.ID(row), Message: text[:length(row)]}
				})
				if err != nil {
					t.Fatal(err)
				}
				if n := len(page.Items); n == 0 || n > limit {
					t.Errorf("%s, limit %d: a page of %d items", what, limit, n)
				}

				size, longest := 0, 0
				for _, item := range page.Items {
					all = append(all, item.Field)
					size += len(item.Message)
					longest = max(longest, len(item.Message))
				}
				if size-longest > MostOfPage {
					t.Errorf("%s, limit %d: a page of %d bytes", what, limit, size)
				}

				if page.NextCursor == nil {
					break
				}
				in.Cursor = *page.NextCursor
			}

			if !slices.Equal(all, everything) {
				t.Errorf("%s, limit %d: %v", what, limit, all)
			}
			if fewest := last / limit; what == "short" && pages > fewest {
				t.Errorf("limit %d: %d pages of short items, want %d", limit, pages, fewest)
			}
		}
	}
}
