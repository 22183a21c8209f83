package operate

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/starter/terminal"
)

func NewMigrate() *cobra.Command {
	return &cobra.Command{
		Use: "migrate", Short: "Bring the schema of the database that DATABASE_URL names up to date, and end",
		Args: terminal.Between(0, 0),
		Long: `Bring the schema of the database that DATABASE_URL names up to date, and end.

DATABASE_URL_FILE may name a file that holds it. Worker and API do the same when they start: as a
step of its own it fails before anything is replaced.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := databaseURL()
			if err != nil {
				return err
			}
			ctx, stopListening := terminal.UntilAsked(cmd.Context())
			defer stopListening()
			return migrate(ctx, cmd, url)
		},
	}
}

func migrate(ctx context.Context, cmd *cobra.Command, url string) error {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	if err := app.Migrate(ctx, url, log); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "the database is up to date")
	return err
}

func databaseURL() (string, error) {
	url := os.Getenv("DATABASE_URL")
	if file := os.Getenv("DATABASE_URL_FILE"); url == "" && file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", terminal.UsageError("DATABASE_URL_FILE: the file cannot be read")
		}
		url = strings.TrimSpace(string(content))
	}

	if url == "" {
		return "", terminal.UsageError("DATABASE_URL must be set, or DATABASE_URL_FILE must name a file that holds it")
	}
	return url, nil
}
