package operate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"stagecoach/internal/app"
	"stagecoach/internal/config"
	"stagecoach/internal/store/backup"
	"stagecoach/starter/terminal"
)

// NewBackup makes the command that writes a backup. It is not a client of the API: it needs DATABASE_URL and a public
// key.
func NewBackup() *cobra.Command {
	var to []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "backup FILE", Args: terminal.AsUsed,
		Short: "Back up the record to one encrypted file, while the service runs",
		Long: `Back up the record to one encrypted file, while the service runs.

The file holds a consistent snapshot of the database at DATABASE_URL, the settings of this environment
without secrets, and versions. FILE is replaced once the backup is complete; starter status then shows
its time; "-" is standard output. Restoring it takes the secret key of one of the --to keys. OAuth tokens
stay encrypted in the file, and it contains neither STAGECOACH_ENCRYPTION_KEY nor any other secret.`,
		Example: "  starter backup stagecoach.age --to backup.pub",
		RunE: func(cmd *cobra.Command, args []string) error {
			recipients, err := recipientsOf(to)
			if err != nil {
				return err
			}
			url, err := databaseURL()
			if err != nil {
				return err
			}

			ctx, stop := terminal.UntilAsked(cmd.Context())
			defer stop()

			m := backup.Manifest{Program: app.Version, Temporal: app.TemporalVersion(ctx), Settings: openSettings()}
			write := func(w io.Writer) error {
				m, err = backup.Write(ctx, url, w, recipients, m, showProgress(cmd.ErrOrStderr(), nil))
				return err
			}

			out := cmd.OutOrStdout()
			if args[0] == "-" {
				err, out = write(out), cmd.ErrOrStderr()
			} else {
				err = replaceFile(args[0], write)
			}
			if err != nil {
				return err
			}

			if err := m.Note(ctx, url); err != nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "the backup is complete, but its time was not recorded:", terminal.Printable(err.Error()))
			}
			return show(out, asJSON, m, "backup: "+contents(m))
		},
	}

	cmd.Flags().StringArrayVar(&to, "to", nil, "a public key from starter backup-key, or a file with such keys")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the backup's contents as JSON")
	return cmd
}

// openSettings are this environment's settings that are not secret.
func openSettings() map[string]string {
	settings := map[string]string{}
	for _, setting := range config.Settings() {
		if value := os.Getenv(setting.Name); value != "" && !setting.Secret {
			settings[setting.Name] = value
		}
	}
	return settings
}

// replaceFile writes a file that only its owner may read, and renames it into place once it is complete and on disk.
func replaceFile(name string, write func(io.Writer) error) error {
	folder := filepath.Dir(name)
	file, err := os.CreateTemp(folder, "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // after success this name is gone
	defer file.Close()

	if err := write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), name); err != nil {
		return err
	}

	names, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer names.Close()
	return names.Sync() // so that the name survives a power failure
}

// NewRestore makes the command that restores a backup. It is not a client of the API: it needs DATABASE_URL and the
// secret key.
func NewRestore() *cobra.Command {
	var identity, on string
	var check, asJSON bool
	cmd := &cobra.Command{
		Use: "restore FILE", Args: terminal.AsUsed,
		Short: "Restore a backup into an empty database, or check that it can be restored",
		Long: `Restore a backup into an empty database, or check that it can be restored.

The database at DATABASE_URL must be empty, and no service may be running. A truncated or altered file
is refused, and an error leaves no rows behind. Run starter restored afterwards.

--check restores into a temporary database and drops it: on the server of DATABASE_URL, or on the
server given with --on.`,
		Example: "  starter restore stagecoach.age --identity backup.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			if on != "" && !check {
				return terminal.UsageError("--on is only for --check: a restore goes into the database at DATABASE_URL")
			}
			identities, err := identitiesOf(identity)
			if err != nil {
				return err
			}
			url := on
			if url == "" {
				if url, err = databaseURL(); err != nil {
					return err
				}
			}

			ctx, stop := terminal.UntilAsked(cmd.Context())
			defer stop()

			file, err := backup.Open(ctx, args[0], identities)
			if err != nil {
				return err
			}
			defer file.Close()

			restore := file.Restore
			if check {
				restore = file.Check
			}
			result, err := restore(ctx, url, showProgress(cmd.ErrOrStderr(), file.Tables))
			if err != nil {
				return err
			}
			return showRestore(cmd.OutOrStdout(), asJSON, result)
		},
	}

	cmd.Flags().StringVar(&identity, "identity", "", "the file with the secret key")
	cmd.Flags().BoolVar(&check, "check", false, "restore into a temporary database, which is dropped afterwards")
	cmd.Flags().StringVar(&on, "on", "", "with --check: URL of another PostgreSQL server, with an account that may create databases")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was restored as JSON")
	return cmd
}

// showRestore shows what was restored. A check fails when the ledger does not balance; a restore keeps the data anyway.
func showRestore(w io.Writer, asJSON bool, r backup.Result) error {
	what, next, ledger := "restored: ", "next: starter restored", "the ledger balances"
	if r.Checked {
		what, next = "can be restored: ", "the temporary database is dropped"
	}
	if r.LedgerDifferences > 0 {
		ledger = fmt.Sprintf("%d sums of the ledger do not balance, as in the record", r.LedgerDifferences)
	}

	if len(r.LeftOut) > 0 {
		next = "left out, because they are not part of Stagecoach: tables " + terminal.Printable(strings.Join(r.LeftOut, ", ")) + "\n" + next
	}

	text := fmt.Sprintf("%s%s\n%s; the schema is now at version %d\n%s", what, contents(r.Backup), ledger, r.Schema, next)
	if err := show(w, asJSON, r, text); err != nil {
		return err
	}
	if r.Checked && r.LedgerDifferences > 0 {
		return fmt.Errorf("the backup can be restored, but %s", ledger)
	}
	return nil
}

// NewBackupKey makes the command that creates a key for backups.
func NewBackupKey() *cobra.Command {
	return &cobra.Command{
		Use: "backup-key FILE", Args: terminal.AsUsed,
		Short: "Create a key pair for backups: write the secret key to FILE, print the public key",
		Long: `Create a key pair for backups: write the secret key to FILE, print the public key.

Anyone who has FILE can read all backups made for this key, and without it none can be restored: keep it
with the wallet's mnemonic, and away from the machine that makes backups. Keys of age-keygen work too.
With "-" the secret key goes to standard output, with the public key in the first line.`,
		Example: "  starter backup-key backup.key > backup.pub",
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := age.GenerateX25519Identity()
			if err != nil {
				return err
			}
			write := func(w io.Writer) error {
				_, err := fmt.Fprintf(w, "# public key: %s\n%s\n", key.Recipient(), key)
				return err
			}

			if args[0] == "-" {
				return write(cmd.OutOrStdout())
			}
			if _, err := os.Lstat(args[0]); err == nil {
				return fmt.Errorf("%s already exists: backups for its key cannot be restored without it", args[0])
			}
			if err := replaceFile(args[0], write); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), key.Recipient())
			return err
		},
	}
}

// recipientsOf parses public keys, and files with public keys.
func recipientsOf(to []string) (all []age.Recipient, err error) {
	for _, one := range to {
		text := []byte(one)
		if !strings.HasPrefix(one, "age1") {
			if text, err = terminal.ReadText(one); err != nil {
				return nil, terminal.UsageError("--to is neither a public key nor a readable file: " + err.Error())
			}
		}

		recipients, err := age.ParseRecipients(bytes.NewReader(text))
		if err != nil {
			return nil, terminal.UsageError("--to has no public key from starter backup-key or age-keygen: " + err.Error())
		}
		all = append(all, recipients...)
	}

	if len(all) == 0 {
		return nil, terminal.UsageError("--to is missing: create a key first, with starter backup-key")
	}
	return all, nil
}

// identitiesOf reads the file with the secret key.
func identitiesOf(name string) ([]age.Identity, error) {
	if name == "" {
		return nil, terminal.UsageError("--identity is missing: give the secret key file from starter backup-key")
	}
	text, err := terminal.ReadText(name)
	if err != nil {
		return nil, terminal.UsageError("--identity: " + err.Error())
	}

	identities, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil { // whose text may quote the file
		return nil, terminal.UsageError("--identity: no secret key from starter backup-key or age-keygen in " + name)
	}
	return identities, nil
}

// showProgress returns a function that writes a line every few seconds; tables has the row counts, where known.
func showProgress(w io.Writer, tables []backup.Table) backup.Progress {
	const every = 3 * time.Second
	of := map[string]string{}
	for _, table := range tables {
		of[table.Name] = fmt.Sprintf(" of %d", table.Rows)
	}

	shown := time.Now()
	return func(table string, rows, bytes int64) {
		if time.Since(shown) >= every {
			shown = time.Now()
			fmt.Fprintf(w, "%s: %d%s rows, %s\n", terminal.Printable(table), rows, of[table], terminal.BytesText(bytes))
		}
	}
}

// contents summarizes a backup.
func contents(m backup.Manifest) string {
	return terminal.Printable(fmt.Sprintf(
		"%d rows of %d tables, of %s; Stagecoach %s, schema %d, PostgreSQL %s, Temporal %s", m.Rows(), len(m.Tables),
		terminal.When(m.CreatedAt), m.Program, m.Schema, m.PostgreSQL, cmp.Or(m.Temporal, "did not answer"),
	))
}

// show writes a text, or the value as JSON.
func show(w io.Writer, asJSON bool, value any, text string) error {
	if !asJSON {
		_, err := fmt.Fprintln(w, text)
		return err
	}
	document, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return terminal.Verbatim(w, document)
}
