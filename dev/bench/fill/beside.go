package fill

import (
	"strconv"
	"strings"
)

// ownerOf is the owner of the ith entity.
func ownerOf(i int) int {
	if i%busyShare == 0 {
		return 1
	}
	return i%Users + 1
}

// base is what the rows refer to, and catalogs, which do not grow with the history. ":n" is their size.
const base = `
	INSERT INTO users (name, telegram_id, status) SELECT 'u' || n, n, 'ACTIVE' FROM generate_series(1, 1000) n;
	INSERT INTO files (path, parent, name, folded, is_folder, size, modified_at, place)
		SELECT '/folder ' || f || '/report ' || n || '.pdf', '/folder ' || f, 'report ' || n || '.pdf', 'report ' || n || '.pdf', false, n, now(), n
		FROM generate_series(1, :n) n, LATERAL (SELECT n % 100 AS f) folder;
	INSERT INTO files (path, parent, name, folded, is_folder, modified_at, place)
		SELECT '/folder ' || f, '/', 'folder ' || f, 'folder ' || f, true, now(), f FROM generate_series(0, 99) f;
	INSERT INTO listings (path, listed_at) SELECT '/folder ' || f, now() FROM generate_series(0, 99) f UNION SELECT '/', now();
	INSERT INTO books (title, author, folded, creator_id)
		SELECT 'A book with the number ' || n, 'Some Author', 'a book with the number ' || n || ' some author', 2 FROM generate_series(1, :n) n;
	INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url) SELECT n, 'text', n, 'available', '/book', 'magnet:?xt=urn:btih:0' FROM generate_series(1, :n) n;
	INSERT INTO workspaces (name, owner_id, status_deadlines) SELECT 'w' || n, 1, '{"NEW": 60}' FROM generate_series(1, 100) n;
	INSERT INTO workspace_members (workspace_id, user_id) SELECT n, 1 FROM generate_series(1, 20) n;
	INSERT INTO workspace_members (workspace_id, user_id) SELECT n % 100 + 1, n FROM generate_series(2, 1000) n;
	INSERT INTO ton_wallets (address, cursor_lt, cursor_hash, scanned_to) VALUES ('0:' || repeat('a', 64), 0, '', now());
	INSERT INTO ledger_balances (wallet, account, balance_nano) VALUES ('0:' || repeat('a', 64), 'wallet', 5000000000)`

// beside are rows besides the entities and their events: blockers of tasks, payments and the ledger, and what operators
// read. ":n" is the number of rows of each kind without a number of its own.
const beside = `
	INSERT INTO task_blockers (task_id, blocker_id) SELECT id, id - 1 FROM tasks WHERE id % 3 = 0;
	INSERT INTO payments (kind, transaction_hash, attempt, wallet, seqno, valid_until, boc, hash_norm, destination, amount_nano, reserved_nano, body_hash,
			state, chain_lt, chain_hash, paid_nano, settled_at, kept_at, created_at)
		SELECT 'purchase', hash, 1, wallet, id, updated_at, '', hash, 'fragment', 1, 1, hash, 'paid', lt, hash, 1, updated_at, updated_at, created_at
		FROM transactions WHERE status = 'processed';
	INSERT INTO ledger_entries (cause, wallet, transaction_hash, created_at) SELECT 'deposit/' || hash, wallet, hash, created_at FROM transactions;
	INSERT INTO ledger_postings (entry_id, account, amount_nano) SELECT id, account, amount FROM ledger_entries, (VALUES ('wallet', 1), ('received', -1)) v (account, amount);
	INSERT INTO answers (user_id, key, request, answer, created_at) SELECT n % 1000 + 1, n::text, 'r', '{}', now() - n * interval '90 days' / :n FROM generate_series(1, :n) n;
	INSERT INTO audit_log (actor_id, action, subject, outcome, door, created_at) SELECT 2, 'change-user', 'user/2', CASE n % 2 WHEN 0 THEN 'done' ELSE 'refused' END, 'http', now() - (:n - n) * interval '90 days' / :n FROM generate_series(1, :n) n ON CONFLICT DO NOTHING;
	INSERT INTO alerts (kind, opened_at, sent_at, resolved_at, over_sent_at) SELECT 'storage_unreachable', at, at, at, at
		FROM generate_series(1, :n) n, LATERAL (SELECT now() - (:n - n) * interval '90 days' / :n AS at) a;
	INSERT INTO reconciler_findings (workload, entity, workflow_id, finding, done, done_at, found_at, seen_at) SELECT 'delivery', n::text, 'delivery/' || n, 'stale', 'refreshed', at, at, at
		FROM generate_series(1, :n) n, LATERAL (SELECT now() - (:n - n) * interval '90 days' / :n AS at) a`

// sized fills in the number of rows.
func sized(statements string, n int) string {
	return strings.ReplaceAll(statements, ":n", strconv.Itoa(n))
}
