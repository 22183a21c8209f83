package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

const (
	lying    = 20_000 // ended rows of each kind
	listRuns = 8      // PostgreSQL may use a generic plan after executing a statement five times
)

// fillLists writes users, jobs, tasks, downloads and transactions, nearly all alike: they are user 1's and have ended.
// The few that differ are the oldest: a scan from the newest reads all others first.
const fillLists = `
	SET session_replication_role = replica;
	INSERT INTO users (name, telegram_id, status) SELECT 'u', n, CASE WHEN n = 20000 THEN 'PENDING' ELSE 'ACTIVE' END FROM generate_series(1, 20000) n;
	INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now());
	INSERT INTO files (path, parent, name, folded, is_folder, size, modified_at)
		SELECT '/report ' || n, '/', 'report ' || n, 'report ' || n, false, 1, now() FROM generate_series(1, 20000) n;
	INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, last_error, message_id, claimed_at, heartbeat_at)
		SELECT lpad(n::text, 64, '0'), CASE WHEN n = 5 THEN 2 ELSE 1 END, 1, 'f', 1, 'api',
			CASE n WHEN 1 THEN 'EXPIRED' WHEN 2 THEN 'FAILED' WHEN 3 THEN 'QUEUED' WHEN 4 THEN 'STREAMING' ELSE 'DELIVERED' END, 'E', 1, now(), now()
		FROM generate_series(1, 20000) n;
	INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('one', 1, '{}'), ('two', 2, '{}');
	INSERT INTO workspace_members (workspace_id, user_id) VALUES (1, 1), (2, 2), (2, 3);
	INSERT INTO tasks (workspace_id, title, folded, creator_id, assignee_id, visibility, status, finished_at)
		SELECT CASE n WHEN 2 THEN 2 ELSE 1 END, 'a title', 'a title', CASE n WHEN 2 THEN 2 ELSE 1 END, CASE n WHEN 2 THEN NULL WHEN 4 THEN 5 ELSE 1 END,
			CASE n WHEN 3 THEN 'private' ELSE 'public' END, CASE n WHEN 1 THEN 'CANCELLED' WHEN 2 THEN 'NEW' WHEN 3 THEN 'BLOCKED' ELSE 'DONE' END,
			CASE WHEN n NOT IN (2, 3) THEN now() END
		FROM generate_series(1, 20000) n;
	INSERT INTO task_blockers SELECT n, CASE WHEN n > 19600 THEN 4 ELSE n - 1 END FROM generate_series(6, 20000) n WHERE n > 19600 OR n % 2 = 0;
	INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, content_path, completed_at_utc, failure_reason)
		SELECT CASE n WHEN 3 THEN 2 ELSE 1 END, n, 'text', CASE n WHEN 1 THEN 'failed' WHEN 2 THEN 'queued' ELSE 'completed' END, 's', 'u', '/p',
			CASE WHEN n > 2 THEN now() END, CASE n WHEN 1 THEN 'f' END
		FROM generate_series(1, 20000) n;
	INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, processing_since, taken_by, error_message, error_class,
			fragment_transaction_hash, refund_due_nano, needs_review, review_reason, user_id)
		SELECT encode(sha256(n::text::bytea), 'hex'), 'w', n, 1, 's', '', CASE WHEN n < 3 THEN 'failed' WHEN n = 3 THEN 'processing' ELSE 'processed' END, 1,
			now() - interval '1 day', 'a', CASE WHEN n < 3 THEN 'e' ELSE '' END, CASE n WHEN 1 THEN 'retryable' WHEN 2 THEN 'non-retryable' ELSE '' END,
			CASE WHEN n > 3 THEN lpad(n::text, 64, '0') ELSE '' END, CASE n WHEN 2 THEN 1 ELSE 0 END, n = 3, CASE n WHEN 3 THEN 'r' ELSE '' END, CASE n WHEN 5 THEN 2 ELSE 1 END
		FROM generate_series(1, 20000) n;
	INSERT INTO events (workload, entity_id, seq, type, to_state)
		SELECT CASE n % 2 WHEN 0 THEN 'delivery' ELSE 'task' END, n::text, 1, 't', 'S' FROM generate_series(1, 20000) n;
	SET session_replication_role = DEFAULT;
	ANALYZE`

// TestNightListsReadFewRows requests the few rows that differ, each list repeatedly, and requires PostgreSQL to find
// them by an index.
func TestNightListsReadFewRows(t *testing.T) {
	night.Only(t)
	t.Parallel()
	url := testdb.URL(t)
	fillWith(t, url, fillLists)

	awaitEvents(t, url)

	jobs := func(f delivery.Filter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Deliveries.List(ctx, f)
			return len(list), err
		}
	}

	tasks := func(f task.Filter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Tasks.List(ctx, f)
			return len(list), err
		}
	}

	downloads := func(f download.Filter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Downloads.List(ctx, f)
			return len(list), err
		}
	}

	transactions := func(f transaction.Filter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Transactions.List(ctx, f)
			return len(list), err
		}
	}

	receipts := func(userID int64) func(context.Context, *store.Store) (int, error) {
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Transactions.TransactionsFor(ctx, userID, 0, 20)
			return len(list), err
		}
	}

	receiptsTo := func(username string) func(context.Context, *store.Store) (int, error) {
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Transactions.TransactionsTo(ctx, username, 0, 20)
			return len(list), err
		}
	}

	for name, c := range map[string]struct {
		want int
		list func(context.Context, *store.Store) (int, error)
	}{
		"jobs":                       {20, jobs(delivery.Filter{})},
		"jobs, next page":            {20, jobs(delivery.Filter{Before: lying / 2})},
		"jobs of a user":             {1, jobs(delivery.Filter{UserID: 2})},
		"live jobs":                  {2, jobs(delivery.Filter{Live: true})},
		"live jobs of a user":        {2, jobs(delivery.Filter{UserID: 1, Live: true})},
		"queued jobs":                {1, jobs(delivery.Filter{State: lifecycle.DeliveryQueued})},
		"queued jobs of a user":      {1, jobs(delivery.Filter{UserID: 1, State: lifecycle.DeliveryQueued})},
		"expired jobs":               {1, jobs(delivery.Filter{State: lifecycle.DeliveryExpired})},
		"failed jobs of a user":      {1, jobs(delivery.Filter{UserID: 1, State: lifecycle.DeliveryFailed})},
		"cancelled jobs: there none": {0, jobs(delivery.Filter{State: lifecycle.DeliveryCancelled})},

		"tasks":                               {20, tasks(task.Filter{})},
		"cancelled tasks":                     {1, tasks(task.Filter{Status: lifecycle.TaskCancelled})},
		"stuck tasks: there are none":         {0, tasks(task.Filter{Status: lifecycle.TaskStuck})},
		"tasks of a workspace":                {1, tasks(task.Filter{WorkspaceID: 2})},
		"cancelled tasks of a workspace":      {1, tasks(task.Filter{WorkspaceID: 1, Status: lifecycle.TaskCancelled})},
		"ready tasks":                         {1, tasks(task.Filter{Ready: true})},
		"ready tasks of a workspace":          {0, tasks(task.Filter{WorkspaceID: 1, Ready: true})},
		"live tasks":                          {2, tasks(task.Filter{Live: true})},
		"tasks of an assignee":                {1, tasks(task.Filter{AssigneeID: 5})},
		"live tasks of an assignee":           {1, tasks(task.Filter{AssigneeID: 1, Live: true})},
		"what a member sees":                  {1, tasks(task.Filter{Viewer: 3})},
		"what a creator sees":                 {1, tasks(task.Filter{Viewer: 2})},
		"what an assignee sees":               {1, tasks(task.Filter{Viewer: 5})},
		"what a stranger sees":                {0, tasks(task.Filter{Viewer: 4})},
		"what a stranger sees of a workspace": {0, tasks(task.Filter{Viewer: 4, WorkspaceID: 1})},
		"words that a busy user searches for": {0, tasks(task.Filter{Viewer: 1, Words: "nowhere"})},
		"words that an administrator finds":   {20, tasks(task.Filter{Words: "a title"})},
		"words that nobody has written":       {0, tasks(task.Filter{Words: "nowhere"})},
		"what a busy user sees":               {20, tasks(task.Filter{Viewer: 1})},
		"what a member sees of ready ones":    {1, tasks(task.Filter{Viewer: 3, Ready: true})},
		"live tasks of the viewer":            {1, tasks(task.Filter{Viewer: 1, AssigneeID: 1, Live: true})},

		"a board": {1, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Tasks.BoardOf(ctx, 3, 2, 20)
			return len(list), err
		}},
		"a busy board": {22, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Tasks.BoardOf(ctx, 0, 1, 20)
			return len(list), err
		}},
		"the work of an assignee": {1, func(ctx context.Context, s *store.Store) (int, error) {
			work, err := s.Tasks.WorkOf(ctx, 1, 1, 20)
			return len(work.Assigned) + len(work.Ready), err
		}},
		"the work of an administrator": {1, func(ctx context.Context, s *store.Store) (int, error) {
			work, err := s.Tasks.WorkOf(ctx, 3, 0, 20)
			return len(work.Assigned) + len(work.Ready), err
		}},
		"the graph of a task that many wait for": {20, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Tasks.GraphOf(ctx, 1, 4, 20)
			return len(list), err
		}},
		"the graph of a workspace": {20, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Tasks.GraphOfWorkspace(ctx, 1, 1, 20)
			return len(list), err
		}},

		"downloads":                     {20, downloads(download.Filter{})},
		"downloads of a user":           {1, downloads(download.Filter{UserID: 2})},
		"failed downloads":              {1, downloads(download.Filter{Status: lifecycle.DownloadFailed})},
		"failed downloads of a user":    {1, downloads(download.Filter{UserID: 1, Status: lifecycle.DownloadFailed})},
		"canceled ones: there are none": {0, downloads(download.Filter{Status: lifecycle.DownloadCanceled})},
		"queued downloads":              {1, downloads(download.Filter{Status: lifecycle.DownloadQueued})},
		"downloads of a book":           {1, downloads(download.Filter{BookID: 2})},
		"a book's for a user":           {1, downloads(download.Filter{UserID: 1, BookID: 2, Active: true})},
		"active downloads of a user":    {1, downloads(download.Filter{UserID: 1, Active: true})},

		"transactions":              {20, transactions(transaction.Filter{})},
		"failed transactions":       {2, transactions(transaction.Filter{Status: lifecycle.TransactionFailed})},
		"pending: there are none":   {0, transactions(transaction.Filter{Status: lifecycle.TransactionPending})},
		"transactions to retry":     {1, transactions(transaction.Filter{MayRetry: true})},
		"to retry, by the message":  {1, transactions(transaction.Filter{MayRetry: true, Error: "e"})},
		"to retry, by the time":     {0, transactions(transaction.Filter{MayRetry: true, SeenUntil: &time.Time{}})},
		"transactions to review":    {1, transactions(transaction.Filter{NeedsReview: true})},
		"stuck transactions":        {1, transactions(transaction.Filter{StuckFor: time.Hour})},
		"those that may be tried":   {1, transactions(transaction.Filter{MayRetry: true})},
		"those with a debt":         {1, transactions(transaction.Filter{Owed: true})},
		"those to decide about":     {2, transactions(transaction.Filter{Attention: true})},
		"those of a user":           {1, receipts(2)},
		"those for a username":      {0, receiptsTo("durov")},
		"a transaction by its hash": {1, transactions(transaction.Filter{HashBegins: "6b86b273ff34"})},

		"events from the first": {20, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Notices.EventsAfter(ctx, core.Cursor{}, 20)
			return len(list), err
		}},
		"the place of some events back": {1, func(ctx context.Context, s *store.Store) (int, error) {
			_, err := s.Notices.EventsBack(ctx, 20)
			return 1, err
		}},
		"the lag of events": {1, func(ctx context.Context, s *store.Store) (int, error) {
			_, err := s.Notices.EventsLag(ctx)
			return 1, err
		}},
		"files by frequent words": {20, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Deliveries.SearchFiles(ctx, "report", 20, 0)
			return len(list), err
		}},
		"users who wait": {1, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Accounts.Users(ctx, account.UserPending, 0, 20)
			return len(list), err
		}},
	} {
		s, err := store.OpenPool(t.Context(), url, core.Pool{Connections: 2}, testdb.Key)
		if err != nil {
			t.Fatal(err)
		}

		before := testdb.RowsRead(t, url)
		for range listRuns {
			if n, err := c.list(t.Context(), s); err != nil || n != c.want {
				t.Fatalf("%s: %d, %v; want %d", name, n, err, c.want)
			}
		}

		s.Close() // PostgreSQL gets a session's statistics when it ends
		most := int64(lying) / 20
		if strings.Contains(name, "words that") {
			most = lying / 4 // the newest 1,000 for each reason to see them, and the text of 1,000
		}
		if read := (testdb.RowsRead(t, url) - before) / listRuns; read > most {
			t.Errorf("%s: %d rows are read each time", name, read)
		}
	}
}

// awaitEvents waits until the events are readable: other tests' transactions may hold them back.
func awaitEvents(t *testing.T, url string) {
	t.Helper()
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		events, err := s.Notices.EventsAfter(t.Context(), core.Cursor{}, 20)
		if err != nil || time.Now().After(deadline) {
			t.Fatal("the events cannot be read", err)
		}
		if len(events) == 20 {
			return
		}
	}
}

// fillWith runs statements that make rows.
func fillWith(t *testing.T, url, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}
