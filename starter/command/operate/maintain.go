package operate

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// NewMigrate makes the command that migrates the database. It is not a client of the API: it only needs DATABASE_URL.
func NewMigrate() *cobra.Command {
	walletRole := ""
	cmd := &cobra.Command{
		Use: "migrate", Short: "Migrate the database at DATABASE_URL to this release",
		Args: terminal.AsUsed,
		Long: `Migrate the database at DATABASE_URL to this release.

DATABASE_URL_FILE may name a file that holds the URL instead. The worker and the API also migrate at
startup; as a separate step, a failed migration stops a deployment before any service is replaced.

--wallet-role names a PostgreSQL role for the worker that serves payments only. It is granted what
payments need in the record, and nothing else.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url, err := databaseURL()
			if err != nil {
				return err
			}

			ctx, stop := terminal.UntilAsked(cmd.Context())
			defer stop()

			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if err := app.Migrate(ctx, url, walletRole, log); err != nil {
				return err
			}

			_, err = fmt.Fprintln(cmd.OutOrStdout(), "the database is up to date")
			return err
		},
	}
	cmd.Flags().StringVar(&walletRole, "wallet-role", "", "PostgreSQL role to grant what the payments worker needs")
	return cmd
}

func databaseURL() (string, error) {
	url := os.Getenv("DATABASE_URL")
	if file := os.Getenv("DATABASE_URL_FILE"); url == "" && file != "" {
		text, err := terminal.ReadText(file)
		if err != nil {
			return "", terminal.UsageError("DATABASE_URL_FILE: " + err.Error())
		}
		url = strings.TrimSpace(string(text))
	}

	if url == "" {
		return "", terminal.UsageError("DATABASE_URL is missing: set it, or set DATABASE_URL_FILE to a file that holds it")
	}
	return url, nil
}

// NewRestored makes the command that repairs the service after a restore. It is not a client of the API: it runs with
// the services' settings while none of them is running.
func NewRestored() *cobra.Command {
	var what app.SetBack
	cmd := &cobra.Command{
		Use:   "restored",
		Short: "Bring the record and Temporal into agreement after restoring either, with all services stopped",
		Args:  terminal.AsUsed,
		Long: `Bring the record and Temporal into agreement after restoring either, with all services stopped.

A backup does not know what was revoked after it was made. If the lost database can still be read, name it
with --lost-database: tokens revoked there stay revoked, people blocked or forgotten there stay so, and
nobody is signed out. Without it all tokens are revoked except the administrator's token from the
settings. If only Temporal's database was lost, give --temporal-only: nothing is revoked.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(os.LookupEnv)
			if err != nil {
				return terminal.UsageError(err.Error())
			}

			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			revoked, err := app.Restored(cmd.Context(), c, log, what)
			if err != nil {
				return err
			}

			if !what.TemporalOnly && what.LostDatabase == "" {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), `everybody is signed out, because what was revoked since the backup is not known: tokens revoked: %d
people who were blocked, forgotten or removed from a workspace since the backup are back: do that again
`, revoked)
			}
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "restored: start the services now")
			}
			return err
		},
	}
	cmd.Flags().StringVar(&what.LostDatabase, "lost-database", "", "URL of the lost database, if it can still be read")
	cmd.Flags().BoolVar(&what.TemporalOnly, "temporal-only", false, "only Temporal's database was lost; the record was not restored")
	cmd.MarkFlagsMutuallyExclusive("lost-database", "temporal-only")
	return cmd
}

// NewReseal makes the command that re-encrypts tokens. It is not a client of the API: it reads the keys from the
// services' settings.
func NewReseal() *cobra.Command {
	return &cobra.Command{
		Use:   "reseal",
		Short: "Re-encrypt the OAuth tokens in the database with the first key of STAGECOACH_ENCRYPTION_KEY",
		Args:  terminal.AsUsed,
		Long: `Re-encrypt the OAuth tokens in the database with the first key of STAGECOACH_ENCRYPTION_KEY.

Every service must already have this key; the services may keep running. Afterwards the other keys are no
longer needed for tokens in the database.`,
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

// NewVersion makes the command that shows what this program was built from. It is not a client of the API.
func NewVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version of this program, its commit and its Go version",
		Args: terminal.AsUsed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.OutOrStdout(), asJSON, app.ThisBuild(), app.ThisBuild().String())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the response as JSON")
	return cmd
}
