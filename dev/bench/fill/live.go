package fill

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
)

const endLive = `SET session_replication_role = replica;
	UPDATE jobs SET state = 'CANCELLED' WHERE state = 'QUEUED';
	UPDATE tasks SET status = 'CANCELLED', finished_at = now() WHERE finished_at IS NULL;
	UPDATE download_jobs SET status = 'canceled' WHERE status = 'queued'`

// firstLive is above the ids of rows of other figures.
const firstLive = 1_000_000_000

// Live writes live rows, the same number of each workload, by COPY and without triggers.
//
// Those that other figures have left end: they have no workflows.
func (r Record) Live(ctx context.Context, each int) error {
	if err := SQL(ctx, r.URL, endLive); err != nil {
		return err
	}

	conn, err := pgx.Connect(ctx, r.URL)
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
				return []any{firstLive + i, LiveKey(lifecycle.WorkloadDelivery, i), user, 1, "f", 1, "api", at, at}
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
					firstLive + i, LiveKey(lifecycle.WorkloadTransaction, i), "0:" + strings.Repeat("a", 64), firstLive + i, 1, "0:bb", "ada", at, at,
				}
			},
		},
	} {
		r.Say("%s: %d live rows", table.name, each)
		if err := copyRows(ctx, r, table.name, table.columns, each, table.row); err != nil {
			return err
		}
	}

	r.Say("vacuum")
	return SQL(ctx, r.URL, `VACUUM ANALYZE jobs; VACUUM ANALYZE tasks; VACUUM ANALYZE download_jobs; VACUUM ANALYZE transactions`)
}

// LiveKey is the key of the workflow of the ith live row.
func LiveKey(workload string, i int) string {
	switch id := strconv.Itoa(firstLive + i); workload {
	case lifecycle.WorkloadTask:
		return id
	case lifecycle.WorkloadDownload:
		return fmt.Sprintf("%d/%s/text", firstLive, id)
	default:
		return hashOf(firstLive + i)
	}
}
