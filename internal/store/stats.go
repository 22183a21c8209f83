package store

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
)

// ErrorCount is how often jobs met an error.
type ErrorCount struct {
	Code  string `db:"code"`
	Count int64  `db:"count"`
}

// maxCounted is where counts stop that nobody keeps. It stands in the statements: with a parameter PostgreSQL would
// plan for any number, and read the table.
const maxCounted = `10000`

// lastErrors are the last errors of each workload since $1, up to maxCounted of each: job_events_errors and the indexes
// like it serve it, and have the same conditions.
const lastErrors = `(SELECT 'delivery' AS workload, comment AS code FROM job_events WHERE type IN ('requeued', 'failed') AND comment <> ''
		AND created_at >= $1 ORDER BY created_at DESC LIMIT ` + maxCounted + `)
	UNION ALL (SELECT 'download', comment FROM download_events WHERE type = 'failed' AND comment <> ''
		AND created_at >= $1 ORDER BY created_at DESC LIMIT ` + maxCounted + `)
	UNION ALL (SELECT 'transaction', comment FROM transaction_events WHERE type = 'failed' AND comment <> ''
		AND created_at >= $1 ORDER BY created_at DESC LIMIT ` + maxCounted + `)`

// StuckJobs lists held jobs whose heartbeat is older than age.
func (s *Store) StuckJobs(ctx context.Context, age time.Duration, limit int) ([]Job, error) {
	return list[Job](ctx, s, jobSelect+`WHERE state IN `+heldJobs+`
		AND heartbeat_at < now() - $1::interval ORDER BY heartbeat_at LIMIT $2`, age, limit)
}

// HeartbeatAge says how old the youngest heartbeat of a held job is, in seconds; nil when no job is held.
func (s *Store) HeartbeatAge(ctx context.Context) (age *float64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT extract(epoch FROM now() - max(heartbeat_at))::float8 FROM jobs
		WHERE state IN `+heldJobs).Scan(&age)
	return age, unavailable(err)
}

// LiveJob is a live job as the reconciler compares it with Temporal.
type LiveJob struct {
	ID                int64                   `db:"id"`
	IdempotencyKey    string                  `db:"idempotency_key"`
	UserID            int64                   `db:"user_id"`
	State             lifecycle.DeliveryState `db:"state"`
	WorkflowStartedAt *time.Time              `db:"workflow_started_at"`
	HeartbeatAge      *float64                `db:"heartbeat_age"` // seconds
}

// WorkflowID is the id of the workflow that drives the job.
func (j LiveJob) WorkflowID() string { return Job{IdempotencyKey: j.IdempotencyKey}.WorkflowID() }

// LiveJobs lists live jobs that were made at least age ago, with ids above after, ascending.
func (s *Store) LiveJobs(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveJob, error) {
	return list[LiveJob](ctx, s, `SELECT id, idempotency_key, user_id, state, workflow_started_at,
		extract(epoch FROM now() - heartbeat_at)::float8 AS heartbeat_age FROM jobs
		WHERE state IN `+liveJobs+` AND id > $1 AND created_at < now() - $2::interval
		ORDER BY id LIMIT $3`, after, age, limit)
}

// OverviewCounts are what a status counts in one look.
type OverviewCounts struct {
	Jobs           map[lifecycle.DeliveryState]int64
	Downloads      map[lifecycle.DownloadState]int64
	Tasks          map[lifecycle.TaskState]int64
	Transactions   map[lifecycle.TransactionState]int64
	PaymentQueue   int64 // payments that wait for the wallet's turn, or have it
	NeedsReview    int64 // transactions; up to 10,000
	OpenFindings   int64 // the same
	RecentFindings int64 // the same
}

// CountOverview counts the rows of all workloads by state, transactions that need a review, and findings: those that
// are open, and those since a moment. A state without rows is left out. What is not kept as a count is read from
// partial indexes. While many changes have not been added up, because no worker runs or it is busy, each look adds up a
// batch: else it would take longer each time.
func (s *Store) CountOverview(ctx context.Context, since time.Time) (OverviewCounts, error) {
	rows, err := list[Count](ctx, s, counted+`
		UNION ALL SELECT 'changes', '', count(*) FROM (SELECT 1 FROM count_changes LIMIT `+maxCounted+`) c
		UNION ALL SELECT 'review', '', count(*) FROM (SELECT 1 FROM transactions WHERE needs_review LIMIT `+maxCounted+`) r
		UNION ALL SELECT 'open', '', count(*) FROM (SELECT 1 FROM reconciler_findings WHERE done = '' LIMIT `+maxCounted+`) o
		UNION ALL SELECT 'recent', '', count(*) FROM (SELECT 1 FROM reconciler_findings WHERE found_at >= $2 LIMIT `+maxCounted+`) f`,
		[]string{lifecycle.WorkloadDelivery, lifecycle.WorkloadDownload, lifecycle.WorkloadTask, lifecycle.WorkloadTransaction, countQueue}, since)

	changes, counts := int64(0), OverviewCounts{
		Jobs: map[lifecycle.DeliveryState]int64{}, Downloads: map[lifecycle.DownloadState]int64{},
		Tasks: map[lifecycle.TaskState]int64{}, Transactions: map[lifecycle.TransactionState]int64{},
	}

	for _, row := range rows {
		switch row.Kind {
		case lifecycle.WorkloadDelivery:
			counts.Jobs[lifecycle.DeliveryState(row.Key)] = row.N
		case lifecycle.WorkloadDownload:
			counts.Downloads[lifecycle.DownloadState(row.Key)] = row.N
		case lifecycle.WorkloadTask:
			counts.Tasks[lifecycle.TaskState(row.Key)] = row.N
		case lifecycle.WorkloadTransaction:
			counts.Transactions[lifecycle.TransactionState(row.Key)] = row.N
		case countQueue:
			counts.PaymentQueue += row.N
		case "changes":
			changes = row.N
		case "review":
			counts.NeedsReview = row.N
		case "open":
			counts.OpenFindings = row.N
		case "recent":
			counts.RecentFindings = row.N
		}
	}

	if err == nil && changes >= foldBatch {
		_, err = s.foldBatch(ctx)
	}
	return counts, err
}

// WorkloadErrorCount is how often a workload met an error.
type WorkloadErrorCount struct {
	Workload string `db:"workload"`
	Code     string `db:"code"` // of a transaction: its message
	Count    int64  `db:"count"`
}

// WorkloadErrors lists what each workload met most often since a moment, up to limit of each and the most frequent
// first. Of a workload with more than 10,000 errors the last ones are counted.
func (s *Store) WorkloadErrors(ctx context.Context, since time.Time, limit int) ([]WorkloadErrorCount, error) {
	return list[WorkloadErrorCount](ctx, s, `SELECT workload, code, count FROM (
			SELECT workload, code, count(*), row_number() OVER (PARTITION BY workload ORDER BY count(*) DESC, code) AS rank
			FROM (`+lastErrors+`) e GROUP BY workload, code
		) ranked WHERE rank <= $2 ORDER BY count DESC, workload, code`, since, limit)
}
