package store

import (
	"context"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
)

// DrivenRow is the row that a workflow drives, as the reconciler compares it with a workflow that it has found running.
type DrivenRow struct {
	Key     string        `db:"key"` // the workflow's id without the workload's name
	Entity  string        `db:"entity"`
	Over    bool          `db:"over"`    // nothing is left for a workflow to do
	Changed time.Duration `db:"changed"` // since the row changed
}

// drivenRows are the queries by workload: those rows whose workflows have one of these keys.
var drivenRows = map[string]string{
	lifecycle.WorkloadDelivery: `SELECT idempotency_key AS key, id::text AS entity, state IN ` + endedJobs + ` AS over,
		now() - updated_at AS changed FROM jobs WHERE idempotency_key = ANY ($1::text[])`,
	lifecycle.WorkloadTask: `SELECT id::text AS key, id::text AS entity, status IN ` + endedTasks + ` AS over, now() - updated_at AS changed
		FROM tasks WHERE id = ANY ($1::bigint[])`,
	lifecycle.WorkloadDownload: `SELECT DISTINCT ON (asked.key) asked.key, d.id::text AS entity, d.status NOT IN ` + liveDownloads + ` AS over,
		now() - d.updated_at_utc AS changed
		FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS asked (key, user_id, book_id, media_type)
		JOIN download_jobs d ON d.user_id = asked.user_id AND d.book_id = asked.book_id AND d.media_type = asked.media_type
		ORDER BY asked.key, d.id DESC`,
	// A failed one may wait for an operator's retry, and its workflow with it.
	lifecycle.WorkloadTransaction: `SELECT hash AS key, hash AS entity, now() - updated_at AS changed, NOT needs_review AND (status = 'processed'
			OR status = 'failed' AND error_class = 'non-retryable' AND refund_due_nano = 0 AND NOT EXISTS (
				SELECT 1 FROM payments p WHERE p.transaction_hash = t.hash AND live AND (p.state = 'signed' OR kind = 'refund' AND kept_at IS NULL))
			) AS over FROM transactions t WHERE hash = ANY ($1::text[])`,
}

// DrivenRows finds the rows of a workload whose workflows have these keys, by key. What cannot be the key of any row is left out, and
// so is known to have none; ok says which keys could be one.
func (s *Store) DrivenRows(ctx context.Context, workload string, keys []string) (rows map[string]DrivenRow, ok map[string]bool, err error) {
	ok = map[string]bool{}
	var texts, media []string
	var users, books, ids []int64
	for _, key := range keys {
		switch workload {
		case lifecycle.WorkloadTask:
			id, err := strconv.ParseInt(key, 10, 64)
			if ok[key] = err == nil; err == nil {
				ids = append(ids, id)
			}
		case lifecycle.WorkloadDownload:
			parts := strings.Split(key, "/")
			if len(parts) != 3 {
				continue
			}
			user, err1 := strconv.ParseInt(parts[0], 10, 64)
			book, err2 := strconv.ParseInt(parts[1], 10, 64)
			if ok[key] = err1 == nil && err2 == nil; ok[key] {
				texts, users, books, media = append(texts, key), append(users, user), append(books, book), append(media, parts[2])
			}
		default:
			ok[key] = len(key) == 64
			texts = append(texts, key)
		}
	}
	args := []any{texts}
	switch workload {
	case lifecycle.WorkloadTask:
		args = []any{ids}
	case lifecycle.WorkloadDownload:
		args = []any{texts, users, books, media}
	}
	found, err := list[DrivenRow](ctx, s, drivenRows[workload], args...)
	rows = make(map[string]DrivenRow, len(found))
	for _, row := range found {
		rows[row.Key] = row
	}
	return rows, ok, err
}
