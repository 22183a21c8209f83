package backup_test

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store/backup"
)

func TestMain(m *testing.M) { testdb.Main(m) }

var roles atomic.Int64

// rig is a record with rows, and a key for its backups.
type rig struct {
	*testing.T
	url string // of the record
	db  *pgx.Conn
	key *age.X25519Identity
}

func newRig(t *testing.T) *rig {
	t.Helper()
	key, err := age.GenerateX25519Identity()
	r := &rig{T: t, url: testdb.URL(t), key: key}
	r.must(err)
	r.db = testdb.Connect(t, r.url)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) exec(sql string, args ...any) {
	r.Helper()
	_, err := r.db.Exec(r.Context(), sql, args...)
	r.must(err)
}

// fill writes rows into all kinds of tables: partitions, a generated column, circular and self references, and texts
// that PostgreSQL must escape.
func (r *rig) fill() {
	r.Helper()
	r.exec(inWallet(`
		INSERT INTO users (name, telegram_id, status) SELECT E'Ann\t\\N\\\n"ü" ' || n, n, 'ACTIVE' FROM generate_series(1, 50) n;
		INSERT INTO users (name, status, owner_id) VALUES ('', 'ACTIVE', 1);
		INSERT INTO tokens (user_id, name, hash, scopes) SELECT n, 't', sha256(n::text::bytea), '{read,"a b"}' FROM generate_series(1, 50) n;
		UPDATE users SET made_by = 2 WHERE id = 1;
		INSERT INTO audit_log (actor_id, action, outcome, door) VALUES (1, 'a', 'done', 'cli');
		INSERT INTO files (path, parent, name, folded, is_folder, size, modified_at)
			SELECT '/report ' || n, '/', 'report', 'report', false, 1, now() FROM generate_series(1, 50) n;
		INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source)
			SELECT lpad(n::text, 64, '0'), n, n, 'f', 1, 'api' FROM generate_series(1, 50) n;
		INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('one', 1, '{"NEW": 1.5}'), ('two', 2, '{}');
		INSERT INTO tasks (workspace_id, title, creator_id) SELECT 1, 'a title', 1 FROM generate_series(1, 50);
		INSERT INTO task_blockers SELECT n, n - 1 FROM generate_series(2, 50) n;
		INSERT INTO events (workload, entity_id, seq, type, to_state, actor_id) SELECT w, n::text, 1, 't', 'S', 1
			FROM generate_series(1, 200) n, unnest('{delivery,task,download,book,transaction,webhook}'::text[]) w;
		INSERT INTO ton_wallets (address, cursor_lt, cursor_hash) VALUES ('$W', 0, '');
		INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment) SELECT encode(sha256(n::text::bytea), 'hex'), '$W', n, 1, 's', ''
			FROM generate_series(1, 50) n;
		INSERT INTO payments (kind, transaction_hash, attempt, wallet, seqno, valid_until, boc, hash_norm, destination, amount_nano, reserved_nano, body_hash)
			SELECT 'purchase', hash, 1, '$W', 1, now(), '\x00ff0a5c', hash, 'd', 1, 1, hash FROM transactions LIMIT 1`))
	for n := range 20 {
		r.must(r.transfer(r.Context(), r.db, n))
	}
}

// inWallet inserts the wallet into a statement.
func inWallet(sql string) string { return strings.ReplaceAll(sql, "$W", "0:"+strings.Repeat("a", 64)) }

// transfer writes a ledger entry with its postings and balances, and an event, in one transaction.
func (r *rig) transfer(ctx context.Context, db *pgx.Conn, n int) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, inWallet(fmt.Sprintf(`
			WITH e AS (INSERT INTO ledger_entries (cause, wallet) VALUES ('test/%d', '$W') RETURNING id)
			INSERT INTO ledger_postings SELECT id, unnest('{wallet,other}'::text[]), unnest('{5,-5}'::bigint[]) FROM e;
			INSERT INTO ledger_balances VALUES ('$W', 'wallet', 5), ('$W', 'other', -5)
				ON CONFLICT (wallet, account) DO UPDATE SET balance_nano = ledger_balances.balance_nano + EXCLUDED.balance_nano;
			INSERT INTO events (workload, entity_id, seq, type, to_state) VALUES ('task', 'transfer %[1]d', 1, 't', 'S')`, n)))
		return err
	})
}

// backup writes a backup to a file.
func (r *rig) backup() (string, backup.Manifest) {
	r.Helper()
	var content bytes.Buffer
	m, err := backup.Write(
		r.Context(), r.url, &content, []age.Recipient{r.key.Recipient()},
		backup.Manifest{Program: "1", Settings: map[string]string{"A": "b"}}, quiet,
	)
	r.must(err)
	return r.file(content.Bytes()), m
}

func (r *rig) file(content []byte) string {
	r.Helper()
	name := filepath.Join(r.TempDir(), "backup.age")
	r.must(os.WriteFile(name, content, 0o600))
	return name
}

func (r *rig) open(name string) *backup.File {
	r.Helper()
	f, err := backup.Open(r.Context(), name, []age.Identity{r.key})
	r.must(err)
	r.Cleanup(func() { _ = f.Close() })
	return f
}

// empty returns the address of an empty database owned by an ordinary account, like a service's.
func (r *rig) empty() string {
	r.Helper()
	address, err := url.Parse(testdb.Bare(r.T))
	r.must(err)
	role := fmt.Sprintf("plain_%d", roles.Add(1))
	database := strings.TrimPrefix(address.Path, "/")
	r.exec(fmt.Sprintf(`CREATE ROLE %s LOGIN PASSWORD 'plain'`, role))
	r.exec(fmt.Sprintf(`ALTER DATABASE %s OWNER TO %s`, database, role))
	address.User = url.UserPassword(role, "plain")
	return address.String()
}

// wantRefused fails the test unless a restore of the file fails for a reason and leaves no row.
func (r *rig) wantRefused(f *backup.File, url, reason string) {
	r.Helper()
	_, err := f.Restore(r.Context(), url, quiet)
	r.wantError(err, reason)
	r.wantNothing(url)
}

func (r *rig) wantError(err error, reason string) {
	r.Helper()
	if err == nil || !strings.Contains(err.Error(), reason) {
		r.Errorf("%v, want an error with %q", err, reason)
	}
}

// wantNothing fails the test if a database has more than a migrated one.
func (r *rig) wantNothing(url string) {
	r.Helper()
	db := testdb.Connect(r.T, url)
	defer db.Close(r.Context())
	var migrated bool
	r.must(db.QueryRow(r.Context(), `SELECT to_regclass('users') IS NOT NULL`).Scan(&migrated))
	if !migrated {
		return
	}

	got := testdb.RecordOf(r.T, db, append(backup.Seeded, "goose_db_version")...)
	fresh := testdb.RecordOf(r.T, testdb.Connect(r.T, testdb.URL(r.T)), append(backup.Seeded, "goose_db_version")...)
	if changed := fresh.Changed(got); len(changed) > 0 {
		r.Errorf("a refused restore has left rows in %v", changed)
	}
}

func quiet(string, int64, int64) {}
