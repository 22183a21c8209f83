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

// NewMigrate makes the command that migrates the database. It is no client of the API: it needs DATABASE_URL alone.
func NewMigrate() *cobra.Command {
	walletRole := ""
	cmd := &cobra.Command{
		Use: "migrate", Short: "Migrate the database that DATABASE_URL names to this release",
		Args: terminal.AsUsed,
		Long: `Migrate the database that DATABASE_URL names to this release.

DATABASE_URL_FILE may name a file that holds the URL instead. The worker and the API migrate too
when they start; as a step of its own, a migration can fail before a service is replaced.

--wallet-role names a role of PostgreSQL for the worker that serves payments alone. It may then do
with the record what payments need, and nothing else.`,
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
	cmd.Flags().StringVar(&walletRole, "wallet-role", "", "grant this role of PostgreSQL what the process for payments needs")
	return cmd
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

// NewRestored makes the command that repairs the service after a restore. It is no client of the API: it runs with the
// settings of the services while none of them runs.
func NewRestored() *cobra.Command {
	return &cobra.Command{
		Use:   "restored",
		Short: "Make the record and Temporal agree after a restore of either, while no service runs",
		Args:  terminal.AsUsed,
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

// NewReseal makes the command that re-encrypts tokens. It is no client of the API: it reads the keys from the services'
// settings.
func NewReseal() *cobra.Command {
	return &cobra.Command{
		Use:   "reseal",
		Short: "Encrypt the OAuth tokens in the database again, with the first key of STAGECOACH_ENCRYPTION_KEY",
		Args:  terminal.AsUsed,
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

// NewVersion makes the command that says what this program was built from. It is no client of the API.
func NewVersion() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Show the version of this program, and the commit and the Go that it was built from",
		Args: terminal.AsUsed,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.OutOrStdout(), asJSON, app.ThisBuild(), app.ThisBuild().String())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the answer as JSON")
	return cmd
}
