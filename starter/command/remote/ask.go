// Package remote holds what the commands that call the API share: whose API it is, one call, a list, a wait.
package remote

import (
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"stagecoach/api/client"
	"stagecoach/starter/terminal"
)

// Ask is a command that makes one call, as a user, and shows what the API answers.
func Ask[T any](
	t *Target, use, short string, args cobra.PositionalArgs, ask func(args []string) (client.Call, error),
	show func(*cobra.Command, T) error,
) *cobra.Command {
	return AskAs(t.AsUser, use, short, args, ask, show)
}

// AskAs is Ask as somebody else than a user.
func AskAs[T any](
	as func() (*client.Client, error), use, short string, args cobra.PositionalArgs,
	ask func(args []string) (client.Call, error), show func(*cobra.Command, T) error,
) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := as()
			if err != nil {
				return err
			}

			request, err := ask(args)
			if err != nil {
				return err
			}

			answer, _, err := c.Send(cmd.Context(), request)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			value, err := client.Decode[T](answer)
			if err != nil {
				return err
			}
			return show(cmd, value)
		},
	}

	cmd.Flags().BoolVar(&asJSON, "json", false, "print the API's answer")
	return cmd
}

// List is a command that shows one page of a list, as a user. filters gives parameters of the query; empty ones are
// left out.
func List[T any](
	t *Target, use, short string, args cobra.PositionalArgs, path func(args []string) string,
	filters func() map[string]string, show func(*cobra.Command, []T) error,
) *cobra.Command {
	return ListAs(t.AsUser, use, short, args, path, filters, show)
}

// ListAs is List as somebody else than a user.
func ListAs[T any](
	as func() (*client.Client, error), use, short string, args cobra.PositionalArgs, path func(args []string) string,
	filters func() map[string]string, show func(*cobra.Command, []T) error,
) *cobra.Command {
	var cursor string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := as()
			if err != nil {
				return err
			}

			query := url.Values{"limit": {strconv.Itoa(limit)}}
			SetUnlessEmpty(query, filters())
			SetUnlessEmpty(query, map[string]string{"cursor": cursor})
			answer, err := c.Get(cmd.Context(), path(args), query)
			if err != nil {
				return err
			}
			if asJSON {
				return terminal.Verbatim(cmd.OutOrStdout(), answer)
			}

			list, err := client.Decode[client.Page[T]](answer)
			if err != nil {
				return err
			}
			if err := show(cmd, list.Items); err != nil {
				return err
			}

			MentionMore(cmd, list.NextCursor)
			return nil
		},
	}

	AddListFlags(cmd, &limit, &cursor, &asJSON)
	return cmd
}

// AddKeyFlag gives a command that changes something the flag for its Idempotency-Key.
func AddKeyFlag(cmd *cobra.Command, key *string) {
	cmd.Flags().StringVar(
		key, "idempotency-key", "", "the same key with the same request again gives the first answer (default: none)",
	)
}
