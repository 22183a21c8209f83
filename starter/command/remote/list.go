package remote

import (
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"stagecoach/starter/terminal"
)

// AddListFlags gives a command the flags that every list has.
func AddListFlags(cmd *cobra.Command, limit *int, cursor *string, asJSON *bool) {
	cmd.Flags().IntVar(limit, "limit", 50, "how many to show, at most 200")
	cmd.Flags().StringVar(cursor, "cursor", "", "where the page before ended")
	cmd.Flags().BoolVar(asJSON, "json", false, "print the API's answer")
}

// MentionMore tells how to see the next page of a list.
func MentionMore(cmd *cobra.Command, next string) {
	if next != "" {
		fmt.Fprintf(cmd.OutOrStdout(), "there are more: --cursor %s\n", terminal.Printable(next))
	}
}

func SetUnlessEmpty(query url.Values, values map[string]string) {
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
}
