package operate

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// NewReseal makes the command that re-encrypts tokens. It is no client of the API: it reads the keys from the services'
// settings.
func NewReseal() *cobra.Command {
	return &cobra.Command{
		Use: "reseal", Short: "Encrypt the OAuth tokens in the database again, with the first key of STAGECOACH_ENCRYPTION_KEY",
		Args: terminal.Exactly(0),
		Long: `Encrypt the OAuth tokens in the database again, with the first key of STAGECOACH_ENCRYPTION_KEY.

Every service must have this key already; the services may keep running. Afterwards no token in the
database needs the other keys.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(os.LookupEnv)
			if err != nil {
				return terminal.UsageError(err.Error())
			}

			rows, err := app.Reseal(cmd.Context(), c)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "tokens encrypted with the first key: %d\n", rows)
			return err
		},
	}
}
