package operate

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/starter/terminal"
)

// NewMigrate makes the command that migrates the database. It is no client of the API: it needs DATABASE_URL alone.
func NewMigrate() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Migrate the database that DATABASE_URL names to this release",
		Args: terminal.Exactly(0),
		Long: `Migrate the database that DATABASE_URL names to this release.

DATABASE_URL_FILE may name a file that holds the URL instead. The worker and the API migrate too
when they start; as a step of its own, a migration can fail before a service is replaced.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := databaseURL()
			if err != nil {
				return err
			}

			ctx, stop := terminal.UntilAsked(cmd.Context())
			defer stop()

			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if err := app.Migrate(ctx, url, log); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the database is up to date")
			return err
		},
	}
}

func databaseURL() (string, error) {
	url := os.Getenv("DATABASE_URL")
	if file := os.Getenv("DATABASE_URL_FILE"); url == "" && file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", terminal.UsageError("DATABASE_URL_FILE names a file that cannot be read: check its path and permissions")
		}
		url = strings.TrimSpace(string(content))
	}

	if url == "" {
		return "", terminal.UsageError("DATABASE_URL is missing: set it, or let DATABASE_URL_FILE name a file that holds it")
	}
	return url, nil
}
