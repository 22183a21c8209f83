package store

import (
	"context"
	"time"
)

// StateCount is how many jobs are in a state.
type StateCount struct {
	State JobState `db:"state"`
	Count int64    `db:"count"`
}

// JobsInState counts jobs per state; a state without jobs is left out.
func (s *Store) JobsInState(ctx context.Context) ([]StateCount, error) {
	return list[StateCount](ctx, s, `SELECT state, count(*) FROM jobs GROUP BY state`)
}

// DownloadCount is how many downloads are in a status.
type DownloadCount struct {
	Status DownloadStatus `db:"status"`
	Count  int64          `db:"count"`
}

// DownloadsInStatus counts downloads per status; a status without any is left out.
func (s *Store) DownloadsInStatus(ctx context.Context) ([]DownloadCount, error) {
	return list[DownloadCount](ctx, s, `SELECT status, count(*) FROM download_jobs GROUP BY status`)
}

// ErrorCount is how often jobs met an error.
type ErrorCount struct {
	Code  string `db:"code"`
	Count int64  `db:"count"`
}

// TopErrors lists the codes that jobs met most often since a moment.
func (s *Store) TopErrors(ctx context.Context, since time.Time, limit int) ([]ErrorCount, error) {
	return list[ErrorCount](ctx, s, `SELECT comment AS code, count(*) FROM job_events
		WHERE type IN ('requeued', 'failed') AND created_at >= $1 AND comment <> ''
		GROUP BY comment ORDER BY count(*) DESC, comment LIMIT $2`, since, limit)
}

// StuckJobs lists held jobs whose heartbeat is older than age.
func (s *Store) StuckJobs(ctx context.Context, age time.Duration, limit int) ([]Job, error) {
	return list[Job](ctx, s, jobSelect+`WHERE state IN ('CLAIMED', 'DOWNLOADING', 'STREAMING')
		AND heartbeat_at < now() - $1::interval ORDER BY heartbeat_at LIMIT $2`, age, limit)
}

// HeartbeatAge says how old the youngest heartbeat of a held job is, in seconds; nil when no job is held.
func (s *Store) HeartbeatAge(ctx context.Context) (age *float64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT extract(epoch FROM now() - max(heartbeat_at))::float8 FROM jobs
		WHERE state IN ('CLAIMED', 'DOWNLOADING', 'STREAMING')`).Scan(&age)
	return age, unavailable(err)
}

// LiveJob is a live job as the reconciler compares it with Temporal.
type LiveJob struct {
	ID                int64      `db:"id"`
	IdempotencyKey    string     `db:"idempotency_key"`
	UserID            int64      `db:"user_id"`
	State             JobState   `db:"state"`
	WorkflowStartedAt *time.Time `db:"workflow_started_at"`
	HeartbeatAge      *float64   `db:"heartbeat_age"` // seconds
}

// WorkflowID is the id of the workflow that drives the job.
func (j LiveJob) WorkflowID() string { return Job{IdempotencyKey: j.IdempotencyKey}.WorkflowID() }

// LiveJobs lists live jobs that were made at least age ago, with ids above after, ascending.
func (s *Store) LiveJobs(ctx context.Context, age time.Duration, after int64, limit int) ([]LiveJob, error) {
	return list[LiveJob](ctx, s, `SELECT id, idempotency_key, user_id, state, workflow_started_at,
		extract(epoch FROM now() - heartbeat_at)::float8 AS heartbeat_age FROM jobs
		WHERE state IN ('QUEUED', 'CLAIMED', 'DOWNLOADING', 'STREAMING') AND id > $1 AND created_at < now() - $2::interval
		ORDER BY id LIMIT $3`, after, age, limit)
}

// WholeCounts are what a status counts in one look, beside deliveries and downloads.
type WholeCounts struct {
	Tasks          map[TaskStatus]int64
	Transactions   map[TransactionStatus]int64
	NeedsReview    int64 // transactions
	OpenFindings   int64
	RecentFindings int64
}

// CountWhole counts tasks and transactions by status, and findings: those that are open, and those since a moment.
func (s *Store) CountWhole(ctx context.Context, since time.Time) (WholeCounts, error) {
	type row struct {
		What  string `db:"what"`
		Name  string `db:"name"`
		Count int64  `db:"count"`
	}
	rows, err := list[row](ctx, s, `SELECT 'task' AS what, status AS name, count(*) FROM tasks GROUP BY status
		UNION ALL SELECT 'transaction', status, count(*) FROM transactions GROUP BY status
		UNION ALL SELECT 'review', '', count(*) FROM transactions WHERE needs_review
		UNION ALL SELECT 'open', '', count(*) FROM reconciler_findings WHERE done = ''
		UNION ALL SELECT 'recent', '', count(*) FROM reconciler_findings WHERE found_at >= $1`, since)
	counts := WholeCounts{Tasks: map[TaskStatus]int64{}, Transactions: map[TransactionStatus]int64{}}
	for _, r := range rows {
		switch r.What {
		case "task":
			counts.Tasks[TaskStatus(r.Name)] = r.Count
		case "transaction":
			counts.Transactions[TransactionStatus(r.Name)] = r.Count
		case "review":
			counts.NeedsReview = r.Count
		case "open":
			counts.OpenFindings = r.Count
		case "recent":
			counts.RecentFindings = r.Count
		}
	}
	return counts, err
}

// WorkloadErrorCount is how often a workload met an error.
type WorkloadErrorCount struct {
	Workload string `db:"workload"`
	Code     string `db:"code"` // of a transaction: its message
	Count    int64  `db:"count"`
}

// WorkloadErrors lists what all workloads met most often since a moment.
func (s *Store) WorkloadErrors(ctx context.Context, since time.Time, limit int) ([]WorkloadErrorCount, error) {
	return list[WorkloadErrorCount](ctx, s, `SELECT workload, comment AS code, count(*) FROM events
		WHERE created_at >= $1 AND comment <> '' AND (workload = 'delivery' AND type IN ('requeued', 'failed')
			OR workload = 'download' AND type = 'failed' OR workload = 'transaction' AND type = $3)
		GROUP BY workload, comment ORDER BY count(*) DESC, workload, comment LIMIT $2`, since, limit, TransactionFailure)
}
