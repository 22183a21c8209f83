package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

const (
	lying    = 20_000 // rows of each kind that have ended
	listRuns = 8      // PostgreSQL may plan a statement once for any values after it has seen it five times
)

// fillLists writes users, jobs, tasks, downloads and transactions of which nearly all are alike: they are user 1's and
// have ended. The few that differ are the oldest: who reads from the newest on meets all others before.
const fillLists = `
	SET session_replication_role = replica;
	INSERT INTO users (name, telegram_id, status) SELECT 'u', n, CASE WHEN n = 20000 THEN 'PENDING' ELSE 'ACTIVE' END FROM generate_series(1, 20000) n;
	INSERT INTO files (path, parent, name, is_folder, size, modified_at) VALUES ('/f', '/', 'f', false, 1, now());
	INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, last_error, message_id, claimed_at, heartbeat_at)
		SELECT lpad(n::text, 64, '0'), CASE WHEN n = 5 THEN 2 ELSE 1 END, 1, 'f', 1, 'api',
			CASE n WHEN 1 THEN 'EXPIRED' WHEN 2 THEN 'FAILED' WHEN 3 THEN 'QUEUED' WHEN 4 THEN 'STREAMING' ELSE 'DELIVERED' END, 'E', 1, now(), now()
		FROM generate_series(1, 20000) n;
	INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('one', 1, '{}'), ('two', 2, '{}');
	INSERT INTO workspace_members (workspace_id, user_id) VALUES (1, 1), (2, 2), (2, 3);
	INSERT INTO tasks (workspace_id, title, creator_id, assignee_id, visibility, status, finished_at)
		SELECT CASE n WHEN 2 THEN 2 ELSE 1 END, 'a title', CASE n WHEN 2 THEN 2 ELSE 1 END, CASE n WHEN 2 THEN NULL WHEN 4 THEN 5 ELSE 1 END,
			CASE n WHEN 3 THEN 'private' ELSE 'public' END, CASE n WHEN 1 THEN 'CANCELLED' WHEN 2 THEN 'NEW' WHEN 3 THEN 'BLOCKED' ELSE 'DONE' END,
			CASE WHEN n NOT IN (2, 3) THEN now() END
		FROM generate_series(1, 20000) n;
	INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, content_path, completed_at_utc, failure_reason)
		SELECT CASE n WHEN 3 THEN 2 ELSE 1 END, n, 'text', CASE n WHEN 1 THEN 'failed' WHEN 2 THEN 'queued' ELSE 'completed' END, 's', 'u', '/p',
			CASE WHEN n > 2 THEN now() END, CASE n WHEN 1 THEN 'f' END
		FROM generate_series(1, 20000) n;
	INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, status, attempt, processing_since, error_message, error_class,
			fragment_transaction_hash, refund_due_nano, needs_review, review_reason)
		SELECT encode(sha256(n::text::bytea), 'hex'), 'w', n, 1, 's', '', CASE WHEN n < 3 THEN 'failed' WHEN n = 3 THEN 'processing' ELSE 'processed' END, 1,
			now() - interval '1 day', CASE WHEN n < 3 THEN 'e' ELSE '' END, CASE n WHEN 1 THEN 'retryable' WHEN 2 THEN 'non-retryable' ELSE '' END,
			CASE WHEN n > 3 THEN lpad(n::text, 64, '0') ELSE '' END, CASE n WHEN 2 THEN 1 ELSE 0 END, n = 3, CASE n WHEN 3 THEN 'r' ELSE '' END
		FROM generate_series(1, 20000) n;
	INSERT INTO events (workload, entity_id, seq, type, to_state)
		SELECT CASE n % 2 WHEN 0 THEN 'delivery' ELSE 'task' END, n::text, 1, 't', 'S' FROM generate_series(1, 20000) n;
	SET session_replication_role = DEFAULT;
	ANALYZE`

// TestListsReadFewRows asks for the few rows that differ, each list again and again, and wants PostgreSQL to find them
// by an index.
func TestListsReadFewRows(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	fillWith(t, url, fillLists)

	awaitEvents(t, url)

	jobs := func(f store.JobFilter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Jobs(ctx, f)
			return len(list), err
		}
	}

	tasks := func(f store.TaskFilter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Tasks(ctx, f)
			return len(list), err
		}
	}

	downloads := func(f store.DownloadFilter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Downloads(ctx, f)
			return len(list), err
		}
	}

	transactions := func(f store.TransactionFilter) func(context.Context, *store.Store) (int, error) {
		f.Limit = 20
		return func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Transactions(ctx, f)
			return len(list), err
		}
	}

	for name, c := range map[string]struct {
		want int
		list func(context.Context, *store.Store) (int, error)
	}{
		"jobs":                       {20, jobs(store.JobFilter{})},
		"jobs, next page":            {20, jobs(store.JobFilter{Before: lying / 2})},
		"jobs of a user":             {1, jobs(store.JobFilter{UserID: 2})},
		"live jobs":                  {2, jobs(store.JobFilter{Live: true})},
		"live jobs of a user":        {2, jobs(store.JobFilter{UserID: 1, Live: true})},
		"queued jobs":                {1, jobs(store.JobFilter{State: lifecycle.DeliveryQueued})},
		"queued jobs of a user":      {1, jobs(store.JobFilter{UserID: 1, State: lifecycle.DeliveryQueued})},
		"expired jobs":               {1, jobs(store.JobFilter{State: lifecycle.DeliveryExpired})},
		"failed jobs of a user":      {1, jobs(store.JobFilter{UserID: 1, State: lifecycle.DeliveryFailed})},
		"cancelled jobs: there none": {0, jobs(store.JobFilter{State: lifecycle.DeliveryCancelled})},

		"tasks":                               {20, tasks(store.TaskFilter{})},
		"cancelled tasks":                     {1, tasks(store.TaskFilter{Status: lifecycle.TaskCancelled})},
		"stuck tasks: there are none":         {0, tasks(store.TaskFilter{Status: lifecycle.TaskStuck})},
		"tasks of a workspace":                {1, tasks(store.TaskFilter{WorkspaceID: 2})},
		"cancelled tasks of a workspace":      {1, tasks(store.TaskFilter{WorkspaceID: 1, Status: lifecycle.TaskCancelled})},
		"ready tasks":                         {1, tasks(store.TaskFilter{Ready: true})},
		"ready tasks of a workspace":          {0, tasks(store.TaskFilter{WorkspaceID: 1, Ready: true})},
		"live tasks":                          {2, tasks(store.TaskFilter{Live: true})},
		"tasks of an assignee":                {1, tasks(store.TaskFilter{AssigneeID: 5})},
		"live tasks of an assignee":           {1, tasks(store.TaskFilter{AssigneeID: 1, Live: true})},
		"what a member sees":                  {1, tasks(store.TaskFilter{Viewer: 3})},
		"what a creator sees":                 {1, tasks(store.TaskFilter{Viewer: 2})},
		"what an assignee sees":               {1, tasks(store.TaskFilter{Viewer: 5})},
		"what a stranger sees":                {0, tasks(store.TaskFilter{Viewer: 4})},
		"what a stranger sees of a workspace": {0, tasks(store.TaskFilter{Viewer: 4, WorkspaceID: 1})},
		"what a busy user sees":               {20, tasks(store.TaskFilter{Viewer: 1})},
		"what a member sees of ready ones":    {1, tasks(store.TaskFilter{Viewer: 3, Ready: true})},
		"live tasks of the viewer":            {1, tasks(store.TaskFilter{Viewer: 1, AssigneeID: 1, Live: true})},

		"downloads":                     {20, downloads(store.DownloadFilter{})},
		"downloads of a user":           {1, downloads(store.DownloadFilter{UserID: 2})},
		"failed downloads":              {1, downloads(store.DownloadFilter{Status: lifecycle.DownloadFailed})},
		"failed downloads of a user":    {1, downloads(store.DownloadFilter{UserID: 1, Status: lifecycle.DownloadFailed})},
		"canceled ones: there are none": {0, downloads(store.DownloadFilter{Status: lifecycle.DownloadCanceled})},
		"queued downloads":              {1, downloads(store.DownloadFilter{Status: lifecycle.DownloadQueued})},
		"downloads of a book":           {1, downloads(store.DownloadFilter{BookID: 2})},
		"a book's for a user":           {1, downloads(store.DownloadFilter{UserID: 1, BookID: 2, Active: true})},
		"active downloads of a user":    {1, downloads(store.DownloadFilter{UserID: 1, Active: true})},

		"transactions":              {20, transactions(store.TransactionFilter{})},
		"failed transactions":       {2, transactions(store.TransactionFilter{Status: lifecycle.TransactionFailed})},
		"pending: there are none":   {0, transactions(store.TransactionFilter{Status: lifecycle.TransactionPending})},
		"transactions to retry":     {1, transactions(store.TransactionFilter{MayRetry: true})},
		"to retry, by the message":  {1, transactions(store.TransactionFilter{MayRetry: true, Error: "e"})},
		"to retry, by the time":     {0, transactions(store.TransactionFilter{MayRetry: true, SeenUntil: &time.Time{}})},
		"transactions to review":    {1, transactions(store.TransactionFilter{NeedsReview: true})},
		"stuck transactions":        {1, transactions(store.TransactionFilter{StuckFor: time.Hour})},
		"those that may be tried":   {1, transactions(store.TransactionFilter{MayRetry: true})},
		"those with a debt":         {1, transactions(store.TransactionFilter{Owed: true})},
		"a transaction by its hash": {1, transactions(store.TransactionFilter{HashBegins: "6b86b273ff34"})},

		"events from the first": {20, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.EventsAfter(ctx, store.Cursor{}, 20)
			return len(list), err
		}},
		"the place of some events back": {1, func(ctx context.Context, s *store.Store) (int, error) {
			_, err := s.EventsBack(ctx, 20)
			return 1, err
		}},
		"the lag of events": {1, func(ctx context.Context, s *store.Store) (int, error) {
			_, err := s.EventsLag(ctx)
			return 1, err
		}},
		"users who wait": {1, func(ctx context.Context, s *store.Store) (int, error) {
			list, err := s.Users(ctx, store.UserPending, 0, 20)
			return len(list), err
		}},
	} {
		s, err := store.OpenPool(t.Context(), url, store.Pool{Connections: 2}, testdb.Key)
		if err != nil {
			t.Fatal(err)
		}

		before := testdb.RowsRead(t, url)
		for range listRuns {
			if n, err := c.list(t.Context(), s); err != nil || n != c.want {
				t.Fatalf("%s: %d, %v; want %d", name, n, err, c.want)
			}
		}

		s.Close() // a session that ends tells PostgreSQL what it has read
		if read := (testdb.RowsRead(t, url) - before) / listRuns; read > lying/20 {
			t.Errorf("%s: %d rows are read each time", name, read)
		}
	}
}

// awaitEvents waits until the events can be read: the transactions of other tests may hold them up.
func awaitEvents(t *testing.T, url string) {
	t.Helper()
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()

	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		events, err := s.EventsAfter(t.Context(), store.Cursor{}, 20)
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
