package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store/notice"
)

// denied reports whether PostgreSQL denies something for lack of permission.
func denied(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "42501"
}

// walletReaches is what the payments role does with the columns of each table: *: all. It has access to no other table.
var walletReaches = map[string]map[string]string{
	"transactions":       {"SELECT": "*", "INSERT": "*", "UPDATE": "*"},
	"payments":           {"SELECT": "*", "INSERT": "*", "UPDATE": "*"},
	"ton_wallets":        {"SELECT": "*", "INSERT": "*", "UPDATE": "*"},
	"chain_transactions": {"SELECT": "*", "INSERT": "*", "UPDATE": "*"},
	"ledger_entries":     {"SELECT": "*", "INSERT": "*"},
	"ledger_postings":    {"SELECT": "*", "INSERT": "*"},
	"ledger_balances":    {"SELECT": "*", "INSERT": "*", "UPDATE": "*"},
	"goose_db_version":   {"SELECT": "*"},
	"users":              {"SELECT": "id telegram_id username"},

	// shared with others: TestTheWalletsRoleReachesItsRowsOnly has each of them
	"events": {
		"SELECT": "*", "INSERT": "workload entity_id seq type from_state to_state actor_id owner_id comment",
	},
	"news":            {"SELECT": "*", "INSERT": "user_id workload entity_id seq due_at"},
	"alerts":          {"SELECT": "*", "INSERT": "kind", "UPDATE": "resolved_at"},
	"switches":        {"SELECT": "*", "UPDATE": "*"},
	"processes":       {"SELECT": "*", "INSERT": "*", "UPDATE": "*", "DELETE": "*"},
	"outside_systems": {"SELECT": "*", "INSERT": "*", "UPDATE": "*"},
}

// TestTheWalletsRoleMayPayOnly tries each column of each table in the schema, like an attacker who has taken over the
// payments process: a new table is refused until it is listed.
func TestTheWalletsRoleMayPayOnly(t *testing.T) {
	t.Parallel()
	address := testdb.URL(t)
	wallet := testdb.Connect(t, testdb.AsWallet(t, address))

	columns := columnsOfAll(t, testdb.Connect(t, address))
	for table := range walletReaches {
		if columns[table] == nil {
			t.Errorf("there is no table %s", table)
		}
	}

	for table, all := range columns {
		for verb, statement := range map[string]string{
			"SELECT": "EXPLAIN SELECT %[2]s FROM %[1]s", "INSERT": "EXPLAIN INSERT INTO %[1]s (%[2]s) VALUES (DEFAULT)",
			"UPDATE": "EXPLAIN UPDATE %[1]s SET %[2]s = DEFAULT", "DELETE": "EXPLAIN DELETE FROM %[1]s",
		} {
			mine := walletReaches[table][verb]
			for _, column := range all {
				_, err := wallet.Exec(t.Context(), fmt.Sprintf(statement, table, column))
				if allowed := mine == "*" || slices.Contains(strings.Fields(mine), column); denied(err) == allowed || err != nil && !denied(err) {
					t.Errorf("%s of %s.%s: %v", verb, table, column, err)
				}
			}
		}
		for _, verb := range []string{"TRUNCATE", "REFERENCES", "TRIGGER"} {
			var may bool
			err := wallet.QueryRow(t.Context(), `SELECT has_table_privilege($1, $2)`, table, verb).Scan(&may)
			if err != nil || may {
				t.Errorf("%s of %s: %t, %v", verb, table, may, err)
			}
		}
	}

	for _, statement := range []string{
		"CREATE TABLE own (id int)", "DROP TABLE payments", "TRUNCATE ledger_balances", "SELECT setval('event_ids', 1)",
		"SELECT * FROM event_ids", "ALTER TABLE events DISABLE ROW LEVEL SECURITY", "DROP POLICY payments ON events",
	} {
		if _, err := wallet.Exec(t.Context(), statement); !denied(err) {
			t.Errorf("%s gave %v", statement, err)
		}
	}
}

// columnsOfAll lists the writable columns of all tables and views in the schema.
func columnsOfAll(t *testing.T, db *pgx.Conn) map[string][]string {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT relname::text, attname::text FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid
		WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
			AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`)
	if err != nil {
		t.Fatal(err)
	}
	columns := map[string][]string{}
	var table, column string
	if _, err := pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		columns[table] = append(columns[table], column)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return columns
}

// TestTheWalletsRoleReachesItsRowsOnly has foreign rows in each table shared by the payments process: it does not see
// them, changes none, and makes none.
func TestTheWalletsRoleReachesItsRowsOnly(t *testing.T) {
	t.Parallel()
	address := testdb.URL(t)
	owner, wallet := testdb.Connect(t, address), testdb.Connect(t, testdb.AsWallet(t, address))
	do := func(db *pgx.Conn, statement string) (int64, error) {
		tag, err := db.Exec(context.WithoutCancel(t.Context()), statement)
		return tag.RowsAffected(), err
	}
	if _, err := do(owner, "INSERT INTO users (id, name, role, status) OVERRIDING SYSTEM VALUE VALUES (1, 'Ada', 'ADMIN', 'ACTIVE')"); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ table, columns, mine, others, change string }{
		{"events", "workload, entity_id, seq, type, to_state", "'transaction', 'e', 1, 'failed', 'failed'", "'task', '1', 1, 'commented', 'NEW'", ""},
		{"events", "workload, entity_id, seq, type, to_state", "'transaction', 'e', 2, 'failed', 'failed'", "'book', '1', 1, 'made', ''", ""},
		{"events", "workload, entity_id, seq, type, to_state, actor_id", "'transaction', 'e', 3, 'failed', 'failed', NULL", "'delivery', '1', 1, 'cancelled', '', 1", ""},
		{"news", "user_id, workload, entity_id, seq, due_at", "1, 'transaction', 'e', 1, now()", "1, 'task', 'e', 1, now()", ""},
		{"news", "user_id, workload, entity_id, seq, due_at", "1, 'small_transfer', 'e', 1, now()", "1, 'webhook', 'e', 1, now()", ""},
		{"alerts", "kind", "'wallet_balance_low'", "'temporal_unreachable'", "resolved_at = now()"},
		{"processes", "identity, service, version, started_at", "'1@a@worker', 'worker', '', now()", "'1@a@api', 'api', '', now()", "version = 'x'"},
		{"outside_systems", "name", "'toncenter'", "'yandex'", "error = 'x'"},
	} {
		insert := func(values string) string {
			return "INSERT INTO " + c.table + " (" + c.columns + ") VALUES (" + values + ")"
		}
		if _, err := do(wallet, insert(c.others)); !denied(err) {
			t.Errorf("%s: making %s gave %v", c.table, c.others, err)
		}
		for db, values := range map[*pgx.Conn]string{owner: c.others, wallet: c.mine} {
			if _, err := do(db, insert(values)); err != nil {
				t.Errorf("%s: %v", c.table, err)
			}
		}

		var theirs int
		if err := owner.QueryRow(t.Context(), "SELECT count(*) FROM "+c.table).Scan(&theirs); err != nil {
			t.Fatal(err)
		}
		seen, err := do(wallet, "SELECT FROM "+c.table)
		if err != nil || int(seen) != theirs/2 {
			t.Errorf("%s: %d of %d rows are seen, %v", c.table, seen, theirs, err)
		}
		if c.change != "" {
			if n, err := do(wallet, "UPDATE "+c.table+" SET "+c.change); err != nil || n != seen {
				t.Errorf("%s: %d rows changed, %v", c.table, n, err)
			}
		}
	}
	if n, err := do(wallet, "DELETE FROM processes"); err != nil || n != 1 {
		t.Errorf("%d processes forgotten, %v", n, err)
	}

	for statement, refused := range map[string]bool{
		"INSERT INTO events (workload, entity_id, seq, type, to_state, actor_id) VALUES ('transaction', 'e', 9, 'failed', '', 1)": true,
		"UPDATE switches SET ended_at = now() WHERE name = 'pause'":                                                               true,
		"UPDATE switches SET since = now(), by_user = 1 WHERE name = 'hold'":                                                      true,
		"UPDATE switches SET since = now() WHERE name = 'hold'":                                                                   false,
		"UPDATE processes SET service = 'api'":                                                                                    false, // it has none
	} {
		if _, err := do(wallet, statement); denied(err) != refused || err != nil && !refused {
			t.Errorf("%s gave %v", statement, err)
		}
	}
	if n, err := do(wallet, "SELECT FROM switches FOR UPDATE"); err != nil || n != 2 {
		t.Errorf("%d switches can be locked, %v", n, err)
	}
	for _, kind := range notice.TransactionAlerts {
		if _, err := do(wallet, "INSERT INTO alerts (kind) VALUES ('"+kind.Name+"') ON CONFLICT DO NOTHING"); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestGrantsNeedARole that exists; the error says how to create one.
func TestGrantsNeedARole(t *testing.T) {
	t.Parallel()
	if err := testdb.New(t).GrantWallet(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), `CREATE ROLE "nobody"`) {
		t.Errorf("a role that does not exist gave %v", err)
	}
}
