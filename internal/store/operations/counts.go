package operations

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

const (
	countAfter   = 10 * time.Second // counts are refreshed after this time
	recountAfter = 25 * time.Hour   // maximum age of the count of ended rows; daily deletions trigger a recount
	countTime    = 10 * time.Minute // for the statements of one count: they may scan whole indexes
	countedPage  = 10_000           // events added by one statement

	countLock = 7_420_001 // of the counting process: one at a time
)

// Count is the number of rows of a key.
type Count struct {
	Kind string `db:"kind"`
	Key  string `db:"key"`
	N    int64  `db:"n"`
}

// LiveCounts counts the live rows of a user by workload and state.
func (s *Store) LiveCounts(ctx context.Context, userID int64) ([]Count, error) {
	var all []string
	for _, part := range s.parts {
		all = append(all, `SELECT '`+part.Workload+`' AS kind, key, count(*) AS n FROM (`+part.Live+`) AS live (key) GROUP BY key`)
	}
	return core.List[Count](ctx, s.db, strings.Join(all, " UNION ALL "), userID)
}

// CountWaiting is the kind under which StateCounts counts the people waiting for access, up to 10,000.
const CountWaiting = "users_waiting"

// StateCounts counts the rows by workload and state, except those in resting states, and the people waiting for access,
// by users_status.
func (s *Store) StateCounts(ctx context.Context) ([]Count, error) {
	var workloads []string
	for _, part := range s.parts {
		workloads = append(workloads, part.Workload)
	}
	counts, err := core.List[Count](ctx, s.db, s.countedStates()+countRows(CountWaiting, `users WHERE status = 'PENDING'`), workloads)
	return slices.DeleteFunc(counts, func(c Count) bool {
		return slices.ContainsFunc(s.parts, func(p core.Part) bool { return p.Workload == c.Kind && slices.Contains(p.Resting, c.Key) })
	}), err
}

// countedStates counts the rows of the workloads $1 by state: live ones now, and ended ones as last counted.
func (s *Store) countedStates() string {
	var live []string
	for _, counts := range s.parts.counts() {
		if counts.Live != "" {
			live = append(live, counts.Live)
		}
	}
	return `SELECT kind, key, n FROM counts WHERE ended AND kind = ANY ($1)
		UNION ALL SELECT kind, key, n FROM (` + strings.Join(live, " UNION ALL ") + `) live WHERE kind = ANY ($1)`
}

// ResetCounts makes the next RefreshCounts read all rows: rows were deleted, or the record was restored.
func (s *Store) ResetCounts(ctx context.Context) error { return s.db.Do(ctx, resetCounts) }

const resetCounts = `UPDATE counted SET mark = NULL`

// RefreshCounts counts the rows unless that was done within the last ten seconds, and reports whether it did. Does
// nothing while another process counts.
//
// Live rows are counted anew. Ended rows are never read again: those that ended since the last count are known from the
// events that were invisible in that count's snapshot. Everything is read in one snapshot, so the counts are of one
// moment.
func (s *Store) RefreshCounts(ctx context.Context) (counted bool, err error) {
	due, err := core.Value[bool](ctx, s.db, `SELECT `+countIsDue+` FROM counted`, countAfter)
	if err != nil || !due {
		return false, err
	}

	asOfOneMoment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead}
	err = pgx.BeginTxFunc(ctx, s.db, asOfOneMoment, func(tx pgx.Tx) error {
		counted, err = s.count(ctx, tx)
		return err
	})
	if core.IsOvertaken(err) { // another process has counted meanwhile
		return false, nil
	}
	return counted && err == nil, core.Unavailable(err)
}

const countIsDue = `mark IS NULL OR counted_at IS NULL OR counted_at < now() - $1::interval`

// count is RefreshCounts in its transaction.
func (s *Store) count(ctx context.Context, tx pgx.Tx) (counted bool, err error) {
	if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true)`, strconv.FormatInt(countTime.Milliseconds(), 10)); err != nil {
		return false, err
	}
	mine, err := core.Value[bool](ctx, tx, `SELECT pg_try_advisory_xact_lock($1)`, countLock)
	if err != nil || !mine {
		return false, err
	}

	var due, anew bool
	var mark, now string
	var from core.Cursor
	err = tx.QueryRow(ctx, `SELECT `+countIsDue+`, coalesce(recounted_at < now() - $2::interval, true) OR mark IS NULL,
			coalesce(mark::text, ''), coalesce(pg_snapshot_xmin(mark)::text::bigint, 0), pg_current_snapshot()::text
		FROM counted FOR UPDATE`,
		countAfter, recountAfter).Scan(&due, &anew, &mark, &from.XID, &now)
	if err != nil || !due { // another process has just counted
		return false, err
	}

	if anew {
		err = s.recount(ctx, tx)
	} else {
		err = s.addEnded(ctx, tx, from, mark)
	}
	if err != nil {
		return false, err
	}

	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM counts WHERE NOT ended`)
	for _, counts := range s.parts.counts() {
		if counts.Live != "" {
			batch.Queue(`INSERT INTO counts (kind, key, n, ended) SELECT kind, key, n, false FROM (` + counts.Live + `) live`)
		}
	}
	batch.Queue(`UPDATE counted SET mark = $1::text::pg_snapshot, counted_at = now(),
		recounted_at = CASE WHEN $2 THEN now() ELSE recounted_at END`, now, anew)
	return true, tx.SendBatch(ctx, batch).Close()
}

// recount replaces the counts of ended rows by counting the rows.
func (s *Store) recount(ctx context.Context, tx pgx.Tx) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM counts WHERE ended`)
	for _, counts := range s.parts.counts() {
		if counts.Ended != "" {
			batch.Queue(`INSERT INTO counts (kind, key, n, ended) SELECT kind, key, n, true FROM (` + counts.Ended + `) rows`)
		}
	}
	return tx.SendBatch(ctx, batch).Close()
}

// addEnded adds to the counts of ended rows the events that were invisible in the snapshot mark. The index on (xid, id)
// finds them after the first transaction in progress then.
func (s *Store) addEnded(ctx context.Context, tx pgx.Tx, after core.Cursor, mark string) error {
	var added []string
	for _, counts := range s.parts.counts() {
		if counts.Added != "" {
			added = append(added, counts.Added)
		}
	}
	statement := `WITH page AS MATERIALIZED (
			SELECT xid, id, workload, entity_id, from_state, to_state FROM events
			WHERE (xid, id) > ($1::text::xid8, $2) ORDER BY xid, id LIMIT $3
		), fresh AS MATERIALIZED (
			SELECT * FROM page WHERE from_state <> to_state AND NOT pg_visible_in_snapshot(xid, $4::text::pg_snapshot)
		), added AS (
			INSERT INTO counts AS c (kind, key, n, ended)
			SELECT kind, key, sum(n)::bigint, true FROM (` + strings.Join(added, " UNION ALL ") + `) a GROUP BY kind, key
			ON CONFLICT (kind, key) DO UPDATE SET n = c.n + excluded.n
		)
		SELECT xid::text::bigint AS xid, id, (SELECT count(*) FROM page) AS n FROM page ORDER BY page.xid DESC, page.id DESC LIMIT 1`

	for {
		last, err := core.Chosen[struct {
			XID uint64 `db:"xid"`
			ID  int64  `db:"id"`
			N   int    `db:"n"`
		}](ctx, tx, statement, after.XIDText(), after.ID, countedPage, mark)
		if err != nil || len(last) == 0 || last[0].N < countedPage {
			return err
		}
		after = core.Cursor{XID: last[0].XID, ID: last[0].ID}
	}
}
