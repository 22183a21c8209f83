package testdb

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Querier is a connection, or a pool of them.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Record is a checksum of each table.
type Record map[string]string

// Traces are the tables that a refused request may change: it is audited.
var Traces = []string{"audit_log"}

// RecordOf reads the checksum of each table except some. The time of a token's last use is not included.
func RecordOf(t testing.TB, db Querier, besides ...string) Record {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
		AND relnamespace = 'public'::regnamespace AND relname <> ALL ($1) ORDER BY 1`, append([]string{}, besides...))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 30 {
		t.Fatal(tables, err)
	}

	sums := make([]string, len(tables))
	for i, table := range tables {
		row := `t::text`
		if table == "tokens" {
			row = `(to_jsonb(t) - 'last_used_at')::text`
		}
		sums[i] = fmt.Sprintf(`SELECT '%s', md5(coalesce(string_agg(%s, '|' ORDER BY %[2]s), '')) FROM %[1]s t`, table, row)
	}
	rows, err = db.Query(t.Context(), strings.Join(sums, " UNION ALL "))
	if err != nil {
		t.Fatal(err)
	}

	record, table, sum := Record{}, "", ""
	if _, err := pgx.ForEachRow(rows, []any{&table, &sum}, func() error {
		record[table] = sum
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return record
}

// Changed lists the tables that differ in a later record.
func (r Record) Changed(later Record) (tables []string) {
	for table, sum := range later {
		if r[table] != sum {
			tables = append(tables, table)
		}
	}
	slices.Sort(tables)
	return tables
}
