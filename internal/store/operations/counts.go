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
	foldBatch  = 10_000           // changes that are added up in one database transaction
	checkEvery = time.Hour        // between two comparisons of a kind
	checkTime  = 10 * time.Minute // for one comparison: it reads a complete table

	foldLock  = 7_420_001 // of the process that adds up: one at a time
	checkLock = 7_420_002 // of the process that compares
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

// CountWaiting is the kind under which StateCounts counts the people who wait for access, up to 10,000.
const CountWaiting = "users_waiting"

// StateCounts counts all rows by workload and state, without those in resting states, and the people who wait for access, whom users_status finds.
func (s *Store) StateCounts(ctx context.Context) ([]Count, error) {
	var workloads []string
	for _, part := range s.parts {
		workloads = append(workloads, part.Workload)
	}
	counts, err := core.List[Count](ctx, s.db, core.Counted+countRows(CountWaiting, `users WHERE status = 'PENDING'`), workloads)
	return slices.DeleteFunc(counts, func(c Count) bool {
		return slices.ContainsFunc(s.parts, func(p core.Part) bool { return p.Workload == c.Kind && slices.Contains(p.Resting, c.Key) })
	}), err
}

// FoldCounts adds up what transitions have noted since the last time, so that few rows are left to read. It does
// nothing while another process adds up.
func (s *Store) FoldCounts(ctx context.Context) error {
	for {
		if folded, err := s.foldBatch(ctx); err != nil || folded < foldBatch {
			return err
		}
	}
}

// foldBatch adds up one batch and returns the number of its changes.
func (s *Store) foldBatch(ctx context.Context) (folded int64, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if mine, err := tryLock(ctx, tx, foldLock); err != nil || !mine {
			return err
		}

		folded, err = core.Value[int64](ctx, tx, `WITH gone AS (
				DELETE FROM count_changes WHERE ctid = ANY (ARRAY (SELECT ctid FROM count_changes LIMIT $1)) RETURNING kind, key, n
			), added AS (
				INSERT INTO counts AS c (kind, key, n) SELECT kind, key, sum(n) FROM gone GROUP BY kind, key
				ON CONFLICT (kind, key) DO UPDATE SET n = c.n + excluded.n
			) SELECT count(*) FROM gone`, foldBatch)

		return err
	})

	return folded, err
}

// CheckCounts compares the counts that were not compared for an hour with the rows, and corrects differences. It
// returns each difference: the count of the rows minus the kept count. Rows and counts are read in one snapshot and a
// correction is one more change, so that transitions continue meanwhile and none of their changes is lost.
func (s *Store) CheckCounts(ctx context.Context) (differences []Count, err error) {
	for _, source := range s.parts.sources() {
		found, err := s.checkCounts(ctx, source)
		if err != nil {
			return differences, err
		}
		differences = append(differences, found...)
	}
	return differences, nil
}

func (s *Store) checkCounts(ctx context.Context, of core.Source) (differences []Count, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if mine, err := tryLock(ctx, tx, checkLock); err != nil || !mine {
			return err
		}

		due, err := checkIsDue(ctx, tx, of.Kinds[0])
		if err != nil || !due {
			return err
		}

		differences, err = core.List[Count](ctx, tx, `SELECT kind, key, coalesce(r.n, 0)::bigint - coalesce(c.n, 0) AS n FROM (`+of.Rows+`) r
			FULL JOIN (`+core.Counted+`) c USING (kind, key) WHERE coalesce(r.n, 0) <> coalesce(c.n, 0)`, of.Kinds)
		if err != nil {
			return err
		}

		batch := &pgx.Batch{}
		for _, d := range differences {
			batch.Queue(`INSERT INTO count_changes (kind, key, n) VALUES ($1, $2, $3)`, d.Kind, d.Key, d.N)
		}

		batch.Queue(
			`INSERT INTO count_checks (kind, checked_at) VALUES ($1, now()) ON CONFLICT (kind) DO UPDATE SET checked_at = now()`,
			of.Kinds[0],
		)
		return tx.SendBatch(ctx, batch).Close()
	})

	return differences, err
}

// checkIsDue reports whether a kind was not compared for an hour, and sets the transaction's time limit to that of a
// comparison.
func checkIsDue(ctx context.Context, tx pgx.Tx, kind string) (due bool, err error) {
	if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true)`, strconv.FormatInt(checkTime.Milliseconds(), 10)); err != nil {
		return false, err
	}
	return core.Value[bool](ctx, tx, `SELECT NOT EXISTS (SELECT 1 FROM count_checks WHERE kind = $1 AND checked_at > now() - $2::interval)`,
		kind, checkEvery)
}

// tryLock takes a lock until the end of the transaction, unless another process has it.
func tryLock(ctx context.Context, tx pgx.Tx, key int64) (mine bool, err error) {
	return core.Value[bool](ctx, tx, `SELECT pg_try_advisory_xact_lock($1)`, key)
}
