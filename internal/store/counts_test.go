package store_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
	"stagecoach/internal/store/operations"
)

// TestCountsFollowTheRows lets many write, change and delete rows at once while others add up, and wants the counts to
// be those of the rows at any time.
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
			defer func() { _ = conn.Close(t.Context()) }()
			random := rand.New(rand.NewPCG(7, uint64(writer)))
			for range 60 {
				writeAny(t, conn, random)
			}
		})
	}

	writing.Go(func() {
		for range 40 {
			if err := s.FoldCounts(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})

	writing.Wait()

	if differences := checkAgain(t, s, url); len(differences) != 0 {
		t.Errorf("the counts differ from the rows: %v", differences)
	}
	if err := s.FoldCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if differences := checkAgain(t, s, url); len(differences) != 0 {
		t.Errorf("added up, the counts differ from the rows: %v", differences)
	}
}

// TestReadsAddUpCounts lets changes pile up while no worker adds them up, and wants reads of the counts to do it.
func TestReadsAddUpCounts(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	before, err := s.CountOverview(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}

	fillWith(t, url, `INSERT INTO count_changes SELECT 'delivery', 'QUEUED', 1 FROM generate_series(1, 25000)`)

	for range 3 {
		after, err := s.CountOverview(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := after.Counts["delivery"]["QUEUED"] - before.Counts["delivery"]["QUEUED"]; got != 25_000 {
			t.Errorf("25000 were added, %d are counted", got)
		}
	}

	var left int
	if err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT count(*) FROM count_changes`).Scan(&left)
	}); err != nil {
		t.Fatal(err)
	}
	if left >= 10_000 {
		t.Errorf("%d changes have not been added up", left)
	}
}

// TestCountsAreCorrected makes counts drift, and wants the comparison to tell and correct that, and to come once an
// hour only.
func TestCountsAreCorrected(t *testing.T) {
	t.Parallel()
	s, url := countsRig(t)
	if _, err := s.CheckCounts(t.Context()); err != nil {
		t.Fatal(err)
	}

	execIn(t, url, `INSERT INTO counts VALUES ('task', 'STUCK', 5), ('transaction_error', 'no such message', 1)`)
	execIn(t, url, `INSERT INTO count_changes VALUES ('delivery', 'QUEUED', -2)`)

	soon, err := s.CheckCounts(t.Context())
	if err != nil || len(soon) != 0 {
		t.Errorf("compared again within the hour: %v, %v", soon, err)
	}

	differences := checkAgain(t, s, url)
	got := map[string]int64{}
	for _, d := range differences {
		got[d.Kind+" "+d.Key] = d.N
	}

	want := map[string]int64{"task STUCK": -5, "transaction_error no such message": -1, "delivery QUEUED": 2}
	if !maps.Equal(got, want) {
		t.Errorf("differences %v, want %v", got, want)
	}
	if left := checkAgain(t, s, url); len(left) != 0 {
		t.Errorf("not corrected: %v", left)
	}
}

// countsRig gives an empty record with what rows of all workloads refer to.
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

// writeAny makes, changes or deletes rows of some workload.
func writeAny(t *testing.T, conn *pgx.Conn, random *rand.Rand) {
	t.Helper()
	n := random.Int64()
	statements := []string{
		fmt.Sprintf(`INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source)
			SELECT encode(sha256((i || ' %d')::bytea), 'hex'), 1, 1, 'f', 1, 'api' FROM generate_series(1, 3) i ON CONFLICT DO NOTHING`, n),
		`UPDATE jobs SET state = 'EXPIRED' WHERE id IN (SELECT id FROM jobs WHERE state = 'QUEUED' ORDER BY random() LIMIT 2 FOR UPDATE SKIP LOCKED)`,
		`DELETE FROM jobs WHERE id IN (SELECT id FROM jobs ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED)`,
		`INSERT INTO tasks (workspace_id, title, creator_id) VALUES (1, 'a title', 1), (1, 'a title', 1)`,
		`UPDATE tasks SET status = 'CANCELLED', finished_at = now() WHERE id IN (SELECT id FROM tasks WHERE status = 'NEW' LIMIT 1 FOR UPDATE SKIP LOCKED)`,
		`DELETE FROM tasks WHERE id IN (SELECT id FROM tasks WHERE status = 'CANCELLED' LIMIT 1 FOR UPDATE SKIP LOCKED)`,
		fmt.Sprintf(
			`INSERT INTO download_jobs (user_id, book_id, media_type, source, source_url) VALUES (1, %d, 'text', 's', 'u') ON CONFLICT DO NOTHING`,
			n,
		),
		`UPDATE download_jobs SET status = 'failed', failure_reason = 'x' WHERE id IN (SELECT id FROM download_jobs WHERE status = 'queued' LIMIT 2 FOR UPDATE SKIP LOCKED)`,
		fmt.Sprintf(`INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment)
			VALUES (encode(sha256('%d'), 'hex'), '0:' || repeat('a', 64), %d, 1, '0:bb', '') ON CONFLICT DO NOTHING`, n, n),
		`UPDATE transactions SET status = 'failed', attempt = 1, processing_since = now(), error_message = 'm' || floor(random() * 3), error_class = 'unknown'
			WHERE id IN (SELECT id FROM transactions WHERE status IN ('pending', 'failed') ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED)`,
		`UPDATE transactions SET status = 'processed', error_message = '', error_class = '', fragment_transaction_hash = hash, updated_at = clock_timestamp() + interval '1 minute'
			WHERE id IN (SELECT id FROM transactions WHERE status IN ('failed', 'processed') ORDER BY random() LIMIT 1 FOR UPDATE SKIP LOCKED)`,
		`INSERT INTO payment_queue (transaction_hash, kind, wallet, sender) SELECT hash, 'purchase', wallet, sender FROM transactions LIMIT 2 ON CONFLICT DO NOTHING`,
		`DELETE FROM payment_queue WHERE ctid IN (SELECT ctid FROM payment_queue LIMIT 1 FOR UPDATE SKIP LOCKED)`,
	}

	// A transaction that is undone counts nothing; PostgreSQL undoes some, for they take their rows in any order.
	undo := random.IntN(4) == 0
	err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
		for range 1 + random.IntN(3) {
			if _, err := tx.Exec(t.Context(), statements[random.IntN(len(statements))]); err != nil {
				return err
			}
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

// checkAgain compares as if an hour had gone by.
func checkAgain(t *testing.T, s *store.Store, url string) []operations.Count {
	t.Helper()
	execIn(t, url, `UPDATE count_checks SET checked_at = now() - interval '2 hours'`)
	differences, err := s.CheckCounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return differences
}

func execIn(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}
