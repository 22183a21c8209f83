package fill

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// The shape of a history.
const (
	Days         = 90      // that it covers
	Users        = 1000    // the first of whom has more than all others
	Transactions = 100_000 // that wrote the events

	perEntity = 6         // events
	waiting   = 5000      // queued deliveries
	busyShare = 4         // one in this many rows belongs to the first user, who uses the service through programs
	catalog   = 100_000   // books, and files
	torrents  = 100       // queued downloads
	progress  = 1_000_000 // rows between two reports on a table
)

// shares is the distribution of the events.
var shares = []struct {
	workload string
	percent  int
}{{"delivery", 50}, {"task", 30}, {"download", 10}, {"transaction", 10}}

// History writes entities that have ended with their events, with COPY and without triggers. It then computes the
// counts from the rows, as the repair of a drift does.
func (r Record) History(ctx context.Context, events int) error {
	if err := SQL(ctx, r.URL, sized(base, catalog)); err != nil {
		return err
	}

	r.Say("transactions")
	first, err := passTransactions(ctx, r)
	if err != nil {
		return err
	}

	copying, copyCtx := errgroup.WithContext(ctx)
	copying.SetLimit(2)
	for _, share := range shares {
		entities := events * share.percent / 100 / perEntity
		copying.Go(func() error { return copyEntities(copyCtx, r, share.workload, entities) })
		copying.Go(func() error { return copyEvents(copyCtx, r, share.workload, entities, first) })
	}

	if err := copying.Wait(); err != nil {
		return err
	}

	r.Say("rows beside them")
	const quick = `SET session_replication_role = replica;`
	if err := SQL(ctx, r.URL, quick+sized(beside, events/perEntity)); err != nil {
		return err
	}

	r.Say("vacuum")
	if err := SQL(ctx, r.URL, `VACUUM ANALYZE`); err != nil {
		return err
	}

	r.Say("counts")
	if err := r.Store.Operations.ResetCounts(ctx); err != nil {
		return err
	}
	_, err = r.Store.Operations.RefreshCounts(ctx)
	return err
}

// copyRows writes n rows with COPY, without foreign keys and triggers.
func copyRows(ctx context.Context, r Record, table string, columns []string, n int, row func(i int) []any) error {
	conn, err := pgx.Connect(ctx, r.URL)
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
		if i%progress == 0 {
			r.Say("%s: %d of %d rows", table, i, n)
		}
		return row(i), nil
	}))

	return err
}

// timeOf is when the ith of n events happened: they are spread evenly, up to now.
func timeOf(i, n int) time.Time {
	return time.Now().Add(-time.Duration(float64(Days*24*time.Hour) * float64(n-i) / float64(n)))
}

func copyEntities(ctx context.Context, r Record, workload string, n int) error {
	switch workload {
	case "delivery":
		return copyDeliveries(ctx, r, n)
	case "task":
		return copyTasks(ctx, r, n)
	case "download":
		return copyDownloads(ctx, r, n)
	default:
		return copyTransactions(ctx, r, n)
	}
}

// copyDeliveries writes deliveries, the last of which are queued.
func copyDeliveries(ctx context.Context, r Record, n int) error {
	queuedFrom := n - min(waiting, n/2) + 1

	columns := []string{
		"idempotency_key", "user_id", "file_id", "file_name", "size", "source", "state", "last_error", "message_id",
		"created_at", "updated_at",
	}
	return copyRows(ctx, r, "jobs", columns, n, func(i int) []any {
		state, at := []string{"DELIVERED", "DELIVERED", "DELIVERED", "FAILED", "CANCELLED"}[i%5], timeOf(i, n)
		if i >= queuedFrom {
			state = "QUEUED"
		}
		return []any{hashOf(i), ownerOf(i), i%catalog + 1, "a file.pdf", 1 << 20, "bot", state, "STORAGE_UNAVAILABLE", 1, at, at}
	})
}

func copyTasks(ctx context.Context, r Record, n int) error {
	columns := []string{
		"workspace_id", "title", "creator_id", "assignee_id", "status", "finished_at", "created_at", "updated_at",
	}
	return copyRows(ctx, r, "tasks", columns, n, func(i int) []any {
		at := timeOf(i, n)
		var finished any = at
		status := []string{"DONE", "DONE", "CANCELLED"}[i%3]
		if i > n-min(waiting, n/2) {
			status, finished = "IN_PROGRESS", nil
		}
		return []any{i%100 + 1, "a task of some size", ownerOf(i), i%7 + 1, status, finished, at, at}
	})
}

// copyDownloads writes downloads; the last of them are queued.
func copyDownloads(ctx context.Context, r Record, n int) error {
	queuedFrom := n - min(torrents, n/2) + 1

	columns := []string{
		"user_id", "book_id", "media_type", "status", "source", "source_url", "content_path", "completed_at_utc", "failure_reason",
		"created_at_utc", "updated_at_utc",
	}
	return copyRows(ctx, r, "download_jobs", columns, n, func(i int) []any {
		at := timeOf(i, n)
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
			ownerOf(i), i%catalog + 1, "text", status, "web", "magnet:?xt=urn:btih:0", path, completed, failure, at, at,
		}
	})
}

func copyTransactions(ctx context.Context, r Record, n int) error {
	columns := []string{
		"hash", "wallet", "lt", "amount_nano", "sender", "comment", "status", "attempt", "processing_since",
		"error_message", "error_class", "fragment_transaction_hash", "user_id", "created_at", "updated_at",
	}

	return copyRows(ctx, r, "transactions", columns, n, func(i int) []any {
		hash, at := hashOf(i), timeOf(i, n)
		status, message, class, paid := "processed", "", "", hash
		if i%20 == 0 {
			status, message, class, paid = "failed", "Username not found", "non-retryable", ""
		}
		if i%40 == 0 {
			message, class = "Failed to fetch: Network error", "retryable"
		}
		return []any{
			hash, "0:" + strings.Repeat("a", 64), i, 1, "0:bb", "ada", status, 1, at, message, class, paid, ownerOf(i), at,
			at.Add(20 * time.Second),
		}
	})
}

// hashOf is the hash of the ith transaction.
func hashOf(i int) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(strconv.Itoa(i)))) }

// passTransactions uses up transaction numbers, so that the events can have different ones. It returns the first.
func passTransactions(ctx context.Context, r Record) (first int64, err error) {
	conn, err := pgx.Connect(ctx, r.URL)
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
	_, err = conn.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`, Transactions))
	return first, err
}

// copyEvents writes the events of the transactions from first on; one of thirty is an error.
func copyEvents(ctx context.Context, r Record, workload string, entities int, first int64) error {
	n := entities * perEntity
	columns := []string{
		"workload", "entity_id", "xid", "seq", "type", "from_state", "to_state", "owner_id", "actor_id", "comment", "created_at",
	}

	return copyRows(ctx, r, "events", columns, n, func(i int) []any {
		entity := (i-1)/perEntity + 1
		id := fmt.Sprint(entity)
		if workload == "transaction" {
			id = hashOf(entity)
		}
		kind, comment := "status_changed", ""
		if i%30 == 0 {
			kind, comment = "failed", fmt.Sprintf("ERROR_%d", i%17)
		}
		owner, xid := ownerOf(entity), uint64(first)+uint64(i)*Transactions/uint64(n)
		return []any{workload, id, xid, (i-1)%perEntity + 1, kind, "A", "B", owner, owner, comment, timeOf(i, n)}
	})
}
