// Package transaction stores deposits, orders, payments and the ledger.
package transaction

import (
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

// Kinds of counts of transactions besides their states; counts_of defines what they count.
const (
	countQueue        = "payment_queue"             // by the payment's kind
	countDays         = "transaction_day"           // all, by the day of detection (UTC)
	countDaysDone     = "transaction_day_processed" // those that are processed
	countDaysNano     = "transaction_day_nano"      // what came in, by the day of detection
	countDaysStars    = "transaction_day_stars"     // bought, by the same day
	countDaysTime     = "transaction_day_milliseconds"
	countErrors       = "transaction_error"        // failed ones, by message
	countMilliseconds = "transaction_milliseconds" // from detection to processed, together
	countReviews      = "transaction_review"       // those that need a review; counted on request
)

// Part is what the statements about all workloads know of transactions. They are kept for ever.
var Part = core.Part{
	Workload: lifecycle.WorkloadTransaction,
	Table:    "transactions",
	Events:   "transaction_events",

	Resting: []string{string(lifecycle.TransactionFailed)},
	Live:    `SELECT status FROM transactions WHERE user_id = $1 AND ` + openOrder,
	Counts: []core.Source{
		{
			Kinds: []string{lifecycle.WorkloadTransaction, countDays, countDaysDone, countDaysNano, countDaysStars, countDaysTime, countErrors, countMilliseconds},
			Rows:  `SELECT c.kind, c.key, sum(c.n) AS n FROM transactions t, counts_of(t) c GROUP BY c.kind, c.key`,
		},
		core.RowsBy("kind", countQueue, "payment_queue"),
	},
	Queried: map[string]string{countReviews: `transactions WHERE needs_review`},
	Errors:  `type = 'failed'`,
	Alerts:  notice.TransactionAlerts,
}

// PaymentQueue is how many payments have the wallet's turn or wait for it.
func PaymentQueue(o core.OverviewCounts) (n int64) {
	for _, of := range o.Counts[countQueue] {
		n += of
	}
	return n
}

// NeedsReview is how many transactions wait for a person's decision; up to 10,000.
func NeedsReview(o core.OverviewCounts) int64 { return o.Counts[countReviews][""] }
