package store

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// DrivenRow is the row that a workflow drives, as the reconciler compares it with a workflow that it has found running.
type DrivenRow struct {
	Key     string        `db:"key"` // the workflow's id without the workload's name
	Entity  string        `db:"entity"`
	Over    bool          `db:"over"`    // nothing is left for a workflow to do
	Changed time.Duration `db:"changed"` // since the row changed
}

// DrivenRows are the rows whose workflows have the keys that were asked for.
type DrivenRows struct {
	Rows     map[string]DrivenRow // by key
	Possible map[string]bool      // keys that a row can have; of the others nothing is known
}

// DrivenDeliveries finds deliveries by the keys of their workflows. The unique index on idempotency_key serves it.
func (s *Store) DrivenDeliveries(ctx context.Context, keys []string) (DrivenRows, error) {
	return s.drivenByHash(ctx, keys, `SELECT idempotency_key AS key, id::text AS entity, state IN `+endedJobs+` AS over,
		now() - updated_at AS changed FROM jobs WHERE idempotency_key = ANY ($1::text[])`)
}

// DrivenTransactions finds transactions by the keys of their workflows. The unique index on hash serves it. A failed
// one may wait for an operator's retry, and its workflow with it.
func (s *Store) DrivenTransactions(ctx context.Context, keys []string) (DrivenRows, error) {
	return s.drivenByHash(ctx, keys, `SELECT hash AS key, hash AS entity, now() - updated_at AS changed, NOT (needs_review OR `+unfinished+`
			OR EXISTS (SELECT 1 FROM payments p WHERE p.transaction_hash = t.hash AND (p.state = `+literal(PaymentSigned)+` OR `+openRefund+`))
		) AS over FROM transactions t WHERE hash = ANY ($1::text[])`)
}

// drivenByHash finds rows whose workflows have hashes of 64 hexadecimal digits for keys.
func (s *Store) drivenByHash(ctx context.Context, keys []string, query string) (DrivenRows, error) {
	possible := map[string]bool{}
	for _, key := range keys {
		possible[key] = len(key) == 64
	}
	return s.driven(ctx, possible, query, keys)
}

// DrivenTasks finds tasks by the keys of their workflows. The primary key serves it.
func (s *Store) DrivenTasks(ctx context.Context, keys []string) (DrivenRows, error) {
	possible := map[string]bool{}
	var ids []int64
	for _, key := range keys {
		id, err := strconv.ParseInt(key, 10, 64)
		if err == nil {
			possible[key], ids = true, append(ids, id)
		}
	}
	return s.driven(ctx, possible, `SELECT id::text AS key, id::text AS entity, status IN `+endedTasks+` AS over, now() - updated_at AS changed
		FROM tasks WHERE id = ANY ($1::bigint[])`, ids)
}

// DrivenDownloads finds downloads by the keys of their workflows, user/book/medium: the last one of each.
func (s *Store) DrivenDownloads(ctx context.Context, keys []string) (DrivenRows, error) {
	possible := map[string]bool{}
	var asked, media []string
	var users, books []int64
	for _, key := range keys {
		parts := strings.Split(key, "/")
		if len(parts) != 3 {
			continue
		}
		user, errUser := strconv.ParseInt(parts[0], 10, 64)
		book, errBook := strconv.ParseInt(parts[1], 10, 64)
		if errUser == nil && errBook == nil {
			possible[key], asked = true, append(asked, key)
			users, books, media = append(users, user), append(books, book), append(media, parts[2])
		}
	}

	return s.driven(ctx, possible, `SELECT DISTINCT ON (asked.key) asked.key, d.id::text AS entity, d.status NOT IN `+liveDownloads+` AS over,
		now() - d.updated_at_utc AS changed
		FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS asked (key, user_id, book_id, media_type)
		JOIN download_jobs d ON d.user_id = asked.user_id AND d.book_id = asked.book_id AND d.media_type = asked.media_type
		ORDER BY asked.key, d.id DESC`, asked, users, books, media)
}

func (s *Store) driven(ctx context.Context, possible map[string]bool, query string, args ...any) (DrivenRows, error) {
	found, err := list[DrivenRow](ctx, s, query, args...)
	rows := make(map[string]DrivenRow, len(found))
	for _, row := range found {
		rows[row.Key] = row
	}
	return DrivenRows{Rows: rows, Possible: possible}, err
}
