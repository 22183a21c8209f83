package operate

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// NewRestored makes the command that repairs the service after a restore. It is no client of the API: it runs with the
// settings of the services while none of them runs.
func NewRestored() *cobra.Command {
	return &cobra.Command{
		Use:   "restored",
		Short: "Make the record and Temporal agree after a restore of either, while no service runs",
		Args:  terminal.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(os.LookupEnv)
			if err != nil {
				return terminal.UsageError(err.Error())
			}

			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if err := app.Restored(cmd.Context(), c, log); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "restored: start the services now")
			return err
		},
	}
}
