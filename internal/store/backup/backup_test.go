package backup_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/jackc/pgx/v5"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/store/backup"
)

// schemaSQL describes what a restore removes temporarily, and the next numbers.
const schemaSQL = `
	SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
		WHERE connamespace = 'public'::regnamespace AND conparentid = 0
	UNION ALL SELECT tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
	UNION ALL SELECT sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences WHERE sequencename NOT LIKE 'goose%'
	UNION ALL SELECT version_id::text FROM goose_db_version
	ORDER BY 1`

// TestRestoreIsEqual restores a record as an ordinary account and compares all tables, constraints, triggers and
// sequences.
func TestRestoreIsEqual(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill()
	name, written := r.backup()
	f, to := r.open(name), r.empty()
	result, err := f.Restore(t.Context(), to, quiet)
	r.must(err)
	if result.LedgerDifferences != 0 || result.Schema != written.Schema || f.Settings["A"] != "b" {
		t.Errorf("%+v of %+v", result, f.Manifest)
	}

	db := testdb.Connect(t, to)
	if changed := testdb.RecordOf(t, r.db, "goose_db_version").Changed(testdb.RecordOf(t, db, "goose_db_version")); len(changed) > 0 {
		t.Errorf("%v differ", changed)
	}
	if was, is := r.lines(r.db, schemaSQL), r.lines(db, schemaSQL); len(was) < 100 || !slices.Equal(was, is) {
		t.Errorf("the schema was\n%s\nand is\n%s", strings.Join(was, "\n"), strings.Join(is, "\n"))
	}

	// The restored record works: it assigns the next numbers and enforces its rules.
	if _, err := db.Exec(t.Context(), `INSERT INTO users (name, status) VALUES ('next', 'ACTIVE')`); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec(t.Context(), `DELETE FROM ledger_postings`); err == nil {
		t.Error("the ledger can be changed")
	}
}

func (r *rig) lines(db *pgx.Conn, sql string) []string {
	r.Helper()
	rows, err := db.Query(r.Context(), sql)
	r.must(err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	r.must(err)
	return lines
}

// TestBackupIsOneMoment makes backups while four writers write: in each the sums are right, and every transaction is
// complete.
func TestBackupIsOneMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 4)
	for writer := range 4 {
		db := testdb.Connect(t, r.url)
		go func() {
			var err error
			for n := 1_000_000 * (writer + 1); ctx.Err() == nil && err == nil; n++ {
				err = r.transfer(ctx, db, n)
			}
			ended <- err
		}()
	}

	var entries []int64
	for range 3 {
		name, m := r.backup()
		result, err := r.open(name).Restore(t.Context(), r.empty(), quiet)
		r.must(err)
		of := map[string]int64{}
		for _, table := range m.Tables {
			of[table.Name] = table.Rows
		}

		entries = append(entries, of["ledger_entries"])
		if result.LedgerDifferences != 0 || of["ledger_postings"] != 2*of["ledger_entries"] || of["task_events"] != 200+of["ledger_entries"] {
			t.Errorf("%+v of %v", result, of)
		}
	}

	stop()
	for range 4 {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if !slices.IsSorted(entries) || entries[0] == entries[2] {
		t.Errorf("the backups have %v entries: nobody wrote", entries)
	}
}

// TestDamagedFilesAreRefused opens files truncated or altered at positions throughout, and with somebody else's key.
func TestDamagedFilesAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill()
	r.exec(`INSERT INTO files (path, parent, name, is_folder, modified_at)
		SELECT gen_random_uuid(), '/', gen_random_uuid(), false, now() FROM generate_series(1, 10000)`)
	name, _ := r.backup()
	whole, err := os.ReadFile(name)
	r.must(err)
	if r.open(name); len(whole) < 4*64<<10 {
		t.Fatalf("%d bytes are too few of age's chunks", len(whole))
	}

	refused := func(content []byte, what string, at int) {
		f, err := backup.Open(t.Context(), r.file(content), []age.Identity{r.key})
		if err == nil {
			_ = f.Close()
			t.Errorf("%s at %d of %d: it was opened", what, at, len(whole))
		}
	}
	for n := range 20 {
		at := n * (len(whole) - 1) / 19
		refused(whole[:at], "cut off", at)
		altered := slices.Clone(whole)
		altered[at] ^= 1
		refused(altered, "altered", at)
	}
	refused(append(slices.Clone(whole), 0), "longer", len(whole))

	other, err := age.GenerateX25519Identity()
	r.must(err)
	_, err = backup.Open(t.Context(), name, []age.Identity{other})
	r.wantError(err, "another recipient")
}

// TestRefusals restores what does not fit: nothing is half done, and the right backup can be restored afterwards.
func TestRefusals(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill()
	name, _ := r.backup()
	to := r.empty()
	changed := func(change func(f *backup.File)) *backup.File {
		f := r.open(name)
		change(f)
		return f
	}

	r.wantRefused(changed(func(f *backup.File) { f.Schema = 99; f.Program = "9.9" }), to, "restore it with release 9.9")
	r.wantRefused(changed(func(f *backup.File) { f.Tables[3].Columns[0] = "other" }), to, "are not those of schema version")
	r.wantRefused(changed(func(f *backup.File) { f.Tables = f.Tables[1:] }), to, "are not those of schema version")
	r.wantRefused(changed(func(f *backup.File) { f.Tables[len(f.Tables)-1].Rows++ }), to, "the number of rows")

	interrupted, stop := context.WithCancel(t.Context())
	_, err := r.open(name).Restore(interrupted, to, func(table string, _, _ int64) {
		if table == "task_events" {
			stop()
		}
	})
	r.wantError(err, "canceled")
	r.wantNothing(to)

	db := testdb.Connect(t, to)
	_, err = r.open(name).Restore(t.Context(), to, quiet)
	r.wantError(err, "stop every service first")
	r.must(db.Close(t.Context()))
	r.wantNothing(to)

	_, err = r.open(name).Restore(t.Context(), to, quiet)
	r.must(err)
	_, err = r.open(name).Restore(t.Context(), to, quiet)
	r.wantError(err, "the database is not empty: it has rows in")
}

// TestTablesOfOthers backs up a database with a foreign table: the restore leaves it out, and reports that.
func TestTablesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill()
	r.exec(`CREATE TABLE "of somebody" (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY); INSERT INTO "of somebody" DEFAULT VALUES`)
	name, _ := r.backup()
	result, err := r.open(name).Restore(t.Context(), r.empty(), quiet)
	if err != nil || !slices.Equal(result.LeftOut, []string{"of somebody"}) {
		t.Errorf("%v, %v", result.LeftOut, err)
	}
}

// TestNightWrongLedger restores a record whose ledger does not balance, and reports that.
func TestNightWrongLedger(t *testing.T) {
	night.Only(t)
	t.Parallel()
	r := newRig(t)
	r.fill()
	r.exec(`SET session_replication_role = replica; UPDATE ledger_postings SET amount_nano = 6 WHERE entry_id = 1 AND account = 'wallet'`)
	name, _ := r.backup()
	result, err := r.open(name).Restore(t.Context(), r.empty(), quiet)
	if err != nil || result.LedgerDifferences != 2 { // an entry and an account
		t.Errorf("%+v, %v", result, err)
	}
}

// TestCheck restores beside the record, and leaves nothing behind.
func TestCheck(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fill()
	name, _ := r.backup()
	result, err := r.open(name).Check(t.Context(), r.url, quiet)
	if err != nil || result.LedgerDifferences != 0 {
		t.Errorf("%+v, %v", result, err)
	}

	f := r.open(name)
	f.Tables[len(f.Tables)-1].Rows++
	_, err = f.Check(t.Context(), r.url, quiet)
	r.wantError(err, "the number of rows")
	_, err = f.Check(t.Context(), r.empty(), quiet)
	r.wantError(err, "name another server with --on")
	if left := r.lines(r.db, `SELECT datname::text FROM pg_database WHERE datname LIKE 'stagecoach_check%'`); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// TestSeeded compares the list with the rows of a new database.
func TestSeeded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rows := map[string]int64{}
	_, m := r.backup()
	for _, table := range m.Tables {
		if table.Rows > 0 {
			rows[table.Name] = table.Rows
		}
	}
	if got := slices.Sorted(maps.Keys(rows)); !slices.Equal(got, backup.Seeded) {
		t.Errorf("migrations write into %v, the list has %v", got, backup.Seeded)
	}
}
