// Package delivery stores deliveries and their files.
package delivery

import (
	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db   *core.DB
	line line
}

// New returns this part of a database.
func New(db *core.DB) *Store {
	s := &Store{db: db}
	s.line = newLine(s.readLine)
	return s
}

// Part describes deliveries to statements across all workloads.
var Part = core.Part{
	Workload: lifecycle.WorkloadDelivery,
	Table:    "jobs",
	Events:   "job_events",

	Live: `SELECT state FROM jobs WHERE user_id = $1 AND state IN ` + liveJobs,
	Counts: []core.Counts{
		core.CountStates(lifecycle.WorkloadDelivery, "jobs", "state", lifecycle.Delivery.Live(), lifecycle.Delivery.Ended()),
	},
	Errors: `type IN ('requeued', 'failed')`,
	Alerts: notice.DeliveryAlerts,
	Quotas: []core.Quota{deliveryQuota},
	Retained: []core.Retention{
		{
			Kind: "deliveries", Policy: "deliveries",
			Page: `SELECT id, created_at AS made, state IN ` + endedJobs + ` AND updated_at < $3 AS old
				FROM jobs WHERE id > $1 ORDER BY id LIMIT $2`,
			Drops: core.OfEntity(lifecycle.WorkloadDelivery, `DELETE FROM jobs WHERE id = ANY ($1)`),
		},
		core.EventsOf(lifecycle.WorkloadDelivery, `jobs WHERE id = e.entity_id::bigint AND state NOT IN `+endedJobs),
	},
	End: endDeliveries,
}

var deliveryQuota = core.Quota{
	Name:   "deliveries",
	Things: `FROM jobs WHERE user_id = %s AND state IN ` + liveJobs,
	Above:  `SELECT user_id, count(*) FROM jobs WHERE state IN ` + liveJobs + ` GROUP BY 1 HAVING count(*) > %d`,
}

func endDeliveries(batch *pgx.Batch, users []int64, _ int64) {
	batch.Queue(`UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, now())
		WHERE user_id = ANY ($1) AND state IN `+liveJobs, users)
}
