package store

import "stagecoach/internal/lifecycle"

// Kinds of counts of transactions beside their states; migration 00020 says what they count.
const (
	countQueue        = "payment_queue"             // by the payment's kind
	countDays         = "transaction_day"           // all, by the day of detection (UTC)
	countDaysDone     = "transaction_day_processed" // those that are processed
	countErrors       = "transaction_error"         // failed ones, by message
	countMilliseconds = "transaction_milliseconds"  // from detection to processed, together
	countReviews      = "transaction_review"        // those that need a review; counted when it is asked for
)

// transactionPart is what the statements about all workloads know of transactions. They are kept for ever.
var transactionPart = Part{
	Workload: lifecycle.WorkloadTransaction,
	Table:    "transactions",
	Events:   "transaction_events",

	counts: []source{
		{
			kinds: []string{lifecycle.WorkloadTransaction, countDays, countDaysDone, countErrors, countMilliseconds},
			rows:  `SELECT c.kind, c.key, sum(c.n) AS n FROM transactions t, counts_of(t) c GROUP BY c.kind, c.key`,
		},
		rowsBy("kind", countQueue, "payment_queue"),
	},
	looks:  map[string]string{countReviews: `transactions WHERE needs_review`},
	errors: `type = 'failed'`,
}

// PaymentQueue is how many payments wait for the wallet's turn, or have it.
func (o OverviewCounts) PaymentQueue() (n int64) {
	for _, of := range o.Counts[countQueue] {
		n += of
	}
	return n
}

// NeedsReview is how many transactions a person has to decide on; up to 10,000.
func (o OverviewCounts) NeedsReview() int64 { return o.Counts[countReviews][""] }
