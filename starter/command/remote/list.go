package remote

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/starter/terminal"
)

// List is a command that shows one page of a list.
type List[T any] struct {
	As         func() (*client.Client, error) // Target.AsUser or Target.AsAdmin
	Use, Short string
	Args       cobra.PositionalArgs
	// Query gives the path of the list and the parameters that narrow it; empty parameters are not sent.
	Query func(args []string) (path string, filters map[string]string)
	Show  func(*cobra.Command, []T) error
}

// Command makes the command.
func (l List[T]) Command() *cobra.Command {
	var cursor string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: l.Use, Short: l.Short, Args: l.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := l.As()
			if err != nil {
				return err
			}

			path, filters := l.Query(args)
			query := url.Values{"limit": {strconv.Itoa(limit)}}
			SetUnlessEmpty(query, filters)
			SetUnlessEmpty(query, map[string]string{"cursor": cursor})
			answer, err := c.Get(cmd.Context(), path, query)
			if err != nil {
				return err
			}
			return show(cmd, asJSON, answer, l.showPage)
		},
	}

	cmd.Flags().IntVar(&limit, "limit", 50, "how many to show, at most 200")
	cmd.Flags().StringVar(&cursor, "cursor", "", "where the previous page ended")
	addJSONFlag(cmd, &asJSON)
	return cmd
}

func (l List[T]) showPage(cmd *cobra.Command, page shape.Page[T]) error {
	if err := l.Show(cmd, page.Items); err != nil {
		return err
	}
	if page.NextCursor != nil {
		fmt.Fprintf(cmd.OutOrStdout(), "there are more: --cursor %s\n", terminal.Printable(*page.NextCursor))
	}
	return nil
}

// SetUnlessEmpty sets the parameters of a query that have a value.
func SetUnlessEmpty(query url.Values, values map[string]string) {
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
}
