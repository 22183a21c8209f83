package operate

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store/backup"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// runs runs a command and returns its standard output.
func runs(t *testing.T, cmd *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&out)
	cmd.SetErr(new(bytes.Buffer))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// ok is runs for a command that must not fail.
func ok(t *testing.T, cmd *cobra.Command, args ...string) string {
	t.Helper()
	out, err := runs(t, cmd, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestBackupAndRestore creates a key, writes a backup, checks and restores it.
func TestBackupAndRestore(t *testing.T) {
	folder, record, empty := t.TempDir(), testdb.URL(t), testdb.Bare(t)
	key, pub, file := filepath.Join(folder, "backup.key"), filepath.Join(folder, "backup.pub"), filepath.Join(folder, "stagecoach.age")
	t.Setenv("DATABASE_URL", record)
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("STAGECOACH_YANDEX_ROOT", "disk:/shared")
	t.Setenv("STAGECOACH_ADMIN_TOKEN", "a secret of the environment")
	if _, err := testdb.Connect(t, record).Exec(t.Context(), `INSERT INTO users (name, status) VALUES ('Ann', 'ACTIVE')`); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(pub, []byte(ok(t, NewBackupKey(), key)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := runs(t, NewBackupKey(), key); err == nil {
		t.Error("a key was replaced")
	}

	out := ok(t, NewBackup(), file, "--to", pub, "--json")
	var written backup.Manifest
	if err := json.Unmarshal([]byte(out), &written); err != nil || written.Settings["STAGECOACH_YANDEX_ROOT"] != "disk:/shared" {
		t.Errorf("%v: %s", err, out)
	}
	var noted time.Time
	err := testdb.Connect(t, record).QueryRow(t.Context(), `SELECT succeeded_at FROM outside_systems WHERE name = 'backup'`).Scan(&noted)
	if err != nil || noted.Sub(written.CreatedAt).Abs() > time.Millisecond {
		t.Errorf("the record knows of a backup at %v: %v", noted, err)
	}
	if strings.Contains(out, "a secret of") || strings.Contains(out, "postgres://") {
		t.Errorf("a secret is in %s", out)
	}
	for _, name := range []string{key, file} {
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}

	if out := ok(t, NewRestore(), file, "--identity", key, "--check"); !strings.Contains(out, "can be restored: 8 rows") {
		t.Error(out)
	}
	t.Setenv("DATABASE_URL", empty)
	if out := ok(t, NewRestore(), file, "--identity", key); !strings.Contains(out, "next: starter restored") {
		t.Error(out)
	}
	if _, err := runs(t, NewRestore(), file, "--identity", key); err == nil {
		t.Error("it was restored twice")
	}

	var name string
	if err := testdb.Connect(t, empty).QueryRow(t.Context(), `SELECT name FROM users`).Scan(&name); err != nil || name != "Ann" {
		t.Errorf("%q, %v", name, err)
	}

	// To standard output.
	if secret := ok(t, NewBackupKey(), "-"); !strings.HasPrefix(secret, "# public key: age1") || !strings.Contains(secret, "\nAGE-SECRET-KEY-1") {
		t.Error(secret)
	}
	text := ok(t, NewBackup(), "-", "--to", strings.TrimSpace(string(read(t, pub))))
	if !strings.HasPrefix(text, "age-encryption.org/v1") {
		t.Errorf("%.40q", text)
	}
}

// TestFailedBackupReplacesNothing keeps the previous backup, and leaves no other file.
func TestFailedBackupReplacesNothing(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "stagecoach.age")
	if err := os.WriteFile(file, []byte("yesterday's"), 0o600); err != nil {
		t.Fatal(err)
	}

	to := strings.TrimSpace(ok(t, NewBackupKey(), filepath.Join(t.TempDir(), "key")))
	t.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
	t.Setenv("DATABASE_URL", testdb.Bare(t))
	_, err := runs(t, NewBackup(), file, "--to", to)
	names, _ := os.ReadDir(folder)
	if err == nil || len(names) != 1 || string(read(t, file)) != "yesterday's" {
		t.Errorf("%v, %v", err, names)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestDatabaseURLFromFile reads the file in any text encoding, and names a file that is in none of them.
func TestDatabaseURLFromFile(t *testing.T) {
	const url = "postgres://a@b/c"
	file := filepath.Join(t.TempDir(), "url")
	t.Setenv("DATABASE_URL", "")
	t.Setenv("DATABASE_URL_FILE", file)
	wide := strings.Join(strings.Split(url, ""), "\x00") + "\x00"
	for written, isURL := range map[string]bool{
		url + "\n": true, "\ufeff" + url + "\r\n": true, "\xff\xfe" + wide: true, wide: false, url + "\xff": false,
	} {
		if err := os.WriteFile(file, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := databaseURL()
		if isURL && (got != url || err != nil) || !isURL && (err == nil || !strings.Contains(err.Error(), file+" is neither")) {
			t.Errorf("%q: %q, %v", written, got, err)
		}
	}
}
