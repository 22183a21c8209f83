package client

import (
	"context"
	"net/url"
)

// Page is a part of a list.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor"` // empty on the last page
}

// EachItem shows the items of a list to see, page after page, until it says that it has seen enough.
func EachItem[T any](ctx context.Context, c *Client, path string, query url.Values, see func(T) (enough bool)) error {
	query.Set("limit", "200")
	for {
		answer, err := c.Get(ctx, path, query)
		if err != nil {
			return err
		}

		list, err := Decode[Page[T]](answer)
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
