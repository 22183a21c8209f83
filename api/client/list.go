package client

import (
	"context"
	"net/url"

	"stagecoach/api/shape"
)

// EachItem passes the items of a list to see, page by page, until see returns true.
func EachItem[T any](ctx context.Context, c *Client, path string, query url.Values, see func(T) (enough bool)) error {
	query.Set("limit", "200")
	for {
		answer, err := c.Get(ctx, path, query)
		if err != nil {
			return err
		}

		list, err := Decode[shape.Page[T]](answer)
		if err != nil {
			return err
		}

		for _, item := range list.Items {
			if see(item) {
				return nil
			}
		}

		if list.NextCursor == nil {
			return nil
		}

		query.Set("cursor", *list.NextCursor)
	}
}
