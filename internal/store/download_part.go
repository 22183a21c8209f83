package store

import (
	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
)

// downloadPart is what the statements about all workloads know of downloads.
var downloadPart = Part{
	Workload: lifecycle.WorkloadDownload,
	Table:    "download_jobs",
	Events:   "download_events",

	state:  "status",
	errors: `type = 'failed'`,
	quotas: []quota{downloadQuota, bookQuota},
	retained: []retention{
		{
			kind: "downloads", policy: "downloads",
			page: `SELECT id, created_at_utc AS made, status IN ` + endedDownloads + ` AND updated_at_utc < $3 AS old
				FROM download_jobs WHERE id > $1 ORDER BY id LIMIT $2`,
			drops: ofEntity(lifecycle.WorkloadDownload, `DELETE FROM download_jobs WHERE id = ANY ($1)`),
		},
		eventsOf(lifecycle.WorkloadDownload, `download_jobs WHERE id = e.entity_id::bigint AND status IN `+liveDownloads),
		// A book does not end: its events are old by their age.
		eventsOf(books, `(SELECT 1) kept WHERE false`),
	},
	forget: forgetDownloads,
}

var (
	downloadQuota = quota{
		name:   "downloads",
		things: `FROM download_jobs WHERE user_id = %s AND status IN ` + liveDownloads,
		above:  `SELECT user_id, count(*) FROM download_jobs WHERE status IN ` + liveDownloads + ` GROUP BY 1 HAVING count(*) > $1`,
	}
	bookQuota = quota{
		name:   "books",
		things: `FROM books WHERE creator_id = %s`,
		above:  `SELECT creator_id AS user_id, count(*) FROM books GROUP BY 1 HAVING count(*) > $1`,
	}
)

// forgetDownloads finds boards and media by the downloads.
func forgetDownloads(batch *pgx.Batch, user, by int64) {
	batch.Queue(
		`DELETE FROM boards b USING download_jobs d WHERE d.user_id = $1 AND b.workload = 'download' AND b.entity_id = d.id`,
		user,
	)
	batch.Queue(`UPDATE media_assets m SET owner_id = NULL, source_url = $2 FROM download_jobs d
		WHERE d.user_id = $1 AND m.book_id = d.book_id AND m.media_type = d.media_type AND m.owner_id = $1`, user, removedText)
	batch.Queue(`UPDATE download_jobs SET source_url = $3,
		cancel_requested_by = CASE WHEN cancel_requested_at IS NULL AND status IN `+liveDownloads+` THEN $2 ELSE cancel_requested_by END,
		cancel_requested_at = CASE WHEN status IN `+liveDownloads+` THEN coalesce(cancel_requested_at, now()) ELSE cancel_requested_at END
		WHERE user_id = $1 AND source_url <> $3`, user, by, removedText)
}
