package store

import (
	"context"
	"strings"
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
func lastErrors() string {
	var all []string
	for _, part := range parts {
		if part.errors != "" {
			all = append(all, `(SELECT '`+part.Workload+`' AS workload, comment AS code FROM `+part.Events+`
				WHERE `+part.errors+` AND comment <> '' AND created_at >= $1 ORDER BY created_at DESC LIMIT `+maxCounted+`)`)
		}
	}
	return strings.Join(all, " UNION ALL ")
}

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
	Counts         map[string]map[string]int64 // by kind and key: those of a workload by its name and state
	OpenFindings   int64                       // up to 10,000
	RecentFindings int64                       // the same
}

// Kinds of what CountOverview counts for itself.
const (
	countChanges = "count_changes"
	countOpen    = "open_findings"
	countRecent  = "recent_findings"
)

// CountOverview counts the rows of all workloads by state, and findings: those that are open, and those since a moment.
// A state without rows is left out. What is not kept as a count is read from partial indexes. While many changes have
// not been added up, because no worker runs or it is busy, each look adds up a batch: else it would take longer each
// time.
func (s *Store) CountOverview(ctx context.Context, since time.Time) (OverviewCounts, error) {
	query := counted + look(countChanges, `count_changes`) + look(countOpen, `reconciler_findings WHERE done = ''`) +
		look(countRecent, `reconciler_findings WHERE found_at >= $2`)
	var kinds []string
	for _, part := range parts {
		for _, source := range part.sources() {
			kinds = append(kinds, source.kinds[0])
		}
		for kind, rows := range part.looks {
			query += look(kind, rows)
		}
	}

	rows, err := list[Count](ctx, s, query, kinds, since)
	counts := map[string]map[string]int64{}
	for _, row := range rows {
		if counts[row.Kind] == nil {
			counts[row.Kind] = map[string]int64{}
		}
		counts[row.Kind][row.Key] = row.N
	}

	if err == nil && counts[countChanges][""] >= foldBatch {
		_, err = s.foldBatch(ctx)
	}
	return OverviewCounts{
		Counts: counts, OpenFindings: counts[countOpen][""], RecentFindings: counts[countRecent][""],
	}, err
}

// look counts rows of a table under a kind, up to maxCounted.
func look(kind, rows string) string {
	return ` UNION ALL SELECT '` + kind + `', '', count(*) FROM (SELECT 1 FROM ` + rows + ` LIMIT ` + maxCounted + `) ` + kind
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
			FROM (`+lastErrors()+`) e GROUP BY workload, code
		) ranked WHERE rank <= $2 ORDER BY count DESC, workload, code`, since, limit)
}
