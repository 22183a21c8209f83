package status_test

import (
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
)

// lying is how many ended entities of each workload are in the record.
const lying = 20_000

// TestStatusReadsFewRows fills the record with ended entities, and requires a status to read few of them: PostgreSQL
// reports how many rows it has read.
func TestStatusReadsFewRows(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	fill(t, url)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	testdb.Recount(t, s)
	s.Close()

	before := testdb.RowsRead(t, url)
	if s, err = store.Open(t.Context(), url, testdb.Key); err != nil {
		t.Fatal(err)
	}

	got, err := status.New(status.Options{Store: s, Temporal: unreachable(), Queue: queue}).Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	s.Close() // PostgreSQL gets a session's statistics when it ends
	read := testdb.RowsRead(t, url) - before

	for workload, state := range map[string]string{
		"delivery": "DELIVERED", "download": "completed", "task": "DONE", "transaction": "processed",
	} {
		if got.InState[workload][state] != lying {
			t.Errorf("%s: counted %v", workload, got.InState[workload])
		}
	}

	if read > lying/4 {
		t.Errorf("a status has read %d rows of some %d", read, 8*lying)
	}
}

// fill writes ended entities, with an event of a minute ago each.
func fill(t *testing.T, url string) {
	t.Helper()
	exec(t, url, `INSERT INTO users (telegram_id, status) VALUES (7, 'ACTIVE')`)
	exec(
		t, url,
		`INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now())`,
	)
	exec(t, url, `INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, message_id)
		SELECT encode(sha256(n::text::bytea), 'hex'), 1, 1, 'f', 1, 'api', 'DELIVERED', 1 FROM generate_series(1, $1::int) n`, lying)
	exec(t, url, `INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('w', 1, '{}')`)
	exec(t, url, `INSERT INTO tasks (workspace_id, title, creator_id, assignee_id, status, finished_at)
		SELECT 1, 'a title', 1, 1, 'DONE', now() FROM generate_series(1, $1::int)`, lying)
	exec(t, url, `INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, content_path, completed_at_utc)
		SELECT 1, n, 'text', 'completed', 's', 'u', '/p', now() FROM generate_series(1, $1::int) n`, lying)
	exec(t, url, `INSERT INTO ton_wallets (address, cursor_lt, cursor_hash) VALUES ('0:' || repeat('a', 64), 0, '')`)
	exec(t, url, `INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, processing_since, fragment_transaction_hash)
		SELECT lpad(n::text, 64, '0'), '0:' || repeat('a', 64), n, 1, '0:bb', '', 'processed', 1, now(), lpad(n::text, 64, '0') FROM generate_series(1, $1::int) n`, lying)

	for _, workload := range lifecycle.Names() {
		exec(t, url, `INSERT INTO events (workload, entity_id, seq, type, to_state, comment, created_at)
			SELECT $1, n::text, 2, CASE WHEN n % 1000 = 0 THEN 'failed' ELSE 'made' END, 'X', 'E' || n % 7, now() - interval '1 minute'
			FROM generate_series(1, $2::int) n`, workload, lying)
	}

	exec(t, url, `VACUUM ANALYZE`)
}
