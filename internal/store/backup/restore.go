package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store"
)

// sessionsEnd is how long the sessions of services just stopped may take to end.
const sessionsEnd = 5 * time.Second

// seeded are the tables to which migrations add rows. All others are empty in a new database.
var seeded = []string{"counted", "download_sync", "event_floor", "notice_cursor", "switches", "webhook_cursor"}

// Result describes a restore.
type Result struct {
	Checked           bool     `json:"checked"`            // restored only to verify, then dropped
	Schema            int64    `json:"schema_now"`         // after this release's migrations
	LedgerDifferences int      `json:"ledger_differences"` // accounts and entries whose sums are wrong, as they were in the record
	LeftOut           []string `json:"left_out,omitempty"` // tables that are not ours
	Backup            Manifest `json:"backup"`
}

// Restore restores the backup into an empty database without other connections, and migrates it to this release. All
// rows appear with the one transaction that ends it; an error leaves none.
func (f *File) Restore(ctx context.Context, url string, tell Progress) (r Result, err error) {
	r.Backup = f.Manifest
	if r.Schema, err = store.SchemaVersion(); err != nil {
		return r, err
	}
	if f.Schema > r.Schema {
		return r, fmt.Errorf(
			"the backup has schema version %d, this release knows %d: restore it with release %s", f.Schema, r.Schema, f.Program,
		)
	}

	conn, err := connect(ctx, url)
	if err != nil {
		return r, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	if err := wantUnused(ctx, conn, f.Schema); err != nil {
		return r, err
	}
	if err := store.MigrateTo(ctx, url, f.Schema); err != nil {
		return r, err
	}

	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if r.LeftOut, err = f.load(ctx, tx, tell); err != nil {
			return err
		}
		return tx.QueryRow(ctx, ledgerSQL).Scan(&r.LedgerDifferences)
	})
	if err != nil {
		return r, err
	}

	if err := store.MigrateTo(ctx, url, r.Schema); err != nil {
		return r, err
	}
	_, err = conn.Exec(ctx, "ANALYZE") // so that the first queries are planned with statistics
	return r, err
}

// wantUnused refuses a database that is in use, that has rows, or whose schema is newer than the backup's.
func wantUnused(ctx context.Context, conn *pgx.Conn, schema int64) error {
	if err := wantAlone(ctx, conn); err != nil {
		return err
	}

	var migrated bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('goose_db_version') IS NOT NULL`).Scan(&migrated); err != nil {
		return err
	}

	if migrated {
		var version int64
		row := conn.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`)
		if err := row.Scan(&version); err != nil {
			return err
		}
		if version > schema {
			return fmt.Errorf("the database has schema version %d already, the backup %d: create an empty one", version, schema)
		}
	}

	tables, err := tablesOf(ctx, conn)
	if err != nil {
		return err
	}
	return wantEmpty(ctx, conn, tables)
}

// wantAlone refuses a database with other sessions. Only our services can tell which of them are theirs.
func wantAlone(ctx context.Context, conn *pgx.Conn) error {
	for deadline := time.Now().Add(sessionsEnd); ; time.Sleep(200 * time.Millisecond) {
		var others []string
		err := conn.QueryRow(ctx, `SELECT array_agg(format('pid %s of %s', pid, usename)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL`).Scan(&others)
		if err != nil || len(others) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the database is in use (%s): stop every service first", strings.Join(others, ", "))
		}
	}
}

func wantEmpty(ctx context.Context, db querier, tables []Table) error {
	var checks []string
	for _, table := range tables {
		if !slices.Contains(seeded, table.Name) {
			checks = append(checks, fmt.Sprintf(
				`SELECT '%s' WHERE EXISTS (SELECT FROM %s)`, table.Name, pgx.Identifier{table.Name}.Sanitize(),
			))
		}
	}
	if len(checks) == 0 {
		return nil
	}

	rows, err := db.Query(ctx, strings.Join(checks, " UNION ALL "))
	if err != nil {
		return err
	}
	full, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(full) == 0 {
		return err
	}
	return fmt.Errorf(
		"the database is not empty: it has rows in %s. Create an empty one, and keep this one until the restore is done",
		strings.Join(full, ", "),
	)
}

// load copies all rows. Foreign keys are dropped and re-created, because tables reference each other in a cycle;
// PostgreSQL then checks all rows. Triggers are disabled: they are for changes, not for rows that have already been
// through them.
func (f *File) load(ctx context.Context, tx pgx.Tx, tell Progress) (leftOut []string, err error) {
	tables, err := tablesOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	ours, leftOut, err := f.choose(tables)
	if err != nil {
		return nil, err
	}

	// Services that start meanwhile wait.
	if err := lock(ctx, tx, tables, "ACCESS EXCLUSIVE"); err != nil {
		return nil, err
	}
	if err := wantEmpty(ctx, tx, tables); err != nil {
		return nil, err
	}

	drops, adds, err := foreignKeys(ctx, tx)
	if err != nil {
		return nil, err
	}
	statements := slices.Concat(drops, triggers(tables, "DISABLE"))
	for _, table := range tables {
		if slices.Contains(seeded, table.Name) { // by the migrations: the backup has its own rows
			statements = append(statements, "DELETE FROM "+pgx.Identifier{table.Name}.Sanitize())
		}
	}
	if err := run(ctx, tx, statements); err != nil {
		return nil, err
	}

	for _, table := range ours {
		if err := f.copyIn(ctx, tx, table, tell); err != nil {
			return nil, fmt.Errorf("%s: %w", table.Name, err)
		}
	}

	for name, last := range f.Sequences {
		_, err := tx.Exec(ctx, `SELECT setval(s, $2) FROM to_regclass(format('%I.%I', current_schema(), $1::text)) s WHERE s IS NOT NULL`, name, last)
		if err != nil {
			return nil, err
		}
	}
	return leftOut, run(ctx, tx, slices.Concat(triggers(tables, "ENABLE"), adds))
}

// choose returns the backup's tables that the migrations create, and names the others, which were added by someone
// else. It rejects a backup in which one is missing or has other columns.
func (f *File) choose(tables []Table) (ours []Table, others []string, err error) {
	for _, table := range f.Tables {
		same := func(t Table) bool { return t.Name == table.Name && slices.Equal(t.Columns, table.Columns) }
		if slices.ContainsFunc(tables, same) {
			ours = append(ours, table)
		} else {
			others = append(others, table.Name)
		}
	}

	if len(ours) != len(tables) {
		return nil, nil, fmt.Errorf(
			"the tables of the backup are not those of schema version %d in this release: restore it with release %s", f.Schema, f.Program,
		)
	}
	return ours, others, nil
}

func (f *File) copyIn(ctx context.Context, tx pgx.Tx, table Table, tell Progress) error {
	entry, err := f.archive.Open(entryName(table.Name))
	if err != nil {
		return err
	}
	defer entry.Close()

	count := &meter{ctx: ctx, table: table.Name, tell: tell}
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, io.TeeReader(entry, count), "COPY "+table.sql()+" FROM STDIN")
	if err != nil {
		return err
	}
	if tag.RowsAffected() != table.Rows {
		return errors.New("the number of rows is not the one that the backup names")
	}
	return nil
}

// foreignKeys returns the statements that drop and add the foreign keys.
func foreignKeys(ctx context.Context, tx pgx.Tx) (drops, adds []string, err error) {
	rows, err := tx.Query(ctx, `SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
			format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
		FROM pg_constraint WHERE contype = 'f' AND conparentid = 0 AND connamespace = current_schema()::regnamespace ORDER BY oid`)
	if err != nil {
		return nil, nil, err
	}

	var drop, add string
	_, err = pgx.ForEachRow(rows, []any{&drop, &add}, func() error {
		drops, adds = append(drops, drop), append(adds, add)
		return nil
	})
	return drops, adds, err
}

func triggers(tables []Table, change string) (statements []string) {
	for _, table := range tables {
		statements = append(statements, "ALTER TABLE "+pgx.Identifier{table.Name}.Sanitize()+" "+change+" TRIGGER USER")
	}
	return statements
}

func run(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// ledgerSQL counts accounts whose balance is not the sum of their postings, and entries whose sum is not zero.
const ledgerSQL = `SELECT
	(SELECT count(*) FROM (SELECT entry_id FROM ledger_postings GROUP BY 1 HAVING sum(amount_nano) <> 0) e) +
	(SELECT count(*) FROM (
			SELECT e.wallet, p.account, sum(p.amount_nano) AS n
			FROM ledger_postings p JOIN ledger_entries e ON e.id = p.entry_id GROUP BY 1, 2
		) p FULL JOIN ledger_balances b USING (wallet, account)
		WHERE coalesce(p.n, 0) <> coalesce(b.balance_nano, 0))`
