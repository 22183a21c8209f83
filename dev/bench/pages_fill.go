package main

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

// pagesFill writes a record in which nearly all is one customer's: N is a tenth of the number of deliveries and
// transactions, and the number of tasks, downloads and books. Some are live, most have ended. Triggers are off.
const pagesFill = `SET session_replication_role = replica;
INSERT INTO users (name, telegram_id, status) SELECT 'Reader ' || n, 10000 + n, 'ACTIVE' FROM generate_series(1, N / 10) n;
INSERT INTO files (path, parent, name, folded, is_folder, size, modified_at, place)
	SELECT '/report ' || n || '.pdf', '/', 'report ' || n || '.pdf', 'report ' || n || '.pdf', false, 1000000 + n, now(), n FROM generate_series(1, N) n;
INSERT INTO listings (path, listed_at) VALUES ('/', now());
INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, last_error, message_id, created_at, updated_at)
	SELECT lpad(to_hex(n), 64, '0'), 1, 1 + n % N, 'report ' || n || '.pdf', 1000000, 'api',
		CASE WHEN n % 500 = 0 THEN 'QUEUED' ELSE (ARRAY['DELIVERED', 'DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED'])[1 + n % 5] END, 'TELEGRAM_TIMEOUT', 1,
		now() - n * interval '1 minute', now() FROM generate_series(1, 10 * N) n;
INSERT INTO workspaces (name, owner_id, status_deadlines) SELECT 'A room with the number ' || n, 1, '{"NEW": 60}' FROM generate_series(1, 20) n;
INSERT INTO workspace_members (workspace_id, user_id, agreed_at) SELECT n, 1, now() FROM generate_series(1, 20) n;
INSERT INTO workspace_members (workspace_id, user_id, agreed_at) SELECT 1, id, now() FROM users WHERE id > 1 ORDER BY id LIMIT 100;
INSERT INTO tasks (workspace_id, title, description, labels, creator_id, assignee_id, status, status_deadline_at, started_at, finished_at, created_at)
	SELECT CASE WHEN n % 5 = 0 THEN 1 + n % 20 ELSE 1 END, 'The thing with the number ' || n, 'How it is done', ARRAY['label'], 1, CASE WHEN k IN (2, 3, 5) THEN 1 END,
		(ARRAY['NEW', 'IN_PROGRESS', 'BLOCKED', 'STUCK', 'DONE', 'CANCELLED'])[k], CASE WHEN k < 4 THEN now() + interval '1 hour' END,
		CASE WHEN k IN (2, 3, 5) THEN now() - n * interval '5 minutes' END, CASE WHEN k > 4 THEN now() - n * interval '4 minutes' END, now() - n * interval '6 minutes'
	FROM generate_series(1, N) n, LATERAL (SELECT CASE WHEN n % 4 = 0 THEN 1 + n / 4 % 4 ELSE 5 + n % 2 END AS k) s;
INSERT INTO task_blockers (task_id, blocker_id) SELECT n * 4, n * 4 - 3 FROM generate_series(1, N / 5) n;
INSERT INTO books (title, author, folded, creator_id) SELECT 'A book with the number ' || n, 'Some Author', 'a book with the number ' || n || ' some author', 1 FROM generate_series(1, N) n;
INSERT INTO media_assets (book_id, media_type, status, path, source_url) SELECT n, 'text', 'available', '/book', 'magnet:?xt=urn:btih:' || repeat('1a', 20) FROM generate_series(1, N) n;
INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, content_path, completed_at_utc, failure_reason, progress, speed)
	SELECT 1, n, 'text', (ARRAY['queued', 'downloading', 'completed', 'failed', 'canceled'])[k], 'web', 'magnet:?xt=urn:btih:' || repeat('1a', 20),
		CASE k WHEN 3 THEN '/book' ELSE '' END, CASE k WHEN 3 THEN now() END, CASE k WHEN 4 THEN 'no space' END, 0.5, 1000
	FROM generate_series(1, N) n, LATERAL (SELECT CASE WHEN n % 100 = 0 THEN 1 + n / 100 % 2 ELSE 3 + n % 3 END AS k) s;
INSERT INTO ton_wallets (address, cursor_lt, cursor_hash, scanned_to) VALUES ('0:' || repeat('a', 64), 0, '', now());
INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, username, user_id, stars, quote_nano, status, attempt, processing_since,
		error_message, error_class, fragment_transaction_hash, needs_review, review_reason, created_at, updated_at)
	SELECT lpad(to_hex(n), 64, '0'), '0:' || repeat('a', 64), n, 2500000000, '0:' || repeat('b', 64), '@ada', 'ada', 1, 50, 2400000000,
		(ARRAY['pending', 'processing', 'processed', 'failed'])[k], CASE k WHEN 1 THEN 0 ELSE 1 END, CASE WHEN k > 1 THEN now() END,
		CASE k WHEN 4 THEN 'Username not found' ELSE '' END, CASE k WHEN 4 THEN 'non-retryable' ELSE '' END, CASE k WHEN 3 THEN lpad(to_hex(n), 64, '1') ELSE '' END,
		false, '', now() - n * interval '1 minute', now() - n * interval '1 minute' + interval '20 seconds'
	FROM generate_series(1, 10 * N) n, LATERAL (SELECT CASE WHEN n % 1000 < 2 THEN 1 + n % 1000 WHEN n % 20 = 2 THEN 4 ELSE 3 END AS k) s;
INSERT INTO ledger_balances (wallet, account, balance_nano) VALUES ('0:' || repeat('a', 64), 'wallet', 5000000000);
INSERT INTO events (workload, entity_id, seq, type, to_state, actor_id, owner_id, comment, created_at)
	SELECT w, CASE w WHEN 'transaction' THEN lpad(to_hex(n), 64, '0') ELSE n::text END, s, CASE WHEN n % 30 = 0 THEN 'failed' ELSE 'made' END, 'X', 1, 1, 'WHY', now() - n * interval '1 minute'
	FROM (VALUES ('delivery', 10 * N), ('task', N), ('download', N), ('transaction', 10 * N)) v (w, most), generate_series(1, most) n, generate_series(1, 2) s;
INSERT INTO alerts (kind, opened_at, resolved_at) SELECT 'storage_unreachable', now(), now() FROM generate_series(1, N) n;
INSERT INTO reconciler_findings (workload, entity, workflow_id, finding, done, done_at) SELECT 'delivery', n::text, 'delivery/' || n, 'stale', 'refreshed', now() FROM generate_series(1, N) n;
INSERT INTO audit_log (actor_id, action, subject, outcome, door) SELECT 1, 'change-user', 'user/2', 'done', 'http' FROM generate_series(1, N) n;
SET session_replication_role = DEFAULT;
DELETE FROM count_checks;
VACUUM ANALYZE`

// fillPages makes a database with a record of this size. The customer is the user with the number 1.
func (m *machine) fillPages(ctx context.Context, name string, n int, customer, admin string) (address string, err error) {
	if err := scaleSQL(ctx, m, `CREATE DATABASE `+name); err != nil {
		return "", err
	}
	at, err := url.Parse(m.postgres.URL)
	if err != nil {
		return "", err
	}
	at.Path = "/" + name
	address = at.String()
	s, err := store.Open(ctx, address, m.key)
	if err != nil {
		return "", err
	}
	defer s.Close()

	if err := s.Migrate(ctx); err != nil {
		return "", err
	}

	chat := int64(7)
	if _, err := s.CreateUser(ctx, account.User{Name: "Customer", TelegramID: &chat, Status: account.UserActive}, customer); err != nil {
		return "", err
	}
	if _, err := s.CreateUser(ctx, account.User{Name: "Root", Role: account.RoleAdmin, Status: account.UserActive}, admin); err != nil {
		return "", err
	}

	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()

	sized := strings.NewReplacer("N)", strconv.Itoa(n)+")", "N,", strconv.Itoa(n)+",", "N /", strconv.Itoa(n)+" /", "% N", "% "+strconv.Itoa(n)).Replace(pagesFill)
	for statement := range strings.SplitSeq(sized, ";\n") {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}

	if _, err := s.CheckCounts(ctx); err != nil {
		return "", err
	}
	return address, s.FoldCounts(ctx)
}
