// Package download stores downloads, books and their media.
package download

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }

// Part describes downloads to statements across all workloads.
var Part = core.Part{
	Workload: lifecycle.WorkloadDownload,
	Table:    "download_jobs",
	Events:   "download_events",

	Live: `SELECT status FROM download_jobs WHERE user_id = $1 AND status IN ` + liveDownloads,
	Counts: []core.Counts{
		core.CountStates(lifecycle.WorkloadDownload, "download_jobs", "status", lifecycle.Download.Live(), lifecycle.Download.Ended()),
	},
	Errors: `type = 'failed'`,
	Alerts: notice.DownloadAlerts,
	Quotas: []core.Quota{downloadQuota, dailyQuota, bookQuota},
	Retained: []core.Retention{
		{
			Kind: "downloads", Policy: "downloads",
			Page: `SELECT id, created_at_utc AS made, status IN ` + endedDownloads + ` AND updated_at_utc < $3 AS old
				FROM download_jobs WHERE id > $1 ORDER BY id LIMIT $2`,
			Drops: core.OfEntity(
				lifecycle.WorkloadDownload,
				`DELETE FROM library_files f WHERE job_id = ANY ($1) AND NOT EXISTS (SELECT FROM media_assets m WHERE m.job_id = f.job_id)`,
				`DELETE FROM download_jobs WHERE id = ANY ($1)`,
			),
		},
		core.EventsOf(lifecycle.WorkloadDownload, `download_jobs WHERE id = e.entity_id::bigint AND status IN `+liveDownloads),
		// A book does not end: only the age of its events counts.
		core.EventsOf(books, `(SELECT 1) kept WHERE false`),
	},
	End: endDownloads,
}

var (
	downloadQuota = core.Quota{
		Name:   "downloads",
		Things: `FROM download_jobs WHERE user_id = %s AND status IN ` + liveDownloads,
		Above:  `SELECT user_id, count(*) FROM download_jobs WHERE status IN ` + liveDownloads + ` GROUP BY 1 HAVING count(*) > %d`,
	}
	dailyQuota = core.PerDay("downloads_per_day", "download_jobs", "user_id", "created_at_utc")
	bookQuota  = core.Quota{
		Name:   "books",
		Things: `FROM books WHERE creator_id = %s`,
		Above:  `SELECT creator_id AS user_id, count(*) FROM books GROUP BY 1 HAVING count(*) > %d`,
	}
)

func endDownloads(batch *pgx.Batch, users []int64, by int64) {
	batch.Queue(`UPDATE download_jobs SET cancel_requested_by = CASE WHEN cancel_requested_at IS NULL THEN $2 ELSE cancel_requested_by END,
		cancel_requested_at = coalesce(cancel_requested_at, now())
		WHERE user_id = ANY ($1) AND status IN `+liveDownloads, users, by)
}

// Driven returns downloads by their workflows' keys, user/book/medium: the last one of each.
func (s *Store) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
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

	return s.db.Driven(ctx, possible, `SELECT DISTINCT ON (asked.key) asked.key, d.id::text AS entity, d.status NOT IN `+liveDownloads+` AS over,
		now() - d.updated_at_utc AS changed
		FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[]) AS asked (key, user_id, book_id, media_type)
		JOIN download_jobs d ON d.user_id = asked.user_id AND d.book_id = asked.book_id AND d.media_type = asked.media_type
		ORDER BY asked.key, d.id DESC`, asked, users, books, media)
}
