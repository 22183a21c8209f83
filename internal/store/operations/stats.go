package operations

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/store/core"
)

// ErrorCount is the number of failed jobs with one error.
type ErrorCount struct {
	Code  string `db:"code"`
	Count int64  `db:"count"`
}

// maxCounted limits counts that are not stored. It is a literal in the statements: with a parameter PostgreSQL would
// plan for any number, and scan the table.
const maxCounted = `10000`

// Kinds that CountOverview counts itself.
const (
	countOpen   = "open_findings"
	countRecent = "recent_findings"
)

// CountOverview counts the rows of all workloads by state, and findings: open ones, and those since a moment. A state
// without rows is left out. Only the counts of ended rows are stored; partial indexes serve the others.
func (s *Store) CountOverview(ctx context.Context, since time.Time) (core.OverviewCounts, error) {
	query := s.countedStates() + countRows(countOpen, `reconciler_findings WHERE done = ''`) +
		countRows(countRecent, `reconciler_findings WHERE found_at >= $2`)
	var kinds []string
	for _, part := range s.parts {
		kinds = append(kinds, part.Workload)
		for kind, rows := range part.Queried {
			query += countRows(kind, rows)
		}
	}

	rows, err := core.List[Count](ctx, s.db, query, kinds, since)
	counts := map[string]map[string]int64{}
	for _, row := range rows {
		if counts[row.Kind] == nil {
			counts[row.Kind] = map[string]int64{}
		}
		counts[row.Kind][row.Key] = row.N
	}

	return core.OverviewCounts{
		Counts: counts, OpenFindings: counts[countOpen][""], RecentFindings: counts[countRecent][""],
	}, err
}

// countRows counts rows of a table under a kind, up to maxCounted.
func countRows(kind, rows string) string {
	return ` UNION ALL SELECT '` + kind + `', '', count(*) FROM (SELECT 1 FROM ` + rows + ` LIMIT ` + maxCounted + `) ` + kind
}

// WorkloadErrorCount is the number of a workload's failures with one error.
type WorkloadErrorCount struct {
	Workload string `db:"workload"`
	Code     string `db:"code"` // of a transaction: its message
	Count    int64  `db:"count"`
}

// WorkloadErrors lists the most frequent errors of each workload since a moment, up to limit of each, most frequent
// first. For a workload with more than 10,000 errors only the latest are counted.
func (s *Store) WorkloadErrors(ctx context.Context, since time.Time, limit int) ([]WorkloadErrorCount, error) {
	var last []string // served by job_events_errors and its counterparts, which have the same conditions
	for _, part := range s.parts {
		if part.Errors != "" {
			last = append(last, `(SELECT '`+part.Workload+`' AS workload, comment AS code FROM `+part.Events+`
				WHERE `+part.Errors+` AND comment <> '' AND created_at >= $1 ORDER BY created_at DESC LIMIT `+maxCounted+`)`)
		}
	}

	return core.List[WorkloadErrorCount](ctx, s.db, `SELECT workload, code, count FROM (
			SELECT workload, code, count(*), row_number() OVER (PARTITION BY workload ORDER BY count(*) DESC, code) AS rank
			FROM (`+strings.Join(last, " UNION ALL ")+`) e GROUP BY workload, code
		) ranked WHERE rank <= $2 ORDER BY count DESC, workload, code`, since, limit)
}

// AboveQuota is a user who has more of a kind than a limit allows, because the limit was lowered or introduced later.
type AboveQuota struct {
	UserID  int64  `db:"user_id"`
	Limit   string `db:"name"`
	Maximum int    `db:"maximum"`
	Count   int64  `db:"count"`
}

// aboveTime bounds the search for users above a limit: it reads the keys of everything that counts.
const aboveTime = 2 * time.Second

// AboveQuotas lists up to limit users above each limit, those with the most first.
func (s *Store) AboveQuotas(ctx context.Context, limit int) ([]AboveQuota, error) {
	ctx, cancel := context.WithTimeout(ctx, aboveTime)
	defer cancel()

	var all []string
	for _, kind := range s.parts.quotas() {
		kind = s.db.Quotas.Of(kind)
		if kind.Maximum == 0 {
			continue
		}

		all = append(all, `(SELECT c.user_id, '`+kind.Name+`' AS name, `+strconv.Itoa(kind.Maximum)+` AS maximum, c.count
			FROM (`+fmt.Sprintf(kind.Above, kind.Maximum)+`) c JOIN users u ON u.id = c.user_id
			WHERE NOT (u.role = 'ADMIN' AND u.status = 'ACTIVE') ORDER BY c.count DESC, c.user_id LIMIT $1)`)
	}

	if len(all) == 0 {
		return nil, nil
	}
	return core.List[AboveQuota](ctx, s.db, strings.Join(all, " UNION ALL "), limit)
}
