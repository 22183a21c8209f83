package command

import (
	"context"
	"net/url"
)

// page is a part of a list.
type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"` // empty on the last page
}

// eachItem shows the items of a list to see, page after page, until it says that it has seen enough.
func eachItem[T any](ctx context.Context, c *client, path string, query url.Values, see func(T) (enough bool)) error {
	query.Set("limit", "200")
	for {
		answer, err := c.get(ctx, path, query)
		if err != nil {
			return err
		}
		list, err := decode[page[T]](answer)
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			if see(item) {
				return nil
			}
		}
		if list.NextCursor == "" {
			return nil
		}
		query.Set("cursor", list.NextCursor)
	}
}
