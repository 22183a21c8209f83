package backup

import (
	"archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
)

var errMigrating = errors.New("the schema is being migrated: make the backup again when that has ended")

// Write writes the record as of one moment, encrypted for the recipients, while services may be running. It reads from
// one snapshot, and blocks only migrations. The caller fills in what the database does not know of the manifest.
func Write(
	ctx context.Context, url string, to io.Writer, recipients []age.Recipient, about Manifest, tell Progress,
) (Manifest, error) {
	conn, err := connect(ctx, url)
	if err != nil {
		return about, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	sealed, err := age.Encrypt(to, recipients...)
	if err != nil {
		return about, err
	}
	archive := zip.NewWriter(sealed)

	if err := about.copyOut(ctx, conn, archive, tell); err != nil {
		return about, err
	}

	entry, err := archive.Create(manifestName)
	if err != nil {
		return about, err
	}
	encoder := json.NewEncoder(entry)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(about); err != nil {
		return about, err
	}
	if err := archive.Close(); err != nil {
		return about, err
	}
	return about, sealed.Close()
}

// Note records that this backup of the record is complete.
func (m *Manifest) Note(ctx context.Context, url string) error {
	conn, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()

	_, err = conn.Exec(ctx, `INSERT INTO outside_systems AS o (name, succeeded_at) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET succeeded_at = greatest(o.succeeded_at, $2)`, operations.Backup, m.CreatedAt)
	return err
}

// copyOut copies all tables in one snapshot and describes them.
func (m *Manifest) copyOut(ctx context.Context, conn *pgx.Conn, archive *zip.Writer, tell Progress) error {
	tables, err := tablesOf(ctx, conn)
	if err != nil {
		return err
	}

	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, conn, snapshot, func(tx pgx.Tx) error {
		// Before the snapshot, which the next statement takes: no table may change its definition after it.
		if err := lock(ctx, tx, tables, "ACCESS SHARE"); err != nil {
			return err
		}

		m.Format = format
		row := tx.QueryRow(ctx, `SELECT now(), current_setting('server_version'), max(version_id)
			FROM goose_db_version WHERE is_applied`)
		if err := row.Scan(&m.CreatedAt, &m.PostgreSQL, &m.Schema); err != nil {
			return err
		}
		if m.Tables, err = tablesOf(ctx, tx); err != nil {
			return err
		}
		if !reflect.DeepEqual(m.Tables, tables) {
			return errMigrating
		}

		for i := range m.Tables {
			if err := m.Tables[i].copyOut(ctx, tx, archive, tell); err != nil {
				return err
			}
		}
		return m.readSequences(ctx, tx)
	})
}

// readSequences reads the sequences, which are not part of a snapshot: after the first statement they are at least as
// high as the numbers in it.
func (m *Manifest) readSequences(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `SELECT sequencename::text, last_value FROM pg_sequences
		WHERE schemaname = current_schema() AND last_value IS NOT NULL AND sequencename NOT LIKE 'goose%'`)
	if err != nil {
		return err
	}

	m.Sequences = map[string]int64{}
	var name string
	var last int64
	_, err = pgx.ForEachRow(rows, []any{&name, &last}, func() error {
		m.Sequences[name] = last
		return nil
	})
	return err
}

func (t *Table) copyOut(ctx context.Context, tx pgx.Tx, archive *zip.Writer, tell Progress) error {
	entry, err := archive.Create(entryName(t.Name))
	if err != nil {
		return err
	}

	count := &meter{ctx: ctx, table: t.Name, tell: tell}
	tag, err := tx.Conn().PgConn().CopyTo(ctx, io.MultiWriter(entry, count), "COPY "+t.sql()+" TO STDOUT")
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}

	t.Rows, t.Bytes = tag.RowsAffected(), count.bytes
	return nil
}

// sql names the table and its columns for a copy.
func (t *Table) sql() string {
	columns := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		columns[i] = pgx.Identifier{column}.Sanitize()
	}
	return pgx.Identifier{t.Name}.Sanitize() + " (" + strings.Join(columns, ", ") + ")"
}

// connect opens a session without time limits, in which values have the same text form whatever the server's
// configuration.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := core.Pool{}.Config(url, nil)
	if err != nil {
		return nil, err
	}

	for name, value := range map[string]string{
		"application_name": "stagecoach backup", "datestyle": "ISO", "intervalstyle": "postgres", "extra_float_digits": "3",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	return pgx.ConnectConfig(ctx, config.ConnConfig)
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// tablesOf lists the tables that contain rows, with their non-generated columns. goose's own table is created by the
// migrations.
func tablesOf(ctx context.Context, db querier) ([]Table, error) {
	rows, err := db.Query(ctx, `SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname <> 'goose_db_version'
		GROUP BY 1 ORDER BY 1`)
	if err != nil {
		return nil, err
	}

	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Table, err error) {
		return t, row.Scan(&t.Name, &t.Columns)
	})
}

// lock locks the tables in a mode until the transaction ends.
func lock(ctx context.Context, tx pgx.Tx, tables []Table, mode string) error {
	names := make([]string, len(tables))
	for i, table := range tables {
		names[i] = pgx.Identifier{table.Name}.Sanitize()
	}
	_, err := tx.Exec(ctx, "LOCK TABLE "+strings.Join(names, ", ")+" IN "+mode+" MODE")
	return err
}
