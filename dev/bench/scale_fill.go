package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"stagecoach/internal/lifecycle"
)

const (
	scalePerEntity = 6 // events
	scaleDays      = 90
	scaleUsers     = 1000
	scaleWaiting   = 5000      // queued deliveries, each with a live message
	scaleBusy      = 4         // one of so many rows belongs to the first user, who uses the service by programs
	scaleCatalog   = 100_000   // books, and files
	scaleXIDs      = 100_000   // transactions that wrote the events
	scaleTorrents  = 100       // queued downloads
	scaleDue       = 20        // pending notices of each user
	scaleReport    = 1_000_000 // rows between two progress reports on a table
)

// scaleShares is the distribution of the events.
var scaleShares = []struct {
	workload string
	percent  int
}{{"delivery", 50}, {"task", 30}, {"download", 10}, {"transaction", 10}}

// fillScale writes entities that have ended with their events, live messages and notices, by COPY and without triggers.
// It then computes the counts from the rows, as the repair of a drift does.
func fillScale(ctx context.Context, m *machine, events int) error {
	if err := scaleSQL(ctx, m, sized(scaleBase, scaleCatalog)); err != nil {
		return err
	}

	m.say("transactions")
	first, err := passTransactions(ctx, m)
	if err != nil {
		return err
	}

	copying, copyCtx := errgroup.WithContext(ctx)
	copying.SetLimit(2)
	for _, share := range scaleShares {
		entities := events * share.percent / 100 / scalePerEntity
		copying.Go(func() error { return copyEntities(copyCtx, m, share.workload, entities) })
		copying.Go(func() error { return copyEvents(copyCtx, m, share.workload, entities, first) })
	}

	copying.Go(func() error { return copyNotices(copyCtx, m, events/scalePerEntity) })
	if err := copying.Wait(); err != nil {
		return err
	}

	m.say("rows beside them")
	const quick = `SET session_replication_role = replica;`
	if err := scaleSQL(ctx, m, quick+sized(scaleBeside, events/scalePerEntity)); err != nil {
		return err
	}

	m.say("vacuum")
	if err := scaleSQL(ctx, m, `DELETE FROM count_checks; VACUUM ANALYZE`); err != nil {
		return err
	}

	m.say("counts")
	if _, err := m.store.CheckCounts(ctx); err != nil {
		return err
	}
	return m.store.FoldCounts(ctx)
}

// scaleSQL runs statements one by one: some cannot run in a transaction.
func scaleSQL(ctx context.Context, m *machine, statements string) error {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()

	for statement := range strings.SplitSeq(statements, ";") {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// copyRows writes n rows by COPY, without foreign keys and triggers.
func copyRows(ctx context.Context, m *machine, table string, columns []string, n int, row func(i int) []any) error {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()

	if _, err := conn.Exec(ctx, `SET session_replication_role = replica`); err != nil {
		return err
	}

	i := 0
	_, err = conn.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromFunc(func() ([]any, error) {
		if i++; i > n {
			return nil, nil
		}
		if i%scaleReport == 0 {
			m.say("%s: %d of %d rows", table, i, n)
		}
		return row(i), nil
	}))

	return err
}

// scaleTime is when the ith of n events happened: they are spread evenly, up to now.
func scaleTime(i, n int) time.Time {
	return time.Now().Add(-time.Duration(float64(scaleDays*24*time.Hour) * float64(n-i) / float64(n)))
}

func copyEntities(ctx context.Context, m *machine, workload string, n int) error {
	switch workload {
	case "delivery":
		return copyDeliveries(ctx, m, n)
	case "task":
		return copyTasks(ctx, m, n)
	case "download":
		return copyDownloads(ctx, m, n)
	default:
		return copyTransactions(ctx, m, n)
	}
}

// copyDeliveries writes deliveries, the last of which are queued, with a live message each.
func copyDeliveries(ctx context.Context, m *machine, n int) error {
	queuedFrom := n - min(scaleWaiting, n/2) + 1

	columns := []string{
		"idempotency_key", "user_id", "file_id", "file_name", "size", "source", "state", "last_error", "message_id",
		"created_at", "updated_at",
	}
	err := copyRows(ctx, m, "jobs", columns, n, func(i int) []any {
		state, at := []string{"DELIVERED", "DELIVERED", "DELIVERED", "FAILED", "CANCELLED"}[i%5], scaleTime(i, n)
		if i >= queuedFrom {
			state = "QUEUED"
		}
		return []any{scaleHash(i), scaleOwner(i), i%scaleCatalog + 1, "a file.pdf", 1 << 20, "bot", state, "STORAGE_TIMEOUT", 1, at, at}
	})
	if err != nil {
		return err
	}

	columns = []string{"workload", "entity_id", "chat_id", "message_id", "state", "due_at"}
	return copyRows(ctx, m, "boards", columns, n, func(i int) []any {
		state := "final"
		if i >= queuedFrom {
			state = "shown"
		}
		return []any{"delivery", i, scaleOwner(i), i, state, scaleTime(i, n)}
	})
}

func copyTasks(ctx context.Context, m *machine, n int) error {
	columns := []string{
		"workspace_id", "title", "creator_id", "assignee_id", "status", "finished_at", "created_at", "updated_at",
	}
	return copyRows(ctx, m, "tasks", columns, n, func(i int) []any {
		at := scaleTime(i, n)
		var finished any = at
		status := []string{"DONE", "DONE", "CANCELLED"}[i%3]
		if i > n-min(scaleWaiting, n/2) {
			status, finished = "IN_PROGRESS", nil
		}
		return []any{i%100 + 1, "a task of some size", scaleOwner(i), i%7 + 1, status, finished, at, at}
	})
}

// copyDownloads writes downloads; the last of them are queued.
func copyDownloads(ctx context.Context, m *machine, n int) error {
	queuedFrom := n - min(scaleTorrents, n/2) + 1

	columns := []string{
		"user_id", "book_id", "media_type", "status", "source", "source_url", "content_path", "completed_at_utc", "failure_reason",
		"created_at_utc", "updated_at_utc",
	}
	return copyRows(ctx, m, "download_jobs", columns, n, func(i int) []any {
		at := scaleTime(i, n)
		status, path, completed, failure := "completed", "/downloads/job", any(at), any(nil)
		switch {
		case i >= queuedFrom:
			status, path, completed = "queued", "", nil
		case i%5 == 0:
			status, path, completed, failure = "failed", "", nil, "no space"
		case i%5 == 1:
			status, path, completed = "canceled", "", nil
		}
		return []any{
			scaleOwner(i), i%scaleCatalog + 1, "text", status, "web", "magnet:?xt=urn:btih:0", path, completed, failure, at, at,
		}
	})
}

func copyTransactions(ctx context.Context, m *machine, n int) error {
	columns := []string{
		"hash", "wallet", "lt", "amount_nano", "sender", "comment", "status", "attempt", "processing_since",
		"error_message", "error_class", "fragment_transaction_hash", "user_id", "created_at", "updated_at",
	}

	return copyRows(ctx, m, "transactions", columns, n, func(i int) []any {
		hash, at := scaleHash(i), scaleTime(i, n)
		status, message, class, paid := "processed", "", "", hash
		if i%20 == 0 {
			status, message, class, paid = "failed", "Username not found", "non-retryable", ""
		}
		if i%40 == 0 {
			message, class = "Failed to fetch: Network error", "retryable"
		}
		return []any{
			hash, "0:" + strings.Repeat("a", 64), i, 1, "0:bb", "ada", status, 1, at, message, class, paid, scaleOwner(i), at,
			at.Add(20 * time.Second),
		}
	})
}

// scaleHash is the hash of the ith transaction.
func scaleHash(i int) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(i)))) }

// passTransactions uses up numbers of transactions, so that the events can have different ones. It returns the first.
func passTransactions(ctx context.Context, m *machine) (first int64, err error) {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(ctx) }()

	if err := conn.QueryRow(ctx, `SELECT pg_current_xact_id()::text::bigint`).Scan(&first); err != nil {
		return 0, err
	}
	if _, err := conn.Exec(ctx, `SET synchronous_commit = off`); err != nil {
		return 0, err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`, scaleXIDs))
	return first, err
}

// copyEvents writes the events of the transactions from first on; one of thirty is an error.
func copyEvents(ctx context.Context, m *machine, workload string, entities int, first int64) error {
	n := entities * scalePerEntity
	columns := []string{
		"workload", "entity_id", "xid", "seq", "type", "from_state", "to_state", "owner_id", "actor_id", "comment", "created_at",
	}

	return copyRows(ctx, m, "events", columns, n, func(i int) []any {
		entity := (i-1)/scalePerEntity + 1
		id := fmt.Sprint(entity)
		if workload == "transaction" {
			id = scaleHash(entity)
		}
		kind, comment := "status_changed", ""
		if i%30 == 0 {
			kind, comment = "failed", fmt.Sprintf("ERROR_%d", i%17)
		}
		owner, xid := scaleOwner(entity), uint64(first)+uint64(i)*scaleXIDs/uint64(n)
		return []any{workload, id, xid, (i-1)%scalePerEntity + 1, kind, "A", "B", owner, owner, comment, scaleTime(i, n)}
	})
}

// copyNotices writes sent and pending notices.
func copyNotices(ctx context.Context, m *machine, sent int) error {
	columns := []string{"user_id", "workload", "entity_id", "seq", "state", "due_at"}
	err := copyRows(ctx, m, "news", columns, sent, func(i int) []any {
		return []any{i%scaleUsers + 1, "task", fmt.Sprint(i), 2, "sent", scaleTime(i, sent)}
	})
	if err != nil {
		return err
	}

	const due = scaleUsers * scaleDue
	return copyRows(ctx, m, "news", columns, due, func(i int) []any {
		return []any{i%scaleUsers + 1, "task", fmt.Sprint(i), 3, "due", scaleTime(i, due)}
	})
}

// firstLive is above the ids of rows of other figures.
const firstLive = 1_000_000_000

// fillLive writes live rows, the same number of each workload, by COPY and without triggers.
func fillLive(ctx context.Context, m *machine, each int) error {
	conn, err := pgx.Connect(ctx, m.postgres.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()

	var user int64
	if err := conn.QueryRow(ctx, `INSERT INTO users (id, status) OVERRIDING SYSTEM VALUE VALUES ($1, 'ACTIVE') RETURNING id`, firstLive).
		Scan(&user); err != nil {
		return err
	}

	at := time.Now().Add(-24 * time.Hour)
	for _, table := range []struct {
		name    string
		columns []string
		row     func(i int) []any
	}{
		{
			"jobs",
			[]string{"id", "idempotency_key", "user_id", "file_id", "file_name", "size", "source", "created_at", "workflow_started_at"},
			func(i int) []any {
				return []any{firstLive + i, liveKey(lifecycle.WorkloadDelivery, i), user, 1, "f", 1, "api", at, at}
			},
		},
		{
			"tasks",
			[]string{"id", "workspace_id", "title", "creator_id", "status", "created_at", "workflow_started_at"},
			func(i int) []any { return []any{firstLive + i, 1, "a task", user, "NEW", at, at} },
		},
		{
			"download_jobs",
			[]string{"id", "user_id", "book_id", "media_type", "source", "source_url", "created_at_utc", "workflow_started_at"},
			func(i int) []any {
				return []any{firstLive + i, user, firstLive + i, "text", "web", "magnet:?xt=urn:btih:0", at, at}
			},
		},
		{
			"transactions",
			[]string{"id", "hash", "wallet", "lt", "amount_nano", "sender", "comment", "created_at", "workflow_started_at"},
			func(i int) []any {
				return []any{
					firstLive + i, liveKey(lifecycle.WorkloadTransaction, i), "0:" + strings.Repeat("a", 64), firstLive + i, 1, "0:bb", "ada", at, at,
				}
			},
		},
	} {
		m.say("%s: %d live rows", table.name, each)
		if err := copyRows(ctx, m, table.name, table.columns, each, table.row); err != nil {
			return err
		}
	}

	m.say("vacuum")
	return scaleSQL(ctx, m, `VACUUM ANALYZE jobs; VACUUM ANALYZE tasks; VACUUM ANALYZE download_jobs; VACUUM ANALYZE transactions`)
}

// liveKey is the key of the workflow of the ith live row.
func liveKey(workload string, i int) string {
	switch id := strconv.Itoa(firstLive + i); workload {
	case lifecycle.WorkloadTask:
		return id
	case lifecycle.WorkloadDownload:
		return fmt.Sprintf("%d/%s/text", firstLive, id)
	default:
		return scaleHash(firstLive + i)
	}
}
