package store

import (
	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
)

// deliveryPart is what the statements about all workloads know of deliveries.
var deliveryPart = Part{
	Workload: lifecycle.WorkloadDelivery,
	Table:    "jobs",
	Events:   "job_events",

	state:  "state",
	errors: `type IN ('requeued', 'failed')`,
	quotas: []quota{deliveryQuota},
	retained: []retention{
		{
			kind: "deliveries", policy: "deliveries",
			page: `SELECT id, created_at AS made, state IN ` + endedJobs + ` AND updated_at < $3 AS old
				FROM jobs WHERE id > $1 ORDER BY id LIMIT $2`,
			drops: ofEntity(lifecycle.WorkloadDelivery, `DELETE FROM jobs WHERE id = ANY ($1)`),
		},
		eventsOf(lifecycle.WorkloadDelivery, `jobs WHERE id = e.entity_id::bigint AND state NOT IN `+endedJobs),
	},
	forget: forgetDeliveries,
}

var deliveryQuota = quota{
	name:   "deliveries",
	things: `FROM jobs WHERE user_id = %s AND state IN ` + liveJobs,
	above:  `SELECT user_id, count(*) FROM jobs WHERE state IN ` + liveJobs + ` GROUP BY 1 HAVING count(*) > $1`,
}

// forgetDeliveries finds the boards by the deliveries that they show.
func forgetDeliveries(batch *pgx.Batch, user, _ int64) {
	batch.Queue(
		`DELETE FROM boards b USING jobs j WHERE j.user_id = $1 AND b.workload = 'delivery' AND b.entity_id = j.id`, user,
	)
	batch.Queue(`UPDATE jobs SET cancel_requested_at = coalesce(cancel_requested_at, now())
		WHERE user_id = $1 AND state IN `+liveJobs, user)
}
