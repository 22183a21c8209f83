package store_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/personal"
)

// columns are those of all tables, "table.column". A partition has its table's.
func (w *rig) columns() (columns []string) {
	w.t.Helper()
	w.exec(`SELECT 1`) // connects
	rows, err := testdb.DB(w.t, w.url).Query(w.t.Context(), `SELECT c.table_name || '.' || c.column_name FROM information_schema.columns c
		JOIN pg_class t ON t.oid = c.table_name::regclass AND t.relkind IN ('r', 'p') AND NOT t.relispartition
		WHERE c.table_schema = 'public'`)
	w.must(err)
	columns, err = pgx.CollectRows(rows, pgx.RowTo[string])
	w.must(err)
	return columns
}

// TestEveryColumnIsClassified requires the list of what is forgotten to name every column of the schema, once, and no
// other. A table whose rows are deleted names none.
func TestEveryColumnIsClassified(t *testing.T) {
	t.Parallel()
	named := map[string]int{}
	dropped := map[string]bool{}
	for _, table := range personal.Tables {
		dropped[table.Name] = table.Drop
		if (table.Drop || len(table.Clear) > 0) != (table.Whose != "") || table.Drop && len(table.Clear)+len(table.Keep) > 0 {
			t.Errorf("%s says both that rows are deleted and that they stay, or not which ones", table.Name)
		}
		for column := range table.Clear {
			named[table.Name+"."+column]++
		}
		for _, columns := range table.Keep {
			for column := range strings.FieldsSeq(columns) {
				named[table.Name+"."+column]++
			}
		}
	}

	for _, column := range newRig(t).columns() {
		table, _, _ := strings.Cut(column, ".")
		if !dropped[table] && named[column] != 1 {
			t.Errorf("%s is named %d times in personal.Tables: what becomes of it when a person is forgotten?", column, named[column])
		}
		delete(named, column)
	}
	for column := range named {
		t.Errorf("personal.Tables names %s, which the schema does not have", column)
	}
}

// The texts that identify a person: every column accepts one of them. In hexadecimal digits it also serves as a hash.
const (
	planted     = "feedfacefeedfacefeedfacefeedfacefeedface"
	plantedChat = 987654321987
)

// holding are the columns that contain something planted, "table.column".
func (w *rig) holding() (columns []string) {
	w.t.Helper()
	for _, column := range w.columns() {
		table, name, _ := strings.Cut(column, ".")
		var found bool
		w.must(testdb.DB(w.t, w.url).QueryRow(w.t.Context(), fmt.Sprintf(
			`SELECT EXISTS (SELECT FROM %s WHERE %s::text ILIKE ANY (ARRAY['%%%s%%', '%%%s%%', '%%%d%%']))`,
			table, name, planted, hex.EncodeToString([]byte(planted)), plantedChat,
		)).Scan(&found))
		if found {
			columns = append(columns, column)
		}
	}
	return columns
}

// plant gives a person, with an agent, a row in each table with rows about people, with the marker wherever it fits.
const plant = `
	SET session_replication_role = replica;
	UPDATE users SET name = $1, username = $1, telegram_id = $2, language_chosen = true, mutes_agents = true WHERE id = $3;
	UPDATE users SET name = $1 WHERE owner_id = $3;
	UPDATE tokens SET name = $1 WHERE user_id IN (SELECT id FROM users WHERE id = $3 OR owner_id = $3);
	INSERT INTO sessions (user_id, hash, scopes, confirm_code, confirm_until, expires_at) VALUES ($3, $1::bytea, ARRAY[$1], $1, now(), now());
	INSERT INTO sign_in_links (user_id, hash, scopes, expires_at) VALUES ($3, $1::bytea, ARRAY[$1], now());
	INSERT INTO identities (issuer, subject, user_id) VALUES ($1, $1, $3);
	INSERT INTO answers (user_id, key, request, answer) VALUES ($3, $1, $1, jsonb_build_object('a', $1));
	INSERT INTO webhooks (user_id, address, secret, workloads, last_error, test_error, xid, event_id) VALUES ($3, $1::bytea, $1::bytea, ARRAY[$1], $1, $1, '5', 1);
	INSERT INTO news (user_id, workload, entity_id, seq, due_at) VALUES ($3, 'task', $1, 1, now());
	INSERT INTO conversations (chat_id, query, ask) VALUES ($2, $1, $1);
	INSERT INTO bot_inbox (update_id, chat_id, content) VALUES (1, $2, jsonb_build_object('a', $1));
	INSERT INTO events (workload, entity_id, seq, type, to_state, actor_id, owner_id, comment)
		SELECT w, '1', 99, 't', 'S', $3, $3, $1 FROM unnest('{task,delivery,download,book,transaction}'::text[]) w;
	INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, message_id)
		VALUES (repeat('a', 64), $3, 1, $1, 1, 'bot', 'DELIVERED', 5);
	INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('shared ' || $1, $3, '{}');
	INSERT INTO workspace_members (workspace_id, user_id) SELECT 999, $3;
	INSERT INTO workspace_invitations (workspace_id, user_id, invited_by) VALUES (999, $3, 1);
	INSERT INTO tasks (workspace_id, title, description, labels, creator_id) VALUES (1, $1, $1, ARRAY[$1], $3);
	INSERT INTO task_watchers (task_id, user_id) VALUES (1, $3);
	INSERT INTO task_submissions (task_id, seq, author_id, result) VALUES (1, 1, $3, json_build_object('a', $1));
	INSERT INTO books (title, author, folded, creator_id) VALUES ($1, $1, $1, $3);
	INSERT INTO media_assets (book_id, media_type, status, job_id, path, source_url, owner_id) VALUES (1, 'text', 'available', 1, $1, $1, $3);
	INSERT INTO library_files (job_id, place, path, folded, size) VALUES (1, 1, $1, $1, 1);
	INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, external_job_id, completed_at_utc, infohash_v1, infohash_v2,
			torrent, save_path, content_path, request_key, failure_reason)
		SELECT u.id, 1, 'text', s, $1, $1, $1, CASE s WHEN 'completed' THEN now() END, $1, $1 || repeat('0', 24), $1::bytea, $1, $1, $1 || u.id || s,
			CASE s WHEN 'failed' THEN 'provider_error' END
		FROM users u, unnest('{completed,failed,canceled,downloading}'::text[]) s WHERE u.id = $3 OR u.owner_id = $3;
	UPDATE download_jobs SET other_category = $1;
	INSERT INTO download_sources (job_id, place, source_url, title, indexer, claimed, infohash_v1, infohash_v2)
		SELECT id, 1, $1, $1, $1, $1, $1, $1 || repeat('0', 24) FROM download_jobs;
	INSERT INTO boards (workload, entity_id, chat_id) SELECT 'download', id, $2 FROM download_jobs UNION ALL SELECT 'delivery', id, $2 FROM jobs;
	INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, username, user_id, recipient)
		VALUES ($1 || repeat('0', 24), 'w', 1, 1, $1, $1, $1, $3, $1);
	INSERT INTO payments (kind, transaction_hash, attempt, wallet, seqno, valid_until, boc, hash_norm, destination, amount_nano, reserved_nano, body_hash)
		VALUES ('refund', $1 || repeat('0', 24), 1, 'w', 1, now(), $1::bytea, repeat('0', 64), $1, 1, 1, repeat('0', 64))`

// kept is where something planted stays, and why.
var kept = map[string]personal.Reason{
	"workspaces.name": personal.Shared, "tasks.title": personal.Shared, "tasks.description": personal.Shared, "tasks.labels": personal.Shared,
	"task_submissions.result": personal.Shared,
	"books.title":             personal.Shared, "books.author": personal.Shared, "books.folded": personal.Shared,
	"media_assets.path": personal.Shared, "library_files.path": personal.Shared, "library_files.folded": personal.Shared,
	"events.comment":    personal.Money, // of a transaction
	"transactions.hash": personal.Money, "transactions.sender": personal.Money, "transactions.comment": personal.Money,
	"transactions.username": personal.Money, "transactions.recipient": personal.Money,
	"payments.transaction_hash": personal.Money, "payments.boc": personal.Money, "payments.destination": personal.Money,
}

// TestNothingOfAPersonIsLeft marks everything recorded about a person and an agent of theirs, forgets them, ends what
// was live, and finds the marker only where it is shared or proves where money went.
func TestNothingOfAPersonIsLeft(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	admin, err := w.Accounts.CreateUser(t.Context(), account.User{Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken())
	w.must(err)
	ada, err := w.Accounts.CreateUser(t.Context(), account.User{Status: account.UserActive}, account.NewToken())
	w.must(err)
	agent, err := w.Accounts.CreateAgent(t.Context(), ada.ID, "a", account.Token{Name: "a", Scopes: account.Scopes}, account.NewToken())
	w.must(err)
	for statement := range strings.SplitSeq(plant, ";\n") {
		statement = strings.NewReplacer("$1", "'"+planted+"'::text", "$2", fmt.Sprint(plantedChat), "$3", fmt.Sprint(ada.ID)).Replace(statement)
		if err := w.tryExec(statement); err != nil {
			t.Fatalf("%v: %s", err, statement)
		}
	}
	w.exec(`RESET session_replication_role`)

	before := w.holding()
	for _, table := range personal.Tables {
		for column := range table.Clear {
			if text := !strings.HasSuffix(column, "_at") && !strings.HasSuffix(column, "owner_id"); text &&
				!slices.Contains([]string{"language", "language_chosen", "mutes_agents", "role", "status"}, column) && !slices.Contains(before, table.Name+"."+column) {
				t.Errorf("nothing is planted in %s.%s", table.Name, column)
			}
		}
		if table.Drop && table.Name != "workspace_members" && table.Name != "workspace_invitations" &&
			!slices.ContainsFunc(before, func(column string) bool { return strings.HasPrefix(column, table.Name+".") }) {
			t.Errorf("nothing is planted in %s", table.Name)
		}
	}

	_, ended, err := w.Operations.Forget(t.Context(), ada.ID, admin.ID)
	w.must(err)
	if len(ended.Agents) != 1 || ended.Agents[0].ID != agent.ID {
		t.Errorf("the agents that have ended are %+v", ended.Agents)
	}
	live, err := w.Downloads.List(t.Context(), download.Filter{Active: true, Limit: 9})
	w.must(err)
	if len(live) != 2 {
		t.Fatalf("live are %+v", live)
	}
	for _, job := range live {
		if job.CancelRequestedAt == nil || !strings.HasPrefix(job.InfohashV1, planted) || job.SourceURL != core.RemovedText {
			t.Errorf("a live download is %+v", job)
		}
		_, err := w.Downloads.Change(t.Context(), job.ID, func(walk *download.DownloadWalk) error {
			return walk.Take(download.DownloadStep{Action: lifecycle.DownloadActionCancel, Roles: []lifecycle.Role{lifecycle.System}, Comment: string(fault.CancelledByUser)})
		})
		w.must(err)
	}

	after := w.holding()
	for _, column := range after {
		if kept[column] == "" {
			t.Errorf("%s still has it", column)
		}
	}
	for column, reason := range kept {
		if !slices.Contains(after, column) {
			t.Errorf("%s does not have it any more: %s", column, reason)
		}
	}
	if n := w.number(`SELECT count(*) FROM users WHERE id = $1 AND (language_chosen OR mutes_agents)`, ada.ID); n != 0 {
		t.Error("what the person has chosen is left")
	}
	if n := w.number(`SELECT count(*) FROM workspace_members WHERE user_id = $1`, ada.ID) + w.number(`SELECT count(*) FROM workspace_invitations WHERE user_id = $1`, ada.ID); n != 0 {
		t.Errorf("she is a member, or asked to be one, %d times", n)
	}
}
