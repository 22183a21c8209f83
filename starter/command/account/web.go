package account

import (
	"fmt"

	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewWeb makes the command that opens the pages.
func NewWeb() *cobra.Command {
	return remote.Ask[shape.SignInLink]{
		Use: "web", Short: "Print a one-time link that signs you in to the web pages",
		Call: "POST /v1/sign-in-links",
		Show: func(cmd *cobra.Command, link shape.SignInLink) error {
			_, err := fmt.Fprintf(
				cmd.OutOrStdout(), "%s\nopen it by %s\n", terminal.Printable(link.URL), terminal.When(link.ExpiresAt),
			)
			return err
		},
	}.Command()
}
