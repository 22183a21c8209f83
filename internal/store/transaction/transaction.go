// Package transaction stores deposits, orders, payments and the ledger.
package transaction

import (
	"strings"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db *core.DB
}

// New returns this part of a database.
func New(db *core.DB) *Store { return &Store{db: db} }

// Kinds of counts of transactions other than their states.
const (
	countDays         = "transaction_day"           // all, by the day of detection (UTC)
	countDaysDone     = "transaction_day_processed" // those that are processed
	countDaysNano     = "transaction_day_nano"      // amounts received, by the day of detection
	countDaysStars    = "transaction_day_stars"     // bought, by the same day
	countDaysTime     = "transaction_day_milliseconds"
	countErrors       = "transaction_error"        // failed ones, by message
	countMilliseconds = "transaction_milliseconds" // from detection to processed, in total
	countQueue        = "payment_queue"            // payments that wait for the wallet or hold it; counted on request
	countReviews      = "transaction_review"       // those that need a review; counted on request
)

// Part describes transactions to statements across all workloads. They are kept forever.
var Part = core.Part{
	Workload: lifecycle.WorkloadTransaction,
	Table:    "transactions",
	Events:   "transaction_events",

	Resting: []string{string(lifecycle.TransactionFailed)},
	Live:    `SELECT status FROM transactions WHERE user_id = $1 AND ` + openOrder,
	Counts: []core.Counts{
		core.CountStates(
			lifecycle.WorkloadTransaction, "transactions", "status", lifecycle.Transaction.Live(), lifecycle.Transaction.Ended(),
		),
		{Live: `SELECT '` + countErrors + `' AS kind, error_message AS key, count(*) AS n FROM transactions WHERE ` + isFailed + ` GROUP BY error_message`},
		{
			Ended: countedBy(`transactions t`, `true`, `t.`+isProcessed),
			Added: countedBy(`fresh JOIN transactions t ON fresh.workload = '`+lifecycle.WorkloadTransaction+`' AND t.hash = fresh.entity_id`,
				`fresh.from_state = ''`, `fresh.to_state = `+core.Literal(lifecycle.TransactionProcessed)),
		},
	},
	Queried: map[string]string{countQueue: `transactions WHERE ` + awaitsWallet, countReviews: `transactions WHERE needs_review`},
	Errors:  `type = 'failed'`,
	Alerts:  notice.TransactionAlerts,
}

// countedBy sums up what transactions t add to the statistics: made is true when one is detected, processed when it is
// processed.
func countedBy(from, made, processed string) string {
	const (
		day          = `to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`
		milliseconds = `(extract(epoch FROM t.updated_at - t.created_at) * 1000)::bigint`
	)
	value := func(kind, when, key, n string) string {
		return `('` + kind + `', CASE WHEN ` + when + ` THEN ` + key + ` END, ` + n + `)`
	}
	return `SELECT c.kind, c.key, sum(c.n) AS n FROM ` + from + ` CROSS JOIN LATERAL (VALUES ` + strings.Join([]string{
		value(countDays, made, day, `1::bigint`),
		value(countDaysNano, made, day, `t.amount_nano`),
		value(countDaysDone, processed, day, `1`),
		value(countDaysStars, processed, day, `t.stars`),
		value(countDaysTime, processed, day, milliseconds),
		value(countMilliseconds, processed, `t.status`, milliseconds),
	}, ", ") + `) c (kind, key, n) WHERE c.key IS NOT NULL GROUP BY c.kind, c.key`
}

// PaymentQueue is how many payments hold the wallet or wait for it; up to 10,000.
func PaymentQueue(o core.OverviewCounts) int64 { return o.Counts[countQueue][""] }

// NeedsReview is how many transactions wait for a person's decision; up to 10,000.
func NeedsReview(o core.OverviewCounts) int64 { return o.Counts[countReviews][""] }
