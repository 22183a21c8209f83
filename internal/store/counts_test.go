package store_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
)

// TestCountsFollowTheRows lets many write rows with their events concurrently while others count, and requires the
// counts to match the rows. A transaction in progress during a count is counted by a later one, and once.
func TestCountsFollowTheRows(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)

	var writing sync.WaitGroup
	for writer := range 4 {
		writing.Go(func() {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
			random := rand.New(rand.NewPCG(7, uint64(writer)))
			for range 60 {
				writeAny(t, conn, random)
			}
		})
	}

	for range 2 {
		writing.Go(func() {
			conn, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
			for range 30 {
				if _, err := conn.Exec(t.Context(), countIsOld); err != nil {
					t.Error(err)
				}
				if _, err := s.Operations.RefreshCounts(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}

	writing.Wait()

	execIn(t, url, countIsOld)
	refresh(t, s)
	added := countsIn(t, url)
	testdb.Recount(t, s)
	if rows := countsIn(t, url); !maps.Equal(added, rows) || len(rows) < 12 {
		t.Errorf("added up %v, the rows are %v", added, rows)
	}
}

// TestCountsOfATransactionUnderWay ends a task in a transaction that is open during a count: it is counted after its
// commit, along with what began later and ended before.
func TestCountsOfATransactionUnderWay(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	execIn(t, url, `INSERT INTO tasks (workspace_id, title, creator_id) SELECT 1, 'a title', 1 FROM generate_series(1, 3)`)
	testdb.Recount(t, s)

	slow := testdb.Connect(t, url)
	if _, err := slow.Exec(t.Context(), `BEGIN; `+endTask(1)); err != nil {
		t.Fatal(err)
	}
	execIn(t, url, endTask(2))
	want := func(when string, live, ended int64) {
		t.Helper()
		execIn(t, url, countIsOld)
		refresh(t, s)
		if got := countsIn(t, url); got["task NEW"] != live || got["task CANCELLED"] != ended {
			t.Errorf("%s: %v, want %d and %d", when, got, live, ended)
		}
	}

	want("one has ended", 2, 1)
	want("nothing has happened", 2, 1)
	if _, err := slow.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	want("so has the slow one", 1, 2)
	want("nothing has happened", 1, 2)
}

func endTask(id int) string {
	return fmt.Sprintf(`UPDATE tasks SET status = 'CANCELLED', finished_at = now() WHERE id = %[1]d;
		INSERT INTO events (workload, entity_id, seq, type, from_state, to_state) VALUES ('task', %[1]d, 2, 't', 'NEW', 'CANCELLED')`, id)
}

// TestCountsOfManyEvents ends more than one statement adds, so that the next one continues.
func TestCountsOfManyEvents(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	testdb.Recount(t, s)
	execIn(t, url, `INSERT INTO events (workload, entity_id, seq, type, from_state, to_state)
		SELECT 'delivery', n, 2, 't', 'STREAMING', 'DELIVERED' FROM generate_series(1, 25000) n`)
	execIn(t, url, countIsOld)
	refresh(t, s)
	if got := countsIn(t, url); got["delivery DELIVERED"] != 25_000 {
		t.Errorf("%v, want 25000", got)
	}
}

// TestOneProcessCounts counts while another process does, and again within ten seconds: neither changes anything.
func TestOneProcessCounts(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	testdb.Recount(t, s)
	execIn(t, url, `INSERT INTO tasks (workspace_id, title, creator_id) VALUES (1, 'a title', 1)`)
	want := func(when string, n int64) {
		t.Helper()
		refresh(t, s)
		if got := countsIn(t, url); got["task NEW"] != n {
			t.Errorf("%s: %v, want %d", when, got, n)
		}
	}

	want("it was counted just now", 0)

	execIn(t, url, countIsOld)
	other := testdb.Connect(t, url)
	if _, err := other.Exec(t.Context(), `BEGIN; SELECT pg_advisory_xact_lock(7420001)`); err != nil {
		t.Fatal(err)
	}
	want("another process counts", 0)
	if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	want("nobody does", 1)
}

// TestCountsAreReadAnew deletes rows, as retention does, and sets the record back: then, and after a day, all rows are
// counted.
func TestCountsAreReadAnew(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	testdb.Recount(t, s)
	for name, c := range map[string]struct {
		cause string
		reset func(context.Context) error
	}{
		"retention": {reset: s.Operations.ResetCounts},
		"a restore": {reset: s.Operations.AfterRestore},
		"a day":     {cause: `UPDATE counted SET recounted_at = now() - interval '26 hours', counted_at = NULL`},
	} {
		execIn(t, url, `INSERT INTO counts (kind, key, n, ended) VALUES ('task', 'DONE', 5, true)`)
		execIn(t, url, countIsOld)
		refresh(t, s)
		if got := countsIn(t, url); got["task DONE"] != 5 {
			t.Errorf("before %s: %v", name, got)
		}

		if c.reset != nil {
			if err := c.reset(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else {
			execIn(t, url, c.cause)
		}
		refresh(t, s)
		if got := countsIn(t, url); got["task DONE"] != 0 {
			t.Errorf("after %s: %v", name, got)
		}
	}
}

// TestNightCountsReadFewRows adds ended entities to the counts of a record with many rows, and requires PostgreSQL to
// read few.
func TestNightCountsReadFewRows(t *testing.T) {
	night.Only(t)
	t.Parallel()
	url := testdb.URL(t)
	fillWith(t, url, fillLists)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	testdb.Recount(t, s)
	s.Close()

	fillWith(t, url, countIsOld+`; INSERT INTO events (workload, entity_id, seq, type, from_state, to_state)
		SELECT 'delivery', n, 2, 't', 'STREAMING', 'DELIVERED' FROM generate_series(1, 10) n`)
	before := testdb.RowsRead(t, url)
	if s, err = store.Open(t.Context(), url, testdb.Key); err != nil {
		t.Fatal(err)
	}
	refresh(t, s)
	s.Close() // PostgreSQL gets a session's statistics when it ends
	if read := testdb.RowsRead(t, url) - before; read > lying/20 {
		t.Errorf("%d rows are read", read)
	}
	if got := countsIn(t, url); got["delivery DELIVERED"] != lying-4+10 || got["delivery QUEUED"] != 1 || got["transaction_error e"] != 2 {
		t.Errorf("%v", got)
	}
}

// countIsOld makes the next refresh count.
const countIsOld = `UPDATE counted SET counted_at = NULL`

func refresh(t *testing.T, s *store.Store) {
	t.Helper()
	if _, err := s.Operations.RefreshCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// countsIn returns the stored counts by kind and key.
func countsIn(t *testing.T, url string) map[string]int64 {
	t.Helper()
	rows, err := testdb.DB(t, url).Query(t.Context(), `SELECT kind || ' ' || key, n FROM counts WHERE n <> 0`)
	if err != nil {
		t.Fatal(err)
	}

	counts, name, n := map[string]int64{}, "", int64(0)
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		counts[name] = n
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return counts
}

// countsRig returns an empty record with what rows of all workloads reference.
func countsRig(t *testing.T) (*store.Store, string) {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	execIn(t, url, `INSERT INTO users (telegram_id, status) VALUES (7, 'ACTIVE')`)
	execIn(
		t, url,
		`INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now())`,
	)
	execIn(t, url, `INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('w', 1, '{}')`)
	execIn(t, url, `INSERT INTO ton_wallets (address, cursor_lt, cursor_hash) VALUES ('0:' || repeat('a', 64), 0, '')`)
	return s, url
}

// written writes rows with an event each, in one statement.
func written(workload, state, from, write string) string {
	return `WITH w AS (` + write + `) INSERT INTO events (workload, entity_id, seq, type, from_state, to_state)
		SELECT '` + workload + `', id, nextval('event_ids'), 't', '` + from + `', ` + state + ` FROM w`
}

// writeAny makes or changes rows of some workload.
func writeAny(t *testing.T, conn *pgx.Conn, random *rand.Rand) {
	t.Helper()
	n := random.Int64()
	statements := []string{
		written("delivery", "state", "", fmt.Sprintf(`INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source)
			SELECT encode(sha256((i || ' %d')::bytea), 'hex'), 1, 1, 'f', 1, 'api' FROM generate_series(1, 3) i ON CONFLICT DO NOTHING RETURNING id, state`, n)),
		written("delivery", "state", "QUEUED", `UPDATE jobs SET state = 'EXPIRED' WHERE id IN (SELECT id FROM jobs WHERE state = 'QUEUED'
			ORDER BY random() LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id, state`),
		written("task", "status", "", `INSERT INTO tasks (workspace_id, title, creator_id) VALUES (1, 'a title', 1), (1, 'a title', 1) RETURNING id, status`),
		written("task", "status", "NEW", `UPDATE tasks SET status = 'CANCELLED', finished_at = now() WHERE id IN (SELECT id FROM tasks
			WHERE status = 'NEW' LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, status`),
		written("download", "status", "", fmt.Sprintf(`INSERT INTO download_jobs (user_id, book_id, media_type, source, source_url)
			VALUES (1, %d, 'text', 's', 'u') ON CONFLICT DO NOTHING RETURNING id, status`, n)),
		written("download", "status", "queued", `UPDATE download_jobs SET status = 'failed', failure_reason = 'x' WHERE id IN (SELECT id FROM download_jobs
			WHERE status = 'queued' LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id, status`),
		written("transaction", "status", "", fmt.Sprintf(`INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment)
			VALUES (encode(sha256('%d'), 'hex'), '0:' || repeat('a', 64), %d, 1, '0:bb', '') ON CONFLICT DO NOTHING RETURNING hash AS id, status`, n, n)),
		written("transaction", "status", "processing", `UPDATE transactions SET status = 'failed', attempt = 1, processing_since = now(),
			error_message = 'm' || floor(random() * 3), error_class = 'unknown' WHERE id IN (SELECT id FROM transactions
			WHERE status IN ('pending', 'failed') ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING hash AS id, status`),
		written("transaction", "status", "processing", `UPDATE transactions SET status = 'processed', error_message = '', error_class = '', stars = 50,
			fragment_transaction_hash = hash, updated_at = clock_timestamp() + interval '1 minute' WHERE id IN (SELECT id FROM transactions
			WHERE status = 'failed' ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING hash AS id, status`),
	}

	// A transaction that is rolled back counts nothing; PostgreSQL rolls back some, because they lock rows in any order.
	undo := random.IntN(4) == 0
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		for range 1 + random.IntN(3) {
			if _, err := tx.Exec(t.Context(), statements[random.IntN(len(statements))]); err != nil {
				return err
			}
			time.Sleep(time.Duration(random.IntN(3)) * time.Millisecond) // counts begin meanwhile
		}
		if undo {
			return errUndone
		}
		return nil
	})

	deadlock, answered := errors.AsType[*pgconn.PgError](err)
	if err != nil && err != errUndone && !(answered && deadlock.Code == "40P01") {
		t.Error(err)
	}
}

var errUndone = fmt.Errorf("undone")

func execIn(t *testing.T, url, sql string) {
	t.Helper()
	if _, err := testdb.DB(t, url).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
