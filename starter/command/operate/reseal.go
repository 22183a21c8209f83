package operate

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// NewReseal is no client of the API: it runs with the services' own settings, which hold the keys.
func NewReseal() *cobra.Command {
	return &cobra.Command{
		Use: "reseal", Short: "Seal OAuth tokens in the database anew, with the first key of STAGECOACH_ENCRYPTION_KEY",
		Args: terminal.Between(0, 0),
		Long: `Seal OAuth tokens in the database anew, with the first key of STAGECOACH_ENCRYPTION_KEY.

Every service must know that key already; they may run meanwhile. Afterwards the other keys are of no
use here any more.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(os.LookupEnv)
			if err != nil {
				return terminal.UsageError(err.Error())
			}
			rows, err := app.Reseal(cmd.Context(), c)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "sealed with the first key: %d\n", rows)
			return err
		},
	}
}
