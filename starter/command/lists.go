package command

import (
	"context"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"
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

// addListFlags gives a command the flags that every list has.
func addListFlags(cmd *cobra.Command, limit *int, cursor *string, asJSON *bool) {
	cmd.Flags().IntVar(limit, "limit", 50, "how many to show, at most 200")
	cmd.Flags().StringVar(cursor, "cursor", "", "where the page before ended")
	cmd.Flags().BoolVar(asJSON, "json", false, "print the API's answer")
}

// mentionMore tells how to see the next page of a list.
func mentionMore(cmd *cobra.Command, next string) {
	if next != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "there are more: --cursor %s\n", printable(next))
	}
}

func setUnlessEmpty(query url.Values, values map[string]string) {
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
}
