package transaction

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// TransactionStats are the statistics of transactions for operators.
type TransactionStats struct {
	Statuses       []StatusShare       // those that have transactions, the most frequent first
	AverageSeconds *float64            // from detection to processed, of those detected in the last 24 hours; nil: none
	AverageAllTime *float64            // the same of all; nil: none
	Errors         []MessageCount      // of failed ones, the most frequent first
	Categories     []CategoryCount     // the same
	Days           []DayOfTransactions // by the day of detection (UTC), the newest first
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
	Category string `db:"category"`
	Count    int64  `db:"count"`
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

// category is the kind of an error by its message.
const category = `CASE
	WHEN error_message ILIKE '%username%' THEN 'Username Error'
	WHEN error_message ILIKE '%stars amount%' OR error_message ILIKE '%insufficient amount%' THEN 'Stars Amount Error'
	WHEN error_message ILIKE '%network%' OR error_message ILIKE '%timeout%' THEN 'Network Error'
	WHEN error_message ILIKE '%wallet%' THEN 'Wallet Error'
	WHEN error_message ILIKE '%fragment%' OR error_message ILIKE '%authorization failed%' THEN 'Fragment API Error'
	ELSE 'Other Error' END`

// Stats counts all transactions, and the last days days on which there were any. Everything comes from
// the kept counts, except the average of the last 24 hours, which transactions_created serves.
func (s *Store) Stats(ctx context.Context, days int) (stats TransactionStats, err error) {
	asOfOneMoment := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.db, asOfOneMoment, func(tx pgx.Tx) (err error) {
		statuses := []string{lifecycle.WorkloadTransaction}
		if stats.Statuses, err = core.List[StatusShare](ctx, tx, `SELECT key AS status, n AS count, round(100.0 * n / sum(n) OVER (), 2)::float8 AS percent
			FROM (`+core.Counted+`) c ORDER BY n DESC, key COLLATE "C"`, statuses); err != nil {
			return err
		}

		if stats.AverageSeconds, stats.AverageAllTime, err = averages(ctx, tx); err != nil {
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

// averages returns how many seconds transactions took from detection to processed: those detected in the last 24 hours,
// and all.
func averages(ctx context.Context, tx pgx.Tx) (day, all *float64, err error) {
	err = tx.QueryRow(ctx, `SELECT (SELECT avg(extract(epoch FROM updated_at - created_at))::float8 FROM transactions
			WHERE `+isProcessed+` AND created_at > now() - interval '24 hours'),
		(SELECT sum(n) FILTER (WHERE kind = $2) / 1000.0 / nullif(sum(n) FILTER (WHERE kind = $3 AND key = `+core.Literal(lifecycle.TransactionProcessed)+`), 0)
			FROM (`+core.Counted+`) c)::float8`,
		[]string{countMilliseconds, lifecycle.WorkloadTransaction}, countMilliseconds, lifecycle.WorkloadTransaction,
	).Scan(&day, &all)
	return day, all, err
}

// failures counts the failed transactions by message, and by category.
func failures(ctx context.Context, tx pgx.Tx) ([]MessageCount, []CategoryCount, error) {
	type counted struct {
		MessageCount
		Category string `db:"category"`
	}

	found, err := core.List[counted](ctx, tx, `SELECT error_message AS message, n AS count, `+category+` AS category
		FROM (SELECT key AS error_message, n FROM (`+core.Counted+`) c) failed
		ORDER BY n DESC, error_message COLLATE "C"`, []string{countErrors})
	if err != nil {
		return nil, nil, err
	}

	var messages []MessageCount
	sums := map[string]int64{}
	for _, one := range found {
		messages = append(messages, one.MessageCount)
		sums[one.Category] += one.Count
	}

	var categories []CategoryCount
	for name, n := range sums {
		categories = append(categories, CategoryCount{name, n})
	}

	slices.SortFunc(categories, func(a, b CategoryCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Category, b.Category))
	})
	return messages, categories, nil
}

// daysOf returns the last days on which there were transactions.
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
			FROM (`+core.Counted+`) c GROUP BY key ORDER BY key DESC LIMIT $7
		) days WHERE total > 0 ORDER BY key DESC`,
		kinds, countDays, countDaysDone, countDaysNano, countDaysStars, countDaysTime, days)
}
