package operate

import (
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

// NewBackup makes the command that writes a backup. It is no client of the API: it needs DATABASE_URL and a public key.
func NewBackup() *cobra.Command {
	var to []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "backup FILE", Args: terminal.AsUsed,
		Short: "Write the record into one encrypted file, while the service runs",
		Long: `Write the record into one encrypted file, while the service runs.

The file has the database that DATABASE_URL names as it is at one moment, the settings of this
environment without secrets, and versions. FILE is replaced once the backup is complete; "-" is
standard output. The secret key that belongs to a public key of --to restores it. OAuth tokens stay
encrypted in it, and STAGECOACH_ENCRYPTION_KEY is not in it, nor is any other secret.`,
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

			return show(out, asJSON, m, "backup: "+contents(m))
		},
	}

	cmd.Flags().StringArrayVar(&to, "to", nil, "a public key that starter backup-key has printed, or a file with such keys")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what is in the backup as JSON")
	return cmd
}

// openSettings are the settings of this environment that are no secrets.
func openSettings() map[string]string {
	settings := map[string]string{}
	for _, setting := range config.Settings() {
		if value := os.Getenv(setting.Name); value != "" && !setting.Secret {
			settings[setting.Name] = value
		}
	}
	return settings
}

// replaceFile writes a file that only its owner may read, and gives it its name when it is complete and on the disk.
func replaceFile(name string, write func(io.Writer) error) error {
	folder := filepath.Dir(name)
	file, err := os.CreateTemp(folder, "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // there is none by this name after success
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

// NewRestore makes the command that restores a backup. It is no client of the API: it needs DATABASE_URL and the secret
// key.
func NewRestore() *cobra.Command {
	var identity, on string
	var check, asJSON bool
	cmd := &cobra.Command{
		Use: "restore FILE", Args: terminal.AsUsed,
		Short: "Restore a backup into an empty database, or check that it can be restored",
		Long: `Restore a backup into an empty database, or check that it can be restored.

The database that DATABASE_URL names must be empty, and no service may run. A file that is truncated
or was altered is refused, and an error leaves no row. Run starter restored afterwards.

--check restores into a database of its own and drops it: beside the one that DATABASE_URL names, or
on the server that --on names.`,
		Example: "  starter restore stagecoach.age --identity backup.key",
		RunE: func(cmd *cobra.Command, args []string) error {
			if on != "" && !check {
				return terminal.UsageError("--on is for --check: a restore goes into the database that DATABASE_URL names")
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
	cmd.Flags().BoolVar(&check, "check", false, "restore into a database that is dropped again")
	cmd.Flags().StringVar(&on, "on", "", "with --check: the URL of another PostgreSQL, whose account may create databases")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was restored as JSON")
	return cmd
}

// showRestore says what was restored. A check fails when the ledger does not balance; a restore keeps what there is.
func showRestore(w io.Writer, asJSON bool, r backup.Result) error {
	what, next, ledger := "restored: ", "next: starter restored", "the ledger balances"
	if r.Checked {
		what, next = "can be restored: ", "the database of the check is dropped"
	}
	if r.LedgerDifferences > 0 {
		ledger = fmt.Sprintf("%d sums of the ledger are wrong, as they were in the record", r.LedgerDifferences)
	}

	if len(r.LeftOut) > 0 {
		next = "left out, because they are not ours: tables " + terminal.Printable(strings.Join(r.LeftOut, ", ")) + "\n" + next
	}

	text := fmt.Sprintf("%s%s\n%s; the schema has version %d now\n%s", what, contents(r.Backup), ledger, r.Schema, next)
	if err := show(w, asJSON, r, text); err != nil {
		return err
	}
	if r.Checked && r.LedgerDifferences > 0 {
		return fmt.Errorf("the backup can be restored, but %s", ledger)
	}
	return nil
}

// NewBackupKey makes the command that makes a key for backups.
func NewBackupKey() *cobra.Command {
	return &cobra.Command{
		Use: "backup-key FILE", Args: terminal.AsUsed,
		Short: "Make a key for backups: the secret one goes into FILE, the public one is printed",
		Long: `Make a key for backups: the secret one goes into FILE, the public one is printed.

Whoever has FILE can read all backups for the key, and without it none can be restored: keep it where
the wallet's words are, and away from the machine that makes backups. Keys of age-keygen do as well.
With "-" the secret key goes to standard output, with the public one in its first line.`,
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
				return fmt.Errorf("%s exists: the backups for its key need it", args[0])
			}
			if err := replaceFile(args[0], write); err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), key.Recipient())
			return err
		},
	}
}

// recipientsOf reads public keys, and files with public keys.
func recipientsOf(to []string) (all []age.Recipient, err error) {
	for _, one := range to {
		text := []byte(one)
		if !strings.HasPrefix(one, "age1") {
			if text, err = os.ReadFile(one); err != nil {
				return nil, terminal.UsageError("--to is neither a public key nor a file that can be read: " + err.Error())
			}
		}

		recipients, err := age.ParseRecipients(strings.NewReader(string(text)))
		if err != nil {
			return nil, terminal.UsageError("--to has no public key of starter backup-key or age-keygen: " + err.Error())
		}
		all = append(all, recipients...)
	}

	if len(all) == 0 {
		return nil, terminal.UsageError("--to is missing: make a key once, with starter backup-key")
	}
	return all, nil
}

// identitiesOf reads the file with the secret key.
func identitiesOf(name string) ([]age.Identity, error) {
	if name == "" {
		return nil, terminal.UsageError("--identity is missing: the file that starter backup-key has written")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, terminal.UsageError("--identity: " + err.Error())
	}
	defer file.Close()

	identities, err := age.ParseIdentities(file)
	if err != nil { // whose text may quote the file
		return nil, terminal.UsageError("--identity: there is no secret key of starter backup-key or age-keygen in " + name)
	}
	return identities, nil
}

// showProgress returns a function that writes a line every few seconds; tables has the numbers of rows, where they are
// known.
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

// contents says what a backup has.
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
