package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// TransactionStats are the statistics of transactions for operators.
type TransactionStats struct {
	Statuses       []StatusShare       // those that occur, the most frequent first
	AverageSeconds *float64            // from detection to processed, of those detected in the last 24 hours; nil: none
	Errors         []MessageCount      // of failed ones, the most frequent first
	Categories     []CategoryCount     // the same
	Days           []DayOfTransactions // by the day of detection (UTC), the newest first
}

// StatusShare is how many transactions are in a status.
type StatusShare struct {
	Status  TransactionStatus `db:"status"`
	Count   int64             `db:"count"`
	Percent float64           `db:"percent"` // of all, with two decimals
}

// MessageCount is how often transactions failed with a message.
type MessageCount struct {
	Message string `db:"message"`
	Count   int64  `db:"count"`
}

// CategoryCount is how often transactions failed with errors of a category.
type CategoryCount struct {
	Category string `db:"category"`
	Count    int64  `db:"count"`
}

// DayOfTransactions is how transactions of one day went.
type DayOfTransactions struct {
	Day            time.Time `db:"day"`
	Total          int64     `db:"total"`
	Success        int64     `db:"success"`
	SuccessPercent float64   `db:"success_percent"` // with two decimals
}

// category is the kind of an error by its message.
const category = `CASE
	WHEN error_message ILIKE '%username%' THEN 'Username Error'
	WHEN error_message ILIKE '%stars amount%' OR error_message ILIKE '%insufficient amount%' THEN 'Stars Amount Error'
	WHEN error_message ILIKE '%network%' OR error_message ILIKE '%timeout%' THEN 'Network Error'
	WHEN error_message ILIKE '%wallet%' THEN 'Wallet Error'
	WHEN error_message ILIKE '%fragment%' OR error_message ILIKE '%authorization failed%' THEN 'Fragment API Error'
	ELSE 'Other Error' END`

// StatsOfTransactions counts all transactions, and the last days days on which there were any.
func (s *Store) StatsOfTransactions(ctx context.Context, days int) (stats TransactionStats, err error) {
	one := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly} // all of it as of one moment
	err = pgx.BeginTxFunc(ctx, s.pool, one, func(tx pgx.Tx) (err error) {
		if stats.Statuses, err = listIn[StatusShare](ctx, tx, `SELECT status, count(*), round(100.0 * count(*) / sum(count(*)) OVER (), 2)::float8 AS percent
			FROM transactions GROUP BY status ORDER BY count(*) DESC, status COLLATE "C"`); err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `SELECT avg(extract(epoch FROM updated_at - created_at))::float8 FROM transactions
			WHERE status = 'processed' AND created_at > now() - interval '24 hours'`).Scan(&stats.AverageSeconds)
		if err != nil {
			return err
		}
		if stats.Errors, err = listIn[MessageCount](ctx, tx, `SELECT error_message AS message, count(*) FROM transactions
			WHERE status = 'failed' GROUP BY error_message ORDER BY count(*) DESC, error_message COLLATE "C"`); err != nil {
			return err
		}
		if stats.Categories, err = listIn[CategoryCount](ctx, tx, `SELECT category, count(*) FROM (SELECT `+category+` AS category FROM transactions WHERE status = 'failed') failed
			GROUP BY category ORDER BY count(*) DESC, category COLLATE "C"`); err != nil {
			return err
		}
		stats.Days, err = listIn[DayOfTransactions](ctx, tx, `SELECT (created_at AT TIME ZONE 'UTC')::date::timestamp AT TIME ZONE 'UTC' AS day, count(*) AS total,
			count(*) FILTER (WHERE status = 'processed') AS success,
			round(100.0 * count(*) FILTER (WHERE status = 'processed') / count(*), 2)::float8 AS success_percent
			FROM transactions GROUP BY day ORDER BY day DESC LIMIT $1`, days)
		return err
	})
	return stats, unavailable(err)
}
