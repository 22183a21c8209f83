package transaction

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/core"
)

// TransactionStats are the statistics of transactions for operators.
type TransactionStats struct {
	AsOf           *time.Time          // when the counts were taken; nil: never
	Statuses       []StatusShare       // those with transactions, most frequent first
	AverageSeconds *float64            // from detection to processed, for those detected in the last 24 hours; nil: none
	AverageAllTime *float64            // the same for all; nil: none
	Errors         []MessageCount      // of failed ones, most frequent first
	Categories     []CategoryCount     // the same by stars.CategoryOf
	Days           []DayOfTransactions // by the day of detection (UTC), newest first
}

// StatusShare is the number of transactions in a status.
type StatusShare struct {
	Status  lifecycle.TransactionState `db:"status"`
	Count   int64                      `db:"count"`
	Percent float64                    `db:"percent"` // of all, with two decimals
}

// MessageCount is the number of failures with a message.
type MessageCount struct {
	Message string `db:"message"`
	Count   int64  `db:"count"`
}

// CategoryCount is the number of failures with errors of a category.
type CategoryCount struct {
	Category string
	Count    int64
}

// DayOfTransactions has the counts of one day.
type DayOfTransactions struct {
	Day            time.Time `db:"day"`
	Total          int64     `db:"total"`
	Success        int64     `db:"success"`
	SuccessPercent float64   `db:"success_percent"` // with two decimals
	ReceivedNano   int64     `db:"received_nano"`
	Stars          int64     `db:"stars"`           // bought
	AverageSeconds *float64  `db:"average_seconds"` // from detection to processed; nil: none was processed
}

// Stats counts all transactions, and the last days days on which there were any; 0: all days. Everything comes from the
// stored counts, except the average of the last 24 hours, which transactions_created serves.
func (s *Store) Stats(ctx context.Context, days int) (stats TransactionStats, err error) {
	asOfOneMoment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.db, asOfOneMoment, func(tx pgx.Tx) (err error) {
		statuses := []string{lifecycle.WorkloadTransaction}
		if stats.Statuses, err = core.List[StatusShare](ctx, tx, `SELECT key AS status, n AS count, round(100.0 * n / sum(n) OVER (), 2)::float8 AS percent
			FROM (`+core.Counted+`) c ORDER BY n DESC, key COLLATE "C"`, statuses); err != nil {
			return err
		}

		// From detection to processed, in seconds: for those detected in the last 24 hours, and for all.
		err = tx.QueryRow(ctx, `SELECT (SELECT avg(extract(epoch FROM updated_at - created_at))::float8 FROM transactions
				WHERE `+isProcessed+` AND created_at > now() - interval '24 hours'),
			(SELECT sum(n) FILTER (WHERE kind = $2) / 1000.0 / nullif(sum(n) FILTER (WHERE kind = $3 AND key = `+core.Literal(lifecycle.TransactionProcessed)+`), 0)
				FROM (`+core.Counted+`) c)::float8, (SELECT counted_at FROM counted)`,
			[]string{countMilliseconds, lifecycle.WorkloadTransaction}, countMilliseconds, lifecycle.WorkloadTransaction,
		).Scan(&stats.AverageSeconds, &stats.AverageAllTime, &stats.AsOf)
		if err != nil {
			return err
		}

		if stats.Errors, stats.Categories, err = failures(ctx, tx); err != nil {
			return err
		}

		stats.Days, err = daysOf(ctx, tx, days)
		return err
	})

	return stats, core.Unavailable(err)
}

// failures counts the failed transactions by message, and by category.
func failures(ctx context.Context, tx pgx.Tx) ([]MessageCount, []CategoryCount, error) {
	messages, err := core.List[MessageCount](ctx, tx, `SELECT key AS message, n AS count FROM (`+core.Counted+`) c
		ORDER BY n DESC, key COLLATE "C"`, []string{countErrors})
	if err != nil {
		return nil, nil, err
	}

	sums := map[stars.Category]int64{}
	for _, one := range messages {
		sums[stars.CategoryOf(one.Message)] += one.Count
	}

	var categories []CategoryCount
	for name, n := range sums {
		categories = append(categories, CategoryCount{string(name), n})
	}

	slices.SortFunc(categories, func(a, b CategoryCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Category, b.Category))
	})
	return messages, categories, nil
}

// daysOf returns the last days on which there were transactions; all for 0.
func daysOf(ctx context.Context, tx pgx.Tx, days int) ([]DayOfTransactions, error) {
	kinds := []string{countDays, countDaysDone, countDaysNano, countDaysStars, countDaysTime}
	sum := func(parameter string) string {
		return `coalesce(sum(n) FILTER (WHERE kind = ` + parameter + `), 0)::bigint`
	}

	return core.List[DayOfTransactions](ctx, tx, `SELECT key::timestamp AT TIME ZONE 'UTC' AS day, total, success,
		round(100.0 * success / total, 2)::float8 AS success_percent, received_nano, stars,
		(milliseconds / 1000.0 / nullif(success, 0))::float8 AS average_seconds FROM (
			SELECT key, `+sum("$2")+` AS total, `+sum("$3")+` AS success, `+sum("$4")+` AS received_nano, `+sum("$5")+` AS stars,
				`+sum("$6")+` AS milliseconds
			FROM (`+core.Counted+`) c GROUP BY key ORDER BY key DESC LIMIT nullif($7::int, 0)
		) days WHERE total > 0 ORDER BY key DESC`,
		kinds, countDays, countDaysDone, countDaysNano, countDaysStars, countDaysTime, days)
}
