package operations

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// Kinds of findings.
const (
	FindingNotStarted = "not_started" // a live row whose workflow was never started
	FindingTerminated = "terminated"  // a live row whose workflow was terminated
	FindingTooLong    = "too_long"    // … terminated by the server because its history was too long
	FindingTimedOut   = "timed_out"   // … timed out
	FindingEnded      = "ended"       // … ended in another way without writing the end
	FindingMissing    = "missing"     // … no longer known to Temporal
	FindingReset      = "reset"       // a running workflow that was reset, and must read the record again
	FindingStale      = "stale"       // a running workflow that shows another state than the record
	FindingNoRow      = "no_row"      // a running workflow without a row in the record
	FindingOver       = "over"        // a running workflow whose row has ended
)

// FindingKinds lists all kinds of findings.
var FindingKinds = []string{
	FindingNotStarted, FindingTerminated, FindingTooLong, FindingTimedOut, FindingEnded, FindingMissing, FindingReset,
	FindingStale, FindingNoRow, FindingOver,
}

// What was done about a finding.
const (
	DoneStarted    = "started"    // its workflow was started
	DoneEnded      = "ended"      // its row was ended
	DoneTerminated = "terminated" // its workflow was terminated
	DoneRefreshed  = "refreshed"  // its workflow was signalled to read the record again
	DoneVanished   = "vanished"   // nothing: later sweeps no longer found it
)

// Finding is one incident found by the reconciler.
type Finding struct {
	ID         int64      `db:"id" json:"id"`
	FoundAt    time.Time  `db:"found_at" json:"found_at"`
	Workload   string     `db:"workload" json:"workload"`
	Entity     string     `db:"entity" json:"entity"`
	WorkflowID string     `db:"workflow_id" json:"workflow_id"`
	RunID      string     `db:"run_id" json:"run_id"` // empty: there is no workflow
	Finding    string     `db:"finding" json:"finding"`
	Done       string     `db:"done" json:"done"` // empty: nothing yet
	DoneAt     *time.Time `db:"done_at" json:"done_at"`
}

const findingColumns = `id, found_at, workload, entity, workflow_id, run_id, finding, done, done_at`

// sameIncident is how long a finding without a run id counts as the same incident: a run id distinguishes incidents.
const sameIncident = `interval '10 minutes'`

var noFinding = fault.New(fault.NotFound, "there is no such finding")

// NoteFinding records a sweep's finding, and reports whether it is new. Of parallel sweeps exactly one gets it as new.
func (s *Store) NoteFinding(ctx context.Context, f Finding) (noted Finding, fresh bool, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 7))`, f.Workload+f.Entity); err != nil {
			return err
		}

		noted, err = core.One[Finding](ctx, tx, noFinding, `UPDATE reconciler_findings SET seen_at = now() WHERE id = (
				SELECT max(id) FROM reconciler_findings WHERE workload = $1 AND entity = $2 AND finding = $3 AND run_id = $4
					AND (run_id <> '' OR done = '' OR done_at > now() - `+sameIncident+`))
			RETURNING `+findingColumns, f.Workload, f.Entity, f.Finding, f.RunID)
		if !errors.Is(err, noFinding) {
			return err
		}

		fresh = true
		noted, err = core.One[Finding](ctx, tx, noFinding, `INSERT INTO reconciler_findings (workload, entity, workflow_id, run_id, finding)
			VALUES ($1, $2, $3, $4, $5) RETURNING `+findingColumns, f.Workload, f.Entity, f.WorkflowID, f.RunID, f.Finding)
		return err
	})

	return noted, fresh, err
}

// SettleFinding records what was done about a finding.
func (s *Store) SettleFinding(ctx context.Context, id int64, done string) error {
	return s.db.Do(ctx, `UPDATE reconciler_findings SET done = $2, done_at = now() WHERE id = $1`, id, done)
}

// CloseVanishedFindings closes open findings that no sweep has found for this long.
func (s *Store) CloseVanishedFindings(ctx context.Context, age time.Duration) error {
	return s.db.Do(ctx, `UPDATE reconciler_findings SET done = $2, done_at = now() WHERE done = '' AND seen_at < now() - $1::interval`,
		age, DoneVanished)
}

// FindingFilter selects findings; zero values select all.
type FindingFilter struct {
	Workload string
	Since    time.Time
	Before   int64
	Limit    int
}

// Findings lists findings, newest first. Served by the key and reconciler_findings_time.
func (s *Store) Findings(ctx context.Context, f FindingFilter) ([]Finding, error) {
	return core.Chosen[Finding](ctx, s.db, `SELECT `+findingColumns+` FROM reconciler_findings
		WHERE ($1 = '' OR workload = $1) AND found_at >= $2 AND ($3::bigint = 0 OR id < $3)
		ORDER BY id DESC LIMIT $4`, f.Workload, f.Since, f.Before, f.Limit)
}

// FindingCount is the number of findings of a kind.
type FindingCount struct {
	Workload string `db:"workload"`
	Finding  string `db:"finding"`
	Count    int64  `db:"count"`
}

// FindingCounts counts the findings since a moment.
func (s *Store) FindingCounts(ctx context.Context, since time.Time) ([]FindingCount, error) {
	return core.List[FindingCount](ctx, s.db, `SELECT workload, finding, count(*) FROM reconciler_findings WHERE found_at >= $1
		GROUP BY workload, finding ORDER BY workload, finding`, since)
}
