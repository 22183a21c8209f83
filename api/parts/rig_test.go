package parts_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"stagecoach/api/parts"
	"stagecoach/api/rest"
	"stagecoach/api/rest/events"
	"stagecoach/api/rest/server"
	"stagecoach/api/web/site"
	"stagecoach/dev/testdb"
	"stagecoach/internal/allowance"
	"stagecoach/internal/catalog"
	"stagecoach/internal/fault"
	"stagecoach/internal/feed"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/service/all"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/service/webhooks"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/webhook"
	"stagecoach/internal/yandex"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// rig has the pages over a record in which Ada has entities of every workload, in every state, more than one page of
// each list. Her data contains the word ofAda, and administrators' data forAdmins.
type rig struct {
	*testing.T
	address string // of the database
	db      *pgx.Conn
	url     string
	ada     account.User
	tokens  map[string]string // by name
}

// Words in texts that only Ada, or only administrators, may read.
const (
	ofAda     = "zzada"
	forAdmins = "zzroot"
	hashes    = "cafecafe" // prefix of all transaction hashes
)

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, address: testdb.URL(t), tokens: map[string]string{}}
	r.db = testdb.Connect(t, r.address)
	s := r.open(r.address)

	r.ada = r.user(s, account.User{Name: "Ada Planted", Role: account.RoleUser, Status: account.UserActive}, "ada")
	r.user(s, account.User{Name: "Bob Planted", Role: account.RoleUser, Status: account.UserActive}, "bob")
	r.user(s, account.User{Name: "Carol Blocked", Role: account.RoleUser, Status: account.UserActive}, "blocked")
	r.user(s, account.User{Name: "Root", Role: account.RoleAdmin, Status: account.UserActive}, "admin")
	r.user(s, account.User{Name: "Pat " + forAdmins, Status: account.UserPending}, "pending")
	for _, scope := range account.ScopesOf(account.RoleUser) {
		r.tokens[string(scope)] = account.NewToken()
		_, err := s.Accounts.CreateToken(
			t.Context(), account.Token{UserID: r.ada.ID, Name: "one", Scopes: []account.Scope{scope}}, r.tokens[string(scope)],
		)
		r.must(err)
	}

	r.fill()
	r.webhooks(s)
	r.url = r.serve(s)
	return r
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// webhooks creates working and failing webhooks for Ada, and a paused one.
func (r *rig) webhooks(s *store.Store) {
	r.Helper()
	for i := range 60 {
		made, _, err := s.Webhooks.Create(r.Context(), core.Request{UserID: r.ada.ID}, "https://"+ofAda+".example/path", "whsec_eA==", lifecycle.Names()[:i%3], core.Cursor{XID: 3})
		r.must(err)
		switch i {
		case 0:
			_, err = s.Webhooks.Pause(r.Context(), r.ada.ID, made.ID)
		case 1:
			_, err = s.Webhooks.Fail(r.Context(), made.ID, made.Claim, fault.WebhookTimeout)
		}
		r.must(err)
	}
}

// open opens the record at an address.
func (r *rig) open(address string) *store.Store {
	r.Helper()
	s, err := store.Open(r.Context(), address, testdb.Key)
	r.must(err)
	r.Cleanup(s.Close)
	quotas := core.Quotas{}
	for _, name := range store.Parts.QuotaNames() {
		quotas[name] = 100_000
	}
	s.SetQuotas(quotas)
	return s
}

// user adds a user with a chat, and names their token.
func (r *rig) user(s *store.Store, u account.User, name string) account.User {
	r.Helper()
	chat := int64(1000 + len(r.tokens))
	u.TelegramID = &chat
	r.tokens[name] = account.NewToken()
	user, err := s.Accounts.CreateUser(r.Context(), u, r.tokens[name])
	r.must(err)
	return user
}

// serve serves API and pages from a record, like a process that has just started.
func (r *rig) serve(s *store.Store) (address string) {
	r.Helper()
	files := catalog.New(catalog.Options{Store: s.Deliveries, Upstream: disk{}, TTL: time.Hour})
	r.Cleanup(files.Close)
	temporal, log := engine{}, slog.New(slog.NewTextHandler(r.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	services := all.Services{
		Deliveries: &deliveries.Service{
			Limits:   deliveries.Limits{TTL: time.Hour, JobTimeout: 15 * time.Minute},
			Temporal: temporal, Store: s, MaxFileSize: 2_097_152_000, Log: log,
		},
		Tasks: &tasks.Service{
			Temporal: temporal, Store: s, Log: log, LeastDeadline: time.Second, LeastRelease: time.Minute,
			Patience: time.Minute,
		},
		Downloads: &downloads.Service{Temporal: temporal, Store: s, Log: log, Grace: time.Minute, Indexers: indexers{}, Library: true},
		Transactions: &transactions.Service{
			Temporal: temporal, Store: s, Log: log, StuckAfter: time.Hour, Most: 1_000_000, Slippage: 100,
			Price:    func(context.Context, int64) (int64, error) { return 460_900_000, nil },
			Friendly: func(string) string { return "UQwallet" },
			Balance:  func(context.Context, string) (lt, nano int64, err error) { return 1, 5_000_000_000, nil },
		},
	}
	services.Downloads.Deliveries = services.Deliveries

	api := rest.New(rest.Options{
		Config: server.Config{Store: s, Log: log, Requests: allowance.NewUsers(1_000_000)},
		Parts:  parts.REST(services, files), Workloads: services.Workloads(), Temporal: temporal,
		Status: status.New(status.Options{Store: s, Temporal: temporal, Queues: lifecycle.Queues(), PollGap: time.Minute}),
		Feed:   events.NewFeed(feed.Options{Events: s.Notices, Tokens: s.Accounts, Webhooks: s.Webhooks}),
		Webhooks: &webhooks.Service{
			Temporal: temporal, Store: s.Webhooks, Events: s.Notices, Log: log, Sending: webhook.Options{AllowPrivate: true},
		},
	})
	r.must(site.Register(site.Config{API: api, Store: s.Accounts, Temporal: "http://temporal.example"}, parts.Web()...))
	served := httptest.NewServer(api)
	r.Cleanup(served.Close)
	return served.URL
}

func (engine) SignalWithStartWorkflow(
	context.Context, string, string, any, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	return nil, errAway
}

// engine is a Temporal that knows no workflow and starts none.
type engine struct{ client.Client }

var errAway = serviceerror.NewUnavailable("no route")

func (engine) ExecuteWorkflow(
	context.Context, client.StartWorkflowOptions, any, ...any,
) (client.WorkflowRun, error) {
	return nil, errAway
}

func (engine) SignalWorkflow(context.Context, string, string, string, any) error {
	return serviceerror.NewNotFound("no such workflow")
}

func (engine) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	return nil, errAway
}

func (engine) NewWithStartWorkflowOperation(
	client.StartWorkflowOptions, any, ...any,
) client.WithStartWorkflowOperation {
	return nil
}

func (engine) UpdateWithStartWorkflow(
	context.Context, client.UpdateWithStartWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	return nil, errAway
}

func (engine) TerminateWorkflow(context.Context, string, string, string, ...any) error {
	return errAway
}

func (engine) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, errAway
}

func (engine) WorkflowService() workflowservice.WorkflowServiceClient { return queues{} }

type queues struct {
	workflowservice.WorkflowServiceClient
}

func (queues) DescribeTaskQueue(
	context.Context, *workflowservice.DescribeTaskQueueRequest, ...grpc.CallOption,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{}, nil
}

// disk is a storage that is never called: what pages show of it comes from the record.
type disk struct{}

var errAsked = errors.New("the storage was asked")

func (disk) List(context.Context, string, int, int) (yandex.Page, error) {
	return yandex.Page{}, errAsked
}
func (disk) Stat(context.Context, string) (yandex.Item, error) { return yandex.Item{}, errAsked }

// visitor is a named browser that does not follow redirects.
type visitor struct {
	*rig
	name   string
	base   string
	client *http.Client
}

// visit opens a browser that is signed in with the token of this name; "": it is not signed in.
func (r *rig) visit(base, name string) *visitor {
	r.Helper()
	jar, err := cookiejar.New(nil)
	r.must(err)
	v := &visitor{rig: r, name: name, base: base, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if name == "" {
		v.name = "a stranger"
		return v
	}

	if in := v.post("/sign-in", url.Values{"token": {r.tokens[name]}}); in.status != http.StatusSeeOther {
		r.Fatalf("%s cannot sign in: %d", name, in.status)
	}
	return v
}

// answer is a response to a browser.
type answer struct {
	status int
	to     string // of a redirect
	text   string
	wire   int // bytes of the body on the wire
}

func (v *visitor) get(path string) answer { return v.send(http.MethodGet, path, nil) }

func (v *visitor) post(path string, form url.Values, headers ...string) answer {
	return v.send(http.MethodPost, path, form, headers...)
}

func (v *visitor) send(method, path string, form url.Values, headers ...string) answer {
	v.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}

	request, err := http.NewRequestWithContext(v.Context(), method, v.base+path, body)
	v.must(err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}

	response, err := v.client.Do(request)
	v.must(err)
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	v.must(err)
	return answer{response.StatusCode, response.Header.Get("Location"), string(text), len(text)}
}

// exec runs SQL statement by statement, replacing ADA with Ada's id.
func (r *rig) exec(statements string) {
	r.Helper()
	statements = strings.NewReplacer("ADA", fmt.Sprint(r.ada.ID), "WORD", ofAda, "ROOT", forAdmins, "HASH", hashes).Replace(statements)
	for statement := range strings.SplitSeq(statements, ";\n") {
		if _, err := r.db.Exec(r.Context(), statement); err != nil {
			r.Fatalf("%v\n%s", err, statement)
		}
	}
}

// fill writes what the pages show.
func (r *rig) fill() {
	r.Helper()
	r.exec(filled)
}

// filled has 60 entities of Ada in each state of each workload, and what administrators see.
const filled = `SET session_replication_role = replica;
INSERT INTO files (path, parent, name, folded, is_folder, size, modified_at, place)
	SELECT '/report ' || n || ' of the year.pdf', '/', 'report ' || n || ' of the year.pdf', 'report ' || n || ' of the year.pdf', false, 1000000 + n, now(), n
	FROM generate_series(1, 60) n;
INSERT INTO files (path, parent, name, is_folder, modified_at) VALUES ('/', '/', '/', true, now()); -- as the first view records it
INSERT INTO listings (path, listed_at) VALUES ('/', now());
INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, attempt, last_error, bytes_sent, message_id, claimed_at, heartbeat_at)
	SELECT lpad(to_hex(n * 8 + k), 64, '0'), ADA, n, 'WORD report ' || n || ' of the year.pdf', 1000000, 'api',
		(ARRAY['QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING', 'DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED'])[k], 1, 'TELEGRAM_UNAVAILABLE', 500000, 1, now(), now()
	FROM generate_series(1, 60) n, generate_series(1, 8) k ORDER BY n, k;
INSERT INTO workspaces (name, owner_id, status_deadlines) SELECT 'WORD room ' || n, ADA, '{"NEW": 60, "IN_PROGRESS": 60, "BLOCKED": 60}' FROM generate_series(1, 3) n;
INSERT INTO workspace_members (workspace_id, user_id) SELECT n, ADA FROM generate_series(1, 3) n;
INSERT INTO tasks (workspace_id, title, description, labels, creator_id, assignee_id, status, status_deadline_at, started_at, finished_at, priority, last_seq)
	SELECT 1, 'WORD: the ' || n || 'th thing to be done', 'WORD how it is done', ARRAY['WORD label'], ADA, CASE WHEN k IN (2, 3, 5) THEN ADA END,
		(ARRAY['NEW', 'IN_PROGRESS', 'BLOCKED', 'STUCK', 'DONE', 'CANCELLED'])[k], CASE WHEN k < 4 THEN now() + interval '1 hour' END,
		CASE WHEN k > 1 THEN now() - interval '2 hours' END, CASE WHEN k > 4 THEN now() - interval '1 hour' END, 'high', 3
	FROM generate_series(1, 60) n, generate_series(1, 6) k ORDER BY n, k;
INSERT INTO task_blockers (task_id, blocker_id) SELECT n * 6 + 1, n * 6 - 4 FROM generate_series(1, 50) n;
INSERT INTO books (title, author, folded, creator_id) SELECT 'A book with the number ' || n, 'Some Author', 'a book with the number ' || n || ' some author', ADA FROM generate_series(1, 60) n;
INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url)
	SELECT n, 'text', n * 5 - 2, (ARRAY['available', 'deleted', 'missing'])[1 + n % 3], '/library/book', 'magnet:?xt=urn:btih:' || repeat('1a', 20) || '&dn=WORD' FROM generate_series(1, 60) n;
INSERT INTO library_files SELECT n * 5 - 2, 1, n || '/book.epub', n || '/book.epub', 1000 FROM generate_series(1, 60) n;
INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, content_path, completed_at_utc, failure_reason, last_error, attention, progress, speed, eta_seconds, size)
	SELECT ADA, n, (ARRAY['text', 'audio', 'text', 'audio', 'audio'])[k], (ARRAY['queued', 'downloading', 'completed', 'failed', 'canceled'])[k], 'WORD', 'magnet:?xt=urn:btih:' || repeat('1a', 20) || '&dn=WORD',
		CASE k WHEN 3 THEN '/WORD' ELSE '' END, CASE k WHEN 3 THEN now() END, CASE k WHEN 4 THEN 'no free space' END, CASE k WHEN 4 THEN 'NO_FREE_SPACE' ELSE '' END, CASE WHEN k = 2 AND n % 2 = 0 THEN 'import_failed' ELSE '' END, 0.5, 1000, 60, 1000000
	FROM generate_series(1, 60) n, generate_series(1, 5) k ORDER BY n, k;
INSERT INTO ton_wallets (address, cursor_lt, cursor_hash, scanned_to) VALUES ('0:' || repeat('a', 64), 0, '', now());
INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, username, user_id, stars, quote_nano, status, attempt, processing_since,
		error_message, error_class, fragment_transaction_hash, refund_due_nano, needs_review, review_reason)
	SELECT 'HASH' || lpad(to_hex(n * 8 + k), 56, '0'), '0:' || repeat('a', 64), n * 8 + k, 2500000000, '0:' || repeat('b', 64), '@WORD', 'WORD', ADA, 50, 2400000000,
		(ARRAY['pending', 'processing', 'processed', 'failed', 'failed', 'failed', 'processing'])[k], CASE k WHEN 1 THEN 0 ELSE 1 END, CASE WHEN k > 1 THEN now() END,
		CASE WHEN k IN (4, 5, 6) THEN 'Username not found' ELSE '' END, (ARRAY['', '', '', 'retryable', 'non-retryable', 'unknown', ''])[k],
		CASE k WHEN 3 THEN 'HASH' || lpad(to_hex(n * 8 + k), 56, '1') ELSE '' END, CASE k WHEN 5 THEN 1000 ELSE 0 END, k = 7, CASE k WHEN 7 THEN 'OUTCOME_UNKNOWN' ELSE '' END
	FROM generate_series(1, 60) n, generate_series(1, 7) k ORDER BY n, k;
INSERT INTO ledger_balances (wallet, account, balance_nano) VALUES ('0:' || repeat('a', 64), 'wallet', 5000000000);
INSERT INTO events (workload, entity_id, seq, type, from_state, to_state, actor_id, owner_id, comment)
	SELECT w, n::text, s, 'failed', '', 'FAILED', ADA, ADA, 'WORD_COMMENT' FROM (VALUES ('delivery', 480), ('task', 360), ('download', 300)) v (w, most), generate_series(1, most) n, generate_series(1, 3) s;
INSERT INTO events (workload, entity_id, seq, type, to_state, actor_id, owner_id, comment)
	SELECT 'transaction', 'HASH' || lpad(to_hex(n), 56, '0'), s, 'made', 'pending', u.id, ADA, 'WORD' FROM users u, generate_series(9, 490) n, generate_series(1, 3) s
	WHERE u.name = 'Root';
INSERT INTO alerts (kind, opened_at) VALUES ('queue_overflow', now()), ('deliveries_stuck', now());
INSERT INTO alerts (kind, opened_at, resolved_at) SELECT 'storage_unreachable', now(), now() FROM generate_series(1, 60);
INSERT INTO reconciler_findings (workload, entity, workflow_id, finding, done, done_at)
	SELECT (ARRAY['delivery', 'task', 'download'])[1 + n % 3], n::text, 'task/ROOT' || n, 'not_started', CASE n % 2 WHEN 1 THEN 'started' ELSE '' END, CASE n % 2 WHEN 1 THEN now() END
	FROM generate_series(1, 60) n;
INSERT INTO audit_log (actor_id, action, subject, outcome, door, created_at) SELECT ADA, 'ROOT-action', 'task/' || n, 'refused', 'http', now() - n * interval '1 minute' FROM generate_series(1, 60) n;
INSERT INTO users (name, status, telegram_id) SELECT 'ROOT user ' || n, 'PENDING', 5000 + n FROM generate_series(1, 60) n;
INSERT INTO users (name, status, owner_id) SELECT 'WORD agent ' || n, CASE n % 2 WHEN 1 THEN 'ACTIVE' ELSE 'BLOCKED' END, ADA FROM generate_series(1, 60) n;
INSERT INTO tokens (user_id, name, hash, scopes) SELECT id, 'WORD token', sha256(id::text::bytea), '{read,tasks}' FROM users WHERE owner_id = ADA;
INSERT INTO events (workload, entity_id, seq, type, from_state, to_state, actor_id, owner_id, comment)
	SELECT w, u.id::text, 1000 + n, 'claimed', '', s, u.id, ADA, 'WORD' FROM (VALUES ('delivery', 'QUEUED'), ('task', 'DONE'), ('download', 'queued')) v (w, s), users u, generate_series(1, 20) n
	WHERE u.owner_id = ADA;
INSERT INTO processes (identity, service, version, started_at) VALUES ('1@ROOT@worker', 'worker', '0.2.0', now());
INSERT INTO outside_systems (name, succeeded_at, failed_at, error, failing_since) VALUES ('telegram', now(), now(), 'TELEGRAM_UNAVAILABLE', now());
UPDATE jobs SET row_version = 3;
UPDATE download_jobs SET row_version = 3;
UPDATE transactions SET row_version = 3, receipt_key = md5(hash);
UPDATE switches SET since = now(), reason = 'ROOT' WHERE name = 'hold';
SET session_replication_role = DEFAULT;
ANALYZE`
